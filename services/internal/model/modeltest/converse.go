package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"cairn/services/internal/estate"
	"cairn/services/internal/model"
)

// turns is more than any model needs to count three servers.
const turns = 8

// Converse has a model count three servers. It runs the model's calls on an estate until
// the model answers, as package analyze does.
func Converse(t *testing.T, m model.Model) {
	t.Helper()
	e, err := estate.Parse([]byte(`{"servers":[{"name":"a"},{"name":"b"},{"name":"c"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := Question()
	c.Tools = append(c.Tools,
		model.Tool{Name: "compute_stats", Description: "Computes.", Parameters: json.RawMessage(`{"type":"object"}`)})
	if err := m.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	if m.Name() == "" {
		t.Error("the name is empty")
	}
	for range turns {
		answer, err := Collect(t.Context(), m, c)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Usage == nil {
			t.Error("a message without usage")
		}
		if len(answer.Calls) == 0 {
			if !strings.Contains(answer.Text, "3") {
				t.Errorf("the answer is %q, want 3 in it", answer.Text)
			}
			canceled(t, m, c)
			return
		}
		c.Messages = append(c.Messages, model.Message{Role: model.Assistant, Text: answer.Text, Calls: answer.Calls})
		for _, call := range answer.Calls {
			c.Messages = append(c.Messages,
				model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Name, Result: run(t, e, c.Tools, call)})
		}
	}
	t.Errorf("no answer after %d turns", turns)
}

// run returns the result of a call of an offered tool.
func run(t *testing.T, e *estate.Estate, tools []model.Tool, call model.Call) json.RawMessage {
	t.Helper()
	if !slices.ContainsFunc(tools, func(tool model.Tool) bool { return tool.Name == call.Name }) {
		t.Fatalf("a call of %q, which is not an offered tool", call.Name)
	}
	var query estate.Query
	if err := json.Unmarshal(call.Input, &query); err != nil {
		t.Fatalf("the input of %s is %s: %v", call.Name, call.Input, err)
	}
	var result any
	var err error
	if call.Name == "inspect_schema" {
		result, err = e.Inspect(t.Context(), query.DataKey)
	} else {
		result, err = e.Stats(t.Context(), query)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", call.Name, call.Input, err)
	}
	answer, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// canceled checks that Next returns only the error of a canceled context.
func canceled(t *testing.T, m model.Model, c model.Conversation) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Collect(ctx, m, c); !errors.Is(err, context.Canceled) || got.Text != "" {
		t.Errorf("after cancellation: %+v, %v, want %v", got, err, context.Canceled)
	}
}
