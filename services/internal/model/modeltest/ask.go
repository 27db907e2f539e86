package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"cairn/services/internal/model"
)

// Question is a conversation with one tool.
func Question() model.Conversation {
	return model.Conversation{
		Rules:    "You answer questions.",
		Messages: []model.Message{{Role: model.User, Text: "How many servers are there?"}},
		Tools: []model.Tool{{
			Name:        "inspect_schema",
			Description: "Describes an array.",
			Parameters:  json.RawMessage(`{"type":"object","required":["data_key"],"properties":{"data_key":{"type":"string"}}}`),
		}},
	}
}

// Answer is all that a model said in one message.
type Answer struct {
	Text  string
	Calls []model.Call
	Usage *model.Usage
}

// Ask collects the model's next message.
func Ask(ctx context.Context, m model.Model, c model.Conversation) (a Answer, err error) {
	for p, err := range m.Next(ctx, c) {
		switch {
		case err != nil:
			return a, err
		case p.Call != nil:
			a.Calls = append(a.Calls, *p.Call)
		case p.Usage != nil:
			a.Usage = p.Usage
		default:
			a.Text += p.Text
		}
	}
	return a, nil
}

// CheckError wants err to be is, or none of the port's errors when is is nil,
// and to contain says.
func CheckError(t testing.TB, err, is error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Fatalf("error %v, want one that says %q", err, says)
	}
	for _, sentinel := range []error{model.ErrUnavailable, model.ErrTooLong} {
		if got, want := errors.Is(err, sentinel), sentinel == is; got != want {
			t.Errorf("error %q is %q: %v, want %v", err, sentinel, got, want)
		}
	}
}

// Await waits 5 seconds, at most, for what c tells of.
func Await(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(5 * time.Second):
		t.Fatalf("waited 5 s for %s", what)
	}
}

// Until waits 5 seconds, at most, for a fact.
func Until(t testing.TB, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for !fact() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited 5 s in vain")
		}
	}
}
