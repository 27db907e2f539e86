package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ability "github.com/ollama/ollama/types/model"

	"cairn/services/internal/model"
	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/ollamatest"
)

var question = model.Conversation{
	Rules:    "You answer questions.",
	Messages: []model.Message{{Role: model.User, Text: "How many servers are there?"}},
	Tools: []model.Tool{{
		Name:        "inspect_schema",
		Description: "Describes an array.",
		Parameters:  json.RawMessage(`{"type":"object","required":["data_key"],"properties":{"data_key":{"type":"string"}}}`),
	}},
}

// answer is all that a model said.
type answer struct {
	Text  string
	Calls []model.Call
	Usage *model.Usage
}

func ask(ctx context.Context, m model.Model, c model.Conversation) (a answer, err error) {
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

func open(t *testing.T, url string) *ollama.Model {
	t.Helper()
	m, err := ollama.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	servers := `{"data_key":"servers","note":"a > b"}`
	for _, row := range []struct {
		name   string
		script []ollamatest.Turn
		want   answer
	}{
		{"text comes in pieces, usage at the end",
			[]ollamatest.Turn{ollamatest.Say("There are", " four.")},
			answer{Text: "There are four.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 3}}},
		{"a call comes whole, with sorted keys and nothing escaped",
			[]ollamatest.Turn{ollamatest.Use("inspect_schema", `{"note":"a > b","data_key":"servers"}`)},
			answer{Calls: []model.Call{{ID: "call_inspect_schema", Name: "inspect_schema", Input: json.RawMessage(servers)}},
				Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 2}}},
		{"the calls of all chunks are collected, after the text",
			[]ollamatest.Turn{{Text: []string{"Both."}, Calls: []ollamatest.Call{{ID: "1", Name: "a", Input: `{}`}, {ID: "2", Name: "b", Input: `{"x":1}`}}}},
			answer{Text: "Both.", Calls: []model.Call{{ID: "1", Name: "a", Input: json.RawMessage(`{}`)}, {ID: "2", Name: "b", Input: json.RawMessage(`{"x":1}`)}},
				Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 4}}},
		{"what the model thinks is no text",
			[]ollamatest.Turn{{Thinking: "Hm.", Text: []string{"\n\n", "Four."}}},
			answer{Text: "\n\nFour.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 3}}},
		{"an empty answer is asked for again, and paid for twice",
			[]ollamatest.Turn{ollamatest.Say(), ollamatest.Say("Four.")},
			answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 20, AnswerTokens: 3}}},
		{"white space alone is an empty answer",
			[]ollamatest.Turn{ollamatest.Say(" ", "\n"), ollamatest.Say("Four.")},
			answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 20, AnswerTokens: 5}}},
		{"an answer cut before its first part is asked for again",
			[]ollamatest.Turn{{Thinking: "Hm.", End: ollamatest.Cut}, ollamatest.Say("Four.")},
			answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 2}}},
		{"a connection cut before anything came is tried again",
			[]ollamatest.Turn{{End: ollamatest.Cut}, ollamatest.Say("Four.")},
			answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 2}}},
		{"an error of the runner before the first part is asked for again",
			[]ollamatest.Turn{{Error: "unexpected EOF"}, ollamatest.Say("Four.")},
			answer{Text: "Four.", Usage: &model.Usage{PromptTokens: 10, AnswerTokens: 2}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := ollamatest.New(t, row.script...)
			got, err := ask(t.Context(), open(t, srv.URL()), question)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got, want := len(srv.Requests()), len(row.script); got != want {
				t.Errorf("%d requests, want %d", got, want)
			}
		})
	}
}

func TestCallWithoutIDGetsOne(t *testing.T) {
	t.Parallel()
	call := ollamatest.Turn{Calls: []ollamatest.Call{{Name: "a", Input: `{}`}, {Name: "a", Input: `{}`}}}
	got, err := ask(t.Context(), open(t, ollamatest.New(t, call).URL()), question)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Calls) != 2 || got.Calls[0].ID == "" || got.Calls[0].ID == got.Calls[1].ID {
		t.Errorf("calls %+v, want two with ids of their own", got.Calls)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	piece := []string{"There"}
	for _, row := range []struct {
		name   string
		script []ollamatest.Turn
		is     error // nil: neither of the port's errors
		says   string
	}{
		{"a model that the server does not have", []ollamatest.Turn{{Status: 404, Error: "model 'x' not found"}}, model.ErrUnavailable, "not found"},
		{"a model that cannot call tools", []ollamatest.Turn{{Status: 400, Error: "x does not support tools"}}, model.ErrUnavailable, "does not support tools"},
		{"a full queue", []ollamatest.Turn{{Status: 503, Error: "server busy"}}, model.ErrUnavailable, "server busy"},
		{"a proxy that wants a password", []ollamatest.Turn{{Status: 401}}, model.ErrUnavailable, "401"},
		{"a request that the server does not understand", []ollamatest.Turn{{Status: 400, Error: "bad option"}}, nil, "bad option"},
		{"a failing server", []ollamatest.Turn{{Status: 500, Error: "oops"}}, nil, "oops"},
		{"a conversation that does not fit", []ollamatest.Turn{{Status: 400, Error: "the input length exceeds the context length"}}, model.ErrTooLong, "exceeds"},
		{"a conversation that was cut silently", []ollamatest.Turn{{Text: piece, PromptTokens: 512}}, model.ErrTooLong, "fills all 512 tokens"},
		{"an answer that does not fit", []ollamatest.Turn{{Text: piece, Reason: "length"}}, model.ErrTooLong, "cut at 512 tokens"},
		{"a connection cut in the middle", []ollamatest.Turn{{Text: piece, End: ollamatest.Cut}}, nil, "before it was complete"},
		{"a stream without its last object", []ollamatest.Turn{{Text: piece, End: ollamatest.Stop}}, nil, "before it was complete"},
		{"an error in the middle", []ollamatest.Turn{{Text: piece, Error: "unexpected EOF"}}, nil, "broke off: unexpected EOF"},
		{"two connections cut before anything came", []ollamatest.Turn{{End: ollamatest.Cut}, {End: ollamatest.Cut}}, model.ErrUnavailable, "EOF"},
		{"two empty answers", []ollamatest.Turn{ollamatest.Say(), ollamatest.Say()}, nil, "answered nothing"},
		{"two answers cut before their first part", []ollamatest.Turn{{Thinking: "Hm.", End: ollamatest.Cut}, {End: ollamatest.Stop}}, nil, "before it was complete"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := ollamatest.New(t, row.script...)
			_, err := ask(t.Context(), open(t, srv.URL()+"?num_ctx=512"), question)
			checkError(t, err, row.is, row.says)
			if got, want := len(srv.Requests()), len(row.script); got != want {
				t.Errorf("%d requests, want %d", got, want)
			}
		})
	}
}

// checkError wants err to be is, or none of the port's errors when is is nil,
// and to contain says.
func checkError(t *testing.T, err, is error, says string) {
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

func TestServerAway(t *testing.T) {
	t.Parallel()
	m := open(t, "ollama://127.0.0.1:1/qwen3:8b")
	_, err := ask(t.Context(), m, question)
	checkError(t, err, model.ErrUnavailable, "refused")
	checkError(t, m.Check(t.Context()), model.ErrUnavailable, "refused")
}

func TestServerGoesAwayBetweenTwoMessages(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, ollamatest.Say("Four."))
	m := open(t, srv.URL())
	if _, err := ask(t.Context(), m, question); err != nil {
		t.Fatal(err)
	}
	srv.Close()
	_, err := ask(t.Context(), m, question)
	checkError(t, err, model.ErrUnavailable, "refused")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	chat, tools := ability.CapabilityCompletion, ability.CapabilityTools
	for _, row := range []struct {
		name string
		info ollamatest.Info
		says string // empty: no error
	}{
		{"a model that chats with tools", ollamatest.Info{Name: ollamatest.Model, Capabilities: []ability.Capability{chat, tools}}, ""},
		{"a model without tools", ollamatest.Info{Name: ollamatest.Model, Capabilities: []ability.Capability{chat}}, "cannot chat with tools"},
		{"a model for embeddings", ollamatest.Info{Name: ollamatest.Model, Capabilities: []ability.Capability{ability.CapabilityEmbedding}}, "cannot chat with tools"},
		{"no such model", ollamatest.Info{Name: "other:latest"}, "not found"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := ollamatest.New(t)
			srv.SetModels(row.info)
			err := open(t, srv.URL()).Check(t.Context())
			if row.says != "" {
				checkError(t, err, model.ErrUnavailable, row.says)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLeavingTheLoopStopsTheModel(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, ollamatest.Turn{Text: []string{"a"}, End: ollamatest.Hang})
	for range open(t, srv.URL()).Next(t.Context(), question) {
		break
	}
	await(t, srv.Left(), "the server to see the client leave")
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		turn ollamatest.Turn
	}{
		{"before the first part", ollamatest.Turn{End: ollamatest.Hang}},
		{"in the middle", ollamatest.Turn{Text: []string{"a"}, End: ollamatest.Hang}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := ollamatest.New(t, row.turn)
			ctx, cancel := context.WithCancelCause(t.Context())
			var got error
			var wg sync.WaitGroup
			wg.Go(func() { _, got = ask(ctx, open(t, srv.URL()), question) })
			waitFor(t, func() bool { return len(srv.Requests()) == 1 })
			cancel(errors.New("the user had enough"))
			await(t, srv.Left(), "the server to see the client leave")
			wg.Wait()
			if !errors.Is(got, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", got)
			}
			if srv.Unloads() != 0 {
				t.Error("the model was unloaded")
			}
		})
	}
}

func TestNothingComesAfterCancellation(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, ollamatest.Say(strings.Split(strings.Repeat("la ", 500), " ")...))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for p, err := range open(t, srv.URL()).Next(ctx, question) {
		if err == nil {
			got = append(got, p.Text)
		}
		cancel()
	}
	if len(got) != 1 {
		t.Errorf("%d parts, want only the one before the cancellation", len(got))
	}
}

func TestDeadlineInTheMiddleIsAnError(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, ollamatest.Turn{Text: []string{"a"}, End: ollamatest.Hang})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	got, err := ask(ctx, open(t, srv.URL()), question)
	if got.Text != "a" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("text %q and error %v, want \"a\" and context.DeadlineExceeded", got.Text, err)
	}
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(5 * time.Second):
		t.Fatalf("waited 5 s for %s", what)
	}
}

func waitFor(t *testing.T, fact func() bool) {
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
