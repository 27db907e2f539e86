package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/model"
	"cairn/test/wait"
)

// Scripted is a model whose server plays a script.
type Scripted struct {
	model.Model
	Requests    func() int      // number of requests so far
	Disconnects <-chan struct{} // a value for each client that disconnects while it hangs
}

func (s Scripted) waitDisconnect(t *testing.T) {
	t.Helper()
	wait.Until(t, "the client disconnects", func() bool { return len(s.Disconnects) > 0 })
}

// Open opens a model whose server plays the script; settings are appended to its URL.
type Open func(t *testing.T, settings string, script ...Turn) Scripted

// Conform is the conformance suite of models with a server.
func Conform(t *testing.T, open Open) {
	t.Run("answers", func(t *testing.T) { t.Parallel(); answers(t, open) })
	t.Run("failures", func(t *testing.T) { t.Parallel(); failures(t, open) })
	t.Run("profile", func(t *testing.T) { t.Parallel(); profile(t, open) })
	t.Run("schema", func(t *testing.T) { t.Parallel(); schema(t, open) })
	t.Run("a server that reads a long prompt is not stalled", func(t *testing.T) { t.Parallel(); reading(t, open) })
	t.Run("cancellation", func(t *testing.T) { t.Parallel(); cancellation(t, open) })
	t.Run("breaking the loop stops the model", func(t *testing.T) {
		t.Parallel()
		m := open(t, "", Turn{Text: []string{"a"}, End: Hang})
		for _, err := range m.Next(t.Context(), Question()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		m.waitDisconnect(t)
	})
	t.Run("no parts after cancellation", func(t *testing.T) {
		t.Parallel()
		noPartsAfterCancel(t, open(t, "", TextTurn(strings.Split(strings.Repeat("la ", 500), " ")...)))
	})
	t.Run("a conversation", func(t *testing.T) {
		t.Parallel()
		call := ToolTurn("inspect_schema", `{}`)
		conversation(t, open(t, "", call, call, TextTurn("There are ", "3.")))
	})
}

// conversation checks a model that answers after two calls.
func conversation(t *testing.T, m model.Model) {
	c := Question()
	if err := m.Check(t.Context()); err != nil || m.Name() == "" {
		t.Errorf("check of %q: %v", m.Name(), err)
	}
	for _, text := range []string{"", "", "There are 3."} {
		got, err := Collect(t.Context(), m, c)
		if err != nil || got.Usage == nil || got.Text != text || (len(got.Calls) == 0) != (text != "") {
			t.Fatalf("message %+v, %v, want the text %q", got, err, text)
		}
		c.Messages = append(c.Messages, model.Message{Role: model.Assistant, Text: got.Text, Calls: got.Calls})
		for _, call := range got.Calls {
			c.Messages = append(c.Messages,
				model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Name, Result: json.RawMessage(`{"count":3}`)})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Collect(ctx, m, c); !errors.Is(err, context.Canceled) || got.Text != "" {
		t.Errorf("after cancellation: %+v, %v, want %v", got, err, context.Canceled)
	}
}

func profile(t *testing.T, open Open) {
	for _, row := range []struct {
		settings string
		want     model.Profile
	}{
		{"?num_ctx=512", model.Profile{Window: 512, Plan: model.PlanSchema, Answers: model.AnswersWritten}},
		{"?num_ctx=512&plan=schema&answers=forwarded",
			model.Profile{Window: 512, Plan: model.PlanSchema, Answers: model.AnswersForwarded}},
		{"?num_ctx=512&plan=tools", model.Profile{Window: 512, Plan: model.PlanTools, Answers: model.AnswersWritten}},
		{"?num_ctx=512&plan=tools&answers=stated",
			model.Profile{Window: 512, Plan: model.PlanTools, Answers: model.AnswersStated}},
	} {
		t.Run(row.settings, func(t *testing.T) {
			t.Parallel()
			if got, err := open(t, row.settings).Profile(t.Context()); err != nil || got != row.want {
				t.Errorf("profile %+v, %v, want %+v", got, err, row.want)
			}
		})
	}
}

func reading(t *testing.T, open Open) {
	gate := make(chan struct{}, 1)
	m := open(t, "?first_chunk=10ms", Turn{Text: []string{"Four."}, Gate: gate})
	c := Question()
	c.Messages[0].Text = strings.Repeat("How many servers are there? ", 200) // is read in 47 s or less
	time.AfterFunc(250*time.Millisecond, func() { gate <- struct{}{} })
	if got, err := Collect(t.Context(), m, c); err != nil || got.Text != "Four." {
		t.Errorf("message %q, %v", got.Text, err)
	}
}

// schema checks messages that are JSON.
func schema(t *testing.T, open Open) {
	t.Run("a message is text", func(t *testing.T) {
		t.Parallel()
		m := open(t, "", Turn{Thinking: "Hm.", Text: []string{`{"calls":`, `[]}`}}, TextTurn(`{}`))
		for n, want := range []string{`{"calls":[]}`, `{}`} {
			got, err := Collect(t.Context(), m, Constrained())
			if err != nil || got.Text != want || len(got.Calls) > 0 || got.Usage == nil {
				t.Errorf("message %+v, %v, want %s", got, err, want)
			}
			if got := m.Requests(); got != n+1 {
				t.Errorf("%d requests, want %d", got, n+1)
			}
		}
	})
	for _, row := range []struct {
		name   string
		script []Turn
		text   string // of the error
	}{
		{"a message at its token limit", []Turn{{Text: []string{`{"calls":`}, Reason: "length"}},
			"the model's answer was cut off at its token limit of 2"},
		{"a message of endless white space",
			[]Turn{{Text: append([]string{"{"}, slices.Repeat([]string{" "}, 900)...), End: Hang}},
			"the model repeats itself"},
		{"an endless number", []Turn{{Text: append([]string{`{"value":`}, slices.Repeat([]string{"1"}, 900)...), End: Hang}},
			"the model repeats itself"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, "", row.script...)
			_, err := Collect(t.Context(), m, Constrained())
			CheckError(t, err, nil, row.text)
			if !errors.As(err, new(model.IncompleteError)) {
				t.Errorf("error %v, want an IncompleteError", err)
			}
			if got := m.Requests(); got != len(row.script) {
				t.Errorf("%d requests, want %d", got, len(row.script))
			}
		})
	}
}

func answers(t *testing.T, open Open) {
	for _, row := range []struct {
		name   string
		script []Turn
		want   Answer
	}{
		{"text in chunks, then usage",
			[]Turn{TextTurn("There are", " four.")},
			Answer{Text: "There are four.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 3}}},
		{"a complete call without escapes",
			[]Turn{ToolTurn("inspect_schema", `{"data_key":"servers","note":"a > b"}`)},
			Answer{
				Calls: []model.Call{{
					ID:    "call_inspect_schema",
					Name:  "inspect_schema",
					Input: json.RawMessage(`{"data_key":"servers","note":"a > b"}`),
				}},
				Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 2},
			}},
		{"several calls after the text",
			[]Turn{{Text: []string{"Both."},
				Calls: []Call{{ID: "1", Name: "a", Input: `{}`}, {ID: "2", Name: "b", Input: `{"x":1}`}}}},
			Answer{
				Text: "Both.",
				Calls: []model.Call{{ID: "1", Name: "a", Input: json.RawMessage(`{}`)},
					{ID: "2", Name: "b", Input: json.RawMessage(`{"x":1}`)}},
				Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 4},
			}},
		{"reasoning is not text",
			[]Turn{{Thinking: "Hm.", Text: []string{"\n\n", "Four."}}},
			Answer{Text: "\n\nFour.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 3}}},
		{"an empty answer is retried, and usage counts both",
			[]Turn{TextTurn(), TextTurn("Four.")},
			Answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 20, AnswerTokens: 3}}},
		{"white space alone is an empty answer",
			[]Turn{TextTurn(" ", "\n"), TextTurn("Four.")},
			Answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 20, AnswerTokens: 5}}},
		{"an answer cut before its first part is retried",
			[]Turn{{Thinking: "Hm.", End: Cut}, TextTurn("Four.")},
			Answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 2}}},
		{"an error before the first part is retried",
			[]Turn{{Error: "unexpected EOF"}, TextTurn("Four.")},
			Answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 2}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, "", row.script...)
			got, err := Collect(t.Context(), m, Question())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got, want := m.Requests(), len(row.script); got != want {
				t.Errorf("%d requests, want %d", got, want)
			}
		})
	}
}

func failures(t *testing.T, open Open) {
	piece := []string{"There"}
	for _, row := range []struct {
		name   string
		script []Turn
		target error // nil: no error of package model
		text   string
	}{
		{"a model that the server does not have", []Turn{{Status: 404, Error: "model 'x' not found"}}, model.ErrUnavailable,
			"not found"},
		{"a model that cannot call tools", []Turn{{Status: 400, Error: "x does not support tools"}}, model.ErrUnavailable,
			"does not support tools"},
		{"a full queue", []Turn{{Status: 503, Error: "server busy"}}, model.ErrUnavailable, "server busy"},
		{"a server that requires a key", []Turn{{Status: 401}}, model.ErrUnavailable, "401"},
		{"a rejected request", []Turn{{Status: 400, Error: "bad option"}}, nil, "bad option"},
		{"a failing server", []Turn{{Status: 500, Error: "oops"}}, nil, "oops"},
		{"a conversation that is too long", []Turn{{Status: 400, Error: "the input length exceeds the context length"}},
			model.ErrTooLong, "exceeds"},
		{"a silently truncated conversation", []Turn{{Text: piece, PromptTokens: 512}}, model.ErrTooLong,
			"fills all 512 tokens"},
		{"an answer at its token limit", []Turn{{Text: piece, Reason: "length"}}, nil,
			"the model's answer was cut off at its token limit of 2"},
		{"an answer that fills the window", []Turn{{Text: piece, PromptTokens: 510, Reason: "length"}}, nil,
			"the model's answer was cut off at its token limit of 512"},
		{"a connection lost during the stream", []Turn{{Text: piece, End: Cut}}, nil,
			"the model's stream ended before its last part"},
		{"a stream without its end", []Turn{{Text: piece, End: Stop}}, nil, "the model's stream ended before its last part"},
		{"an error during the stream", []Turn{{Text: piece, Error: "unexpected EOF"}}, nil, "unexpected EOF"},
		{"an answer that repeats itself", []Turn{{Text: slices.Repeat([]string{"ha "}, 300), End: Hang}}, nil,
			"the model repeats itself"},
		{"two empty answers", []Turn{TextTurn(), TextTurn()}, nil, "the model returned an empty answer"},
		{"two responses interrupted before their first part", []Turn{{Thinking: "Hm.", End: Cut}, {End: Stop}}, nil,
			"the model's stream ended before its last part"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, "?num_ctx=512", row.script...)
			_, err := Collect(t.Context(), m, Question())
			CheckError(t, err, row.target, row.text)
			if got, want := m.Requests(), len(row.script); got != want {
				t.Errorf("%d requests, want %d", got, want)
			}
		})
	}
}

func cancellation(t *testing.T, open Open) {
	for _, row := range []struct {
		name string
		turn Turn
	}{
		{"before the first part", Turn{End: Hang}},
		{"during the stream", Turn{Text: []string{"a"}, End: Hang}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, "", row.turn)
			ctx, cancel := context.WithCancelCause(t.Context())
			var got error
			var calling sync.WaitGroup
			calling.Go(func() { _, got = Collect(ctx, m, Question()) })
			wait.Until(t, "the request is sent", func() bool { return m.Requests() == 1 })
			cancel(errors.New("canceled by the test"))
			m.waitDisconnect(t)
			calling.Wait()
			if !errors.Is(got, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", got)
			}
		})
	}
	t.Run("a deadline during the stream is an error", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		got, err := Collect(ctx, open(t, "", Turn{Text: []string{"a"}, End: Hang}), Question())
		if got.Text != "a" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("text %q and error %v, want \"a\" and context.DeadlineExceeded", got.Text, err)
		}
	})
}

func noPartsAfterCancel(t *testing.T, m model.Model) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for p, err := range m.Next(ctx, Question()) {
		if err == nil {
			got = append(got, p.Text)
		}
		cancel()
	}
	if len(got) != 1 {
		t.Errorf("%d parts, want only the one before the cancellation", len(got))
	}
}
