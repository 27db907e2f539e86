package ollama

import (
	"context"
	"errors"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

// turn is one message of the model while it is received.
type turn struct {
	client *api.Client
	watch  *watch
	req    *api.ChatRequest
	limit  int // tokens of context
	speech served.Speech
	usage  model.Usage // of all attempts

	last *api.ChatResponse // the one that ends the message, nil before
}

// receive asks for the message and yields its parts as they come. It returns
// nil only for a message that is complete and says something: api.Chat returns
// nil as well when the connection is cut or ctx ends.
func (t *turn) receive(ctx context.Context) error {
	t.last = nil
	t.speech.Restart()
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := t.watch.begin(cancel)
	defer t.watch.end(w)
	err := t.client.Chat(held, t.req, func(r api.ChatResponse) error {
		t.watch.hear(w)
		if held.Err() != nil { // what had been buffered before the cancellation
			return held.Err()
		}
		return t.take(r)
	})
	switch {
	case errors.Is(err, served.ErrLeft):
		return err
	case t.last != nil && err == nil:
		return t.verdict()
	case ctx.Err() != nil:
		return ctx.Err()
	case held.Err() != nil:
		return context.Cause(held)
	case err != nil:
		return explain(err)
	default:
		return served.ErrCut
	}
}

// take yields what a piece of the message holds. What the model thinks is not
// part of the answer.
func (t *turn) take(r api.ChatResponse) error {
	if err := t.speech.Say(r.Message.Content); err != nil {
		return err
	}
	for _, c := range r.Message.ToolCalls {
		call, err := callOf(c)
		if err != nil {
			return err
		}
		if err := t.speech.Emit(model.Part{Call: call}); err != nil {
			return err
		}
	}
	if r.Done {
		t.last = &r
		t.usage.PromptTokens += max(0, r.PromptEvalCount)
		t.usage.AnswerTokens += max(0, r.EvalCount)
	}
	return nil
}

// verdict judges a message that the server says is complete. Servers that do
// not know truncate=false keep the end of a long prompt, which shows only in
// its count of tokens.
func (t *turn) verdict() error {
	switch {
	case t.last.PromptEvalCount >= t.limit:
		return tooLong("the conversation fills all %d tokens of context", t.limit)
	case t.last.DoneReason == "length":
		return served.TokenLimit(t.last.PromptEvalCount, t.last.EvalCount, t.limit)
	case !t.speech.Spoke():
		return model.ErrEmpty
	default:
		return nil
	}
}
