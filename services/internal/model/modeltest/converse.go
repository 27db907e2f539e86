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

// Converse has any model count three servers, as the analysis does: its calls
// are answered by an estate until it has said how many there are.
func Converse(t *testing.T, m model.Model) {
	t.Helper()
	e, err := estate.Parse([]byte(`{"servers":[{"name":"a"},{"name":"b"},{"name":"c"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := Question()
	c.Estate = e
	c.Tools = append(c.Tools, model.Tool{Name: "compute_stats", Description: "Computes.", Parameters: json.RawMessage(`{"type":"object"}`)})
	if err := m.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	if m.Name() == "" {
		t.Error("a model without a name")
	}
	ids := map[string]bool{}
	for range turns {
		said, err := Ask(t.Context(), m, c)
		if err != nil {
			t.Fatal(err)
		}
		if said.Usage == nil {
			t.Error("a message without its usage")
		}
		if len(said.Calls) == 0 {
			if !strings.Contains(said.Text, "3") {
				t.Errorf("the answer is %q, want 3 in it", said.Text)
			}
			left(t, m, c)
			return
		}
		c.Messages = append(c.Messages, model.Message{Role: model.Assistant, Text: said.Text, Calls: said.Calls})
		for _, call := range said.Calls {
			if ids[call.ID] || call.ID == "" {
				t.Errorf("the id %q comes twice, or is none", call.ID)
			}
			ids[call.ID] = true
			c.Messages = append(c.Messages, model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Name, Result: run(t, c, call)})
		}
	}
	t.Errorf("no answer after %d turns", turns)
}

// run is the result of a call, which names a tool that is offered.
func run(t *testing.T, c model.Conversation, call model.Call) json.RawMessage {
	t.Helper()
	if !slices.ContainsFunc(c.Tools, func(tool model.Tool) bool { return tool.Name == call.Name }) {
		t.Fatalf("a call of %q, which is not offered", call.Name)
	}
	var ask estate.Query
	if err := json.Unmarshal(call.Input, &ask); err != nil {
		t.Fatalf("the input of %s is %s: %v", call.Name, call.Input, err)
	}
	var result any
	var err error
	if call.Name == "inspect_schema" {
		result, err = c.Estate.Inspect(t.Context(), ask.DataKey)
	} else {
		result, err = c.Estate.Stats(t.Context(), ask)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", call.Name, call.Input, err)
	}
	said, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// left checks that a caller who has left is told so, and nothing else.
func left(t *testing.T, m model.Model, c model.Conversation) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Ask(ctx, m, c); !errors.Is(err, context.Canceled) || got.Text != "" {
		t.Errorf("after the caller left: %+v, %v, want %v", got, err, context.Canceled)
	}
}
