package test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// agents signals, by client, that a hanging rendering has started and that it was
// canceled.
var agents struct{ received, canceled signals }

// profile selects the behaviour of the rendering agent.
type profile struct {
	Do  string `json:"do"` // speak, refuse, break, hush or hang
	Who string `json:"who"`
}

// agent renders answers as the profile requires.
func agent(ctx context.Context, r schemas.Rendering, to bus.Sender) error {
	var p profile
	if err := json.Unmarshal(r.Profile, &p); err != nil {
		return err
	}
	switch p.Do {
	case "refuse":
		return errors.New("out of ink")
	case "hush":
		return nil
	case "break":
		return errors.Join(to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "half a "}), errors.New("out of ink"))
	case "hang":
		agents.received.set(p.Who)
		<-ctx.Done()
		agents.canceled.set(p.Who)
		return ctx.Err()
	default:
		received, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return errors.Join(to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "rendered "}),
			to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: string(received)}))
	}
}

// render serves the agent until the test ends.
func (c *client) render(t testing.TB) {
	t.Helper()
	s := bustest.Service(t, bustest.DialURL(t, c.nats), "agent")
	if err := (bus.Stream[schemas.Rendering]{Subject: rendered.render, Timeout: time.Minute, MaxBody: 8 << 20}).Serve(s,
		agent); err != nil {
		t.Fatal(err)
	}
}

// as sends an analysis with a profile for the agent.
func (c *client) as(t testing.TB, do string, members ...string) []event {
	t.Helper()
	return c.analyze(t, question("How many hosts per site?", estate,
		append(members, `"profile":`+text(profile{do, c.word}))...))
}

func TestRendering(t *testing.T) {
	everywhere(t, rendered, func(t *testing.T, c *client) {
		direct(t, c.as(t, "speak")) // no agent yet
		c.render(t)
		events := c.as(t, "speak", `"mode":"broad"`, `"prompt":{"m":{"0":{"r":0,"c":"earlier"}},"t":"then"}`,
			`"include":["usage"]`)
		inOrder(t, kindsOf(events))
		received, ok := strings.CutPrefix(textOf(t, events), "rendered ")
		if !ok {
			t.Fatalf("the answer is not the agent's: %v", events)
		}
		if diff := contains(value(t, received), value(t, c.named(`{"query":"How many hosts per site?","mode":"broad","tool_results":[{"groups":{"Oslo":2,"Bergen":1}}],
			"prompt":{"m":{"0":{"r":0,"c":"earlier"}},"t":"then"},"profile":{"do":"speak","who":"$"}}`))); diff != "" {
			t.Errorf("%s: the agent received %s", diff, received)
		}
		direct(t, c.as(t, "refuse"))
		direct(t, c.as(t, "hush"))
		broken := c.as(t, "break")
		if got := textOf(t, broken); got != "half a " || len(all(broken, "error")) != 1 ||
			len(all(broken, "direct_response")) != 0 {
			t.Errorf("an agent that fails after its first text: %v, want its words, error, done", broken)
		}
		s := c.follow(t, question("How many hosts per site?", estate, `"profile":`+text(profile{"hang", c.word})))
		agents.received.await(t, 10*time.Second, c.word, "the agent receives the request")
		c.do(t, "DELETE "+s.run(), "")
		agents.canceled.await(t, 2*time.Second, c.word, "the rendering is canceled with the run")
		s.stop()
		second := c.at(c.secondEdge)
		second.word = word()
		direct(t, second.as(t, "hang")) // before the edge's timeout
		agents.canceled.await(t, 2*time.Second, second.word, "the rendering is canceled after the timeout")
	})
}

// direct checks that the answer was sent without an agent.
func direct(t testing.TB, events []event) {
	t.Helper()
	if got := strings.Join(kindsOf(events), " "); !strings.HasSuffix(got, "tool_result direct_response done") {
		t.Fatalf("%s: want direct_response and done after the tools", got)
	}
	d := value(t, all(events, "direct_response")[0]).(map[string]any)
	if answer, _ := d["text"].(string); !strings.Contains(answer, "Oslo") || d["code"] != "AN-503" || d["reason"] == "" ||
		len(d) != 3 {
		t.Errorf("direct_response %v, want text, code and reason", d)
	}
}

// TestIncludedRenderingAgent checks that Cairn's own agent writes a table in the
// reader's language.
func TestIncludedRenderingAgent(t *testing.T) {
	isolated(t, setup{render: bus.Render.Subject}, func(t *testing.T, c *client) {
		events := c.analyze(t, question("How many hosts per site?", estate, `"profile":{"language":"de"}`,
			`"include":["provenance"]`))
		inOrder(t, kindsOf(events))
		got := textOf(t, events)
		if !strings.Contains(got, " nach site**\n\n| site | count |") || !strings.Contains(got, "| gesamt |") {
			t.Errorf("the answer is\n%s\nwant a table in German", got)
		}
		again := c.analyze(t, question("How many hosts per site?", estate, `"profile":{"language":"de"}`,
			`"prompt":{"m":{"0":{"r":0,"c":"How many hosts per site?"},"1":{"r":1,"c":`+text(got)+`}}}`))
		if got := textOf(t, again); strings.Contains(got, "|") || !strings.Contains(got, "Oslo: 2") ||
			!strings.Contains(got, "Bergen: 1") {
			t.Errorf("the second answer is\n%s\nwant the figures without the table", got)
		}
		if p := all(events, "provenance"); len(p) != 1 || strings.Contains(p[0], "flagged") {
			t.Errorf("provenance %v, want a source of each figure", p)
		}
	})
}
