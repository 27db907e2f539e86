package analyze_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/model/modeltest"
)

const agentSubject = "agents.ui.render"

func TestRenderingAgent(t *testing.T) {
	t.Parallel()
	say := func(sender bus.Sender, text string) error {
		return sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: text})
	}
	for _, row := range []struct {
		name  string
		agent func(schemas.Rendering, bus.Sender) error // nil: none
		want  []string
	}{
		{"its text is the answer", func(r schemas.Rendering, sender bus.Sender) error {
			return say(sender, "<"+r.Answer+"/"+r.Mode+"/"+string(r.Profile)+">")
		}, []string{`text_delta {"text":"<Two are on./standard/{\"theme\":\"dark\"}>"}`, `done {}`}},
		{"no agent: the plain answer", nil,
			[]string{`direct_response {"text":"Two are on.","code":"AN-503","reason":"rendering agent unavailable: `,
				`done {}`}},
		{"an agent that fails before its first text: the plain answer", func(schemas.Rendering, bus.Sender) error {
			return errors.New("out of memory")
		}, []string{`direct_response {"text":"Two are on."`, `done {}`}},
		{"an agent that sends no text: the plain answer", func(schemas.Rendering, bus.Sender) error { return nil },
			[]string{`direct_response {"text":"Two are on."`, `done {}`}},
		{"a later failure is an error", func(_ schemas.Rendering, sender bus.Sender) error {
			return errors.Join(say(sender, "Tw"), errors.New("out of memory"))
		}, []string{`text_delta {"text":"Tw"}`, `error {"code":"AN-503"`, `done {}`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn := bustest.Open(t)
			m, _ := scripted(t, modeltest.TextTurn("Two ", "are on."))
			serve(t, conn, m, agentSubject)
			if row.agent != nil {
				agent := bus.Stream[schemas.Rendering]{Subject: agentSubject, Invalid: schemas.ErrMalformed, Timeout: time.Minute,
					MaxBody: 1 << 20}
				err := agent.Serve(bustest.Service(t, conn, "ui"),
					func(_ context.Context, r schemas.Rendering, sender bus.Sender) error {
						return row.agent(r, sender)
					})
				if err != nil {
					t.Fatal(err)
				}
			}
			a := analysisOf("how many are on?")
			a.Profile = []byte(`{"theme":"dark"}`)
			got := answered(t, conn, a)
			for _, want := range row.want {
				if !strings.Contains(got, want) {
					t.Errorf("got\n%s\nwant %s in it", got, want)
				}
			}
		})
	}
}

func TestRenderingAgentTimeout(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	m, _ := scripted(t, modeltest.TextTurn("Two."))
	serve(t, conn, m, agentSubject)
	agent := bus.Stream[schemas.Rendering]{Subject: agentSubject, Invalid: schemas.ErrMalformed, Timeout: time.Minute,
		MaxBody: 1 << 20}
	err := agent.Serve(bustest.Service(t, conn, "ui"), func(ctx context.Context, _ schemas.Rendering, _ bus.Sender) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	got, err := stream(ctx, conn, analysisOf("how many?"))
	if err != nil || !strings.HasPrefix(got, `direct_response {"text":"Two."`) || !strings.HasSuffix(got, "done {}") {
		t.Errorf("got\n%s\n%v", got, err)
	}
}
