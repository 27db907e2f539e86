package test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// disconnectOn sends a request and disconnects when the channel is closed.
func (c *client) disconnectOn(t testing.TB, body string, now <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-now
		cancel()
	}()
	res, err := c.send(ctx, analyze, strings.NewReader(body))
	if err == nil {
		_ = res.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an answer before the first event: %v", err)
	}
}

// modelMessages returns the messages that the model received, up to the script's
// question.
func (c *client) modelMessages(t testing.TB, context string, members ...string) []chatMessage {
	t.Helper()
	var list []chatMessage
	for _, m := range value(t, textOf(t, c.analyze(t, question(text(script{Tell: true}), context, members...)))).([]any) {
		m := m.(map[string]any)
		list = append(list, chatMessage{m["role"].(string), m["content"].(string)})
	}
	return list
}

func TestModes(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		prompt := func(members ...string) string { return c.modelMessages(t, estate, members...)[0].Content }
		standard, broad := prompt(`"mode":"standard"`), prompt(`"mode":"broad"`)
		if !strings.Contains(broad, "no recommendations") || !strings.Contains(standard, "findings or recommendations") ||
			standard == broad {
			t.Errorf("standard:\n%s\nbroad:\n%s", standard, broad)
		}
		if prompt() != standard {
			t.Error("without a mode the prompt is not the standard one")
		}
		legacy := strings.Replace(question(text(script{Tell: true}), estate), `"target":"H"`, `"target":"br"`, 1)
		if got := textOf(t, c.analyze(t, legacy)); !strings.Contains(got, "no recommendations") {
			t.Errorf("the target br is not broad: %s", got)
		}
		both := strings.Replace(legacy, `"target"`, `"mode":"standard","target"`, 1)
		if got := textOf(t, c.analyze(t, both)); !strings.Contains(got, "no recommendations") {
			t.Errorf("the target br with mode standard is not broad: %s", got)
		}
	})
}

func TestModelSeesMetadataOnly(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		var prompt strings.Builder
		estate := `{"hosts":[{"name":"sample","site":"Oslo"},{"name":"SECRET-` + c.word +
			`","site":"Oslo"}],"network":{"vlans":[{"id":1}]}}`
		for _, m := range c.modelMessages(t, estate) {
			prompt.WriteString(m.Content)
		}
		for _, name := range []string{"hosts", "network.vlans", "name", "site"} {
			if !strings.Contains(prompt.String(), name) {
				t.Errorf("the model does not receive the key %s:\n%s", name, prompt.String())
			}
		}
		if strings.Contains(prompt.String(), "SECRET") {
			t.Errorf("the model receives a record:\n%s", prompt.String())
		}
		for _, m := range c.modelMessages(t,
			"["+strings.Repeat(`{"`+strings.Repeat("f", 100)+`":"v","x":[1,2,3]},`, 5000)+`{}]`) {
			if len(m.Content) > 32<<10 {
				t.Errorf("the model receives %d bytes of a large estate", len(m.Content))
			}
		}
	})
}

func TestHistory(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		tell := text(text(script{Tell: true}))
		history := `{"m":{"10":{"r":0,"c":` + tell +
			`},"2":{"r":1,"c":"second"},"1":{"r":0,"c":"first"}},"t":"2026-01-01T00:00:00Z"}`
		events := c.analyze(t, `{"query":"","context":"{}","target":"H","prompt":`+history+`}`)
		got := value(t, textOf(t, events))
		want := `[{"role":"system"},{"role":"user","content":"first"},{"role":"assistant","content":"second"},{"role":"user"}]`
		if diff := contains(got, value(t, want)); diff != "" {
			t.Errorf("%s: the latest user message is the query, the others come before it in the order of their numbers: %v",
				diff, got)
		}
		followed := c.modelMessages(t, estate, `"prompt":{"m":{"0":{"r":0,"c":"first"},"1":{"r":1,"c":"second"}}}`)
		if len(followed) != 4 || followed[1].Content != "first" || followed[2].Content != "second" {
			t.Errorf("the model receives %v, want the history before the query", followed)
		}
	})
}

func TestModelFails(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		c.plain().rows(t, []row{
			{"an error before the first event is a status", analyze, question(text(script{Fail: "boom"}), estate), 500, "AN-500",
				""},
		})
		events := c.analyze(t, question(text(script{Say: "some words ", Fail: "boom"}), estate))
		if got := strings.Join(kindsOf(events), " "); !strings.HasSuffix(got, "text_delta error done") {
			t.Fatalf("%s: want the words, error, done", got)
		}
		e := value(t, all(events, "error")[0]).(map[string]any)
		if e["code"] != "AN-500" || e["message"] == "" || len(e) != 2 {
			t.Errorf("the error is %v, want code and message", e)
		}
		lost := c.analyze(t, question(text(script{Repeat: "inspect_schema"}), estate))
		if e := all(lost, "error"); len(e) != 1 || !strings.Contains(e[0], "AN-500") {
			t.Errorf("a model that calls tools only: %v, want a final error", e)
		}
	})
}

func TestAnalysisTimeout(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		second := c.at(c.secondEdge)
		second.plain().call(t, analyze, question(text(script{Await: c.word + "a"}), estate)).expect(t, 504, "AN-504", "")
		events := second.analyze(t, question(text(script{Say: "some words ", Await: c.word + "b"}), estate))
		if e := all(events, "error"); len(e) != 1 || !strings.Contains(e[0], "AN-504") {
			t.Errorf("%v, want an error AN-504", events)
		}
		for _, await := range []string{"a", "b"} {
			theModel.canceled.await(t, 5*time.Second, c.word+await, "the model call is canceled")
		}
	})
}
