package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
	"cairn/services/internal/model"
	"cairn/services/internal/model/offline"
)

func TestModel(t *testing.T) {
	t.Parallel()
	m := offline.New(nil)
	if got := m.Name(); got != "offline:" {
		t.Errorf("name %q", got)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
}

func TestAnswerParts(t *testing.T) {
	t.Parallel()
	var parts []model.Part
	for p, err := range offline.New(nil).Next(t.Context(), conversation(clinic(t), "How many nurses are there?")) {
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if len(parts) < 5 {
		t.Fatalf("%d parts, want the text in pieces", len(parts))
	}
	for _, p := range parts[:len(parts)-2] {
		if p.Text == "" || p.Call != nil || p.Usage != nil {
			t.Errorf("part %+v, want text", p)
		}
	}
	if suggestions := parts[len(parts)-2].Suggestions; len(suggestions) == 0 {
		t.Error("no suggestions of a declined question")
	}
	if last := parts[len(parts)-1]; last.Usage == nil || last.Usage.AnswerTokens == 0 {
		t.Errorf("last part %+v, want usage", last)
	}
}

func TestSuggestedParts(t *testing.T) {
	t.Parallel()
	c := conversation(clinic(t), "How many gleeps are there?")
	var text string
	var suggested []string
	for p, err := range offline.New(nil).Next(t.Context(), c) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Call != nil {
			t.Fatalf("call %s, want an answer", p.Call.Name)
		}
		text, suggested = text+p.Text, append(suggested, p.Suggestions...)
	}
	if len(suggested) == 0 || len(suggested) > 3 {
		t.Fatalf("%d suggestions, want 1 to 3", len(suggested))
	}
	for _, q := range suggested {
		if answer, _ := ask(t, clinic(t), q); !strings.Contains(text, "\n- "+markdown.Escape(q)) || strings.Contains(answer, "You could ask") {
			t.Errorf("suggestion %q of %q, with the answer %q", q, text, answer)
		}
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range offline.New(nil).Next(ctx, conversation(clinic(t), "How many nurses are there?")) {
		cancel()
		n, last = n+1, err
	}
	if n != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d parts and %v, want one and context.Canceled", n, last)
	}
}

func TestFiguresComeFromResults(t *testing.T) {
	t.Parallel()
	c := conversation(clinic(t), "How many switches do we have?")
	for range 2 {
		_, call := next(t, c)
		if call == nil {
			t.Fatal("no call")
		}
		c.Messages = append(c.Messages, model.Message{
			Role: model.ToolRole, CallID: call.ID, Tool: call.Name, Result: json.RawMessage(`{"groups":{},"total":4711}`),
		})
	}
	if got, _ := next(t, c); !strings.HasPrefix(got, "4711 switches.") {
		t.Errorf("got %q, want the result's figure", got)
	}
}

func TestFailedTool(t *testing.T) {
	t.Parallel()
	c := conversation(clinic(t), "How many switches do we have?")
	for range 2 {
		_, call := next(t, c)
		c.Messages = append(c.Messages, model.Message{Role: model.ToolRole, CallID: call.ID, Result: json.RawMessage(`{"error":"gone"}`)})
	}
	if got, _ := next(t, c); strings.ContainsAny(got, "0123456789") {
		t.Errorf("got %q", got)
	}
}

func TestEstateWithoutArrays(t *testing.T) {
	t.Parallel()
	e, err := estate.Parse([]byte(`{"name":"nothing"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := next(t, conversation(e, "How many hosts are there?")); got != "The estate contains no arrays of records." {
		t.Errorf("got %q", got)
	}
}

func conversation(e *estate.Estate, question string) model.Conversation {
	return model.Conversation{Estate: e, Messages: []model.Message{{Role: model.User, Text: question}}}
}

// related relates "producer" and "vendor".
func related(words []string) (out [][]float32) {
	for _, w := range words {
		switch w {
		case "producer", "vendor":
			out = append(out, []float32{1, 0, 0})
		case "site":
			out = append(out, []float32{0.2, 0.98, 0})
		default:
			out = append(out, nil)
		}
	}
	return out
}

// answerWith returns the model's answer in the conversation about the clinic.
func answerWith(t *testing.T, m model.Model, c model.Conversation) string {
	t.Helper()
	for {
		text, call := nextOf(t, m, c)
		if call == nil {
			return text
		}
		c.Messages = append(c.Messages, model.Message{Role: model.Assistant, Calls: []model.Call{*call}},
			model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Name, Result: run(t, clinic(t), *call)})
	}
}

// TestSimilarWords relates a word that no rule relates to a name.
func TestSimilarWords(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		"Switches per producer": "8 switches by vendor:",
		"Switches per nurse":    `Unknown term "nurse"`,
	} {
		if text := answerWith(t, offline.New(related), conversation(clinic(t), row)); !strings.HasPrefix(text, want) {
			t.Errorf("%s: got %q, want %q", row, text, want)
		}
	}
}

// TestQuestionIsPlannedOnce answers a question with two tool calls. A conversation with a state plans
// it once, another one before each of its three messages.
func TestQuestionIsPlannedOnce(t *testing.T) {
	t.Parallel()
	compared := 0
	m := offline.New(func(words []string) [][]float32 { compared++; return related(words) })
	c := conversation(clinic(t), "Switches per producer")
	want := answerWith(t, m, c)
	before := compared
	c.State = new(any)
	if got := answerWith(t, m, c); got != want || before != 3*(compared-before) {
		t.Errorf("got %q with %d comparisons, want %q with a third of %d", got, compared-before, want, before)
	}
}
