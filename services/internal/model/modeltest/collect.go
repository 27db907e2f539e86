package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cairn/services/internal/model"
)

// Question returns a conversation with one question and one tool.
func Question() model.Conversation {
	return model.Conversation{
		Rules:    "You answer questions.",
		Messages: []model.Message{{Role: model.User, Text: "How many servers are there?"}},
		Tools: []model.Tool{{
			Name:        "inspect_schema",
			Description: "Describes an array.",
			Parameters: json.RawMessage(
				`{"type":"object","required":["data_key"],"properties":{"data_key":{"type":"string"}}}`),
		}},
	}
}

// Constrained returns the conversation of Question with a schema of the next message and a
// limit on its tokens.
func Constrained() model.Conversation {
	c := Question()
	c.Schema = json.RawMessage(`{"type":"object","required":["calls"],"properties":{"calls":{"type":"array"}}}`)
	c.MaxTokens = 400
	return c
}

// Answer is a complete message.
type Answer struct {
	Text  string
	Calls []model.Call
	Usage *model.Usage
}

// Collect returns the model's next message.
func Collect(ctx context.Context, m model.Model, c model.Conversation) (a Answer, err error) {
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

// CheckError checks that err contains text and wraps target; with a nil target, that it wraps
// no error of package model.
func CheckError(t testing.TB, err, target error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("error %v, want one containing %q", err, text)
	}
	for _, sentinel := range []error{model.ErrUnavailable, model.ErrTooLong} {
		if got, want := errors.Is(err, sentinel), errors.Is(target, sentinel); got != want {
			t.Errorf("errors.Is(%q, %q) = %v, want %v", err, sentinel, got, want)
		}
	}
}
