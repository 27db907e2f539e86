package ollama

import (
	"context"
	"errors"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

// turn is the state of receiving one message.
type turn struct {
	client   *api.Client
	watchdog *watchdog
	req      *api.ChatRequest
	limit    int // tokens of context
	writer   *served.Writer
	usage    model.Usage // of all attempts

	last *api.ChatResponse // the response that ends the message; nil before it
}

// receive requests the message and yields its parts. It returns nil only for a complete,
// non-empty message; api.Chat also returns nil when the connection is lost or ctx ends.
func (t *turn) receive(ctx context.Context) error {
	t.last = nil
	t.writer.Reset()
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := t.watchdog.start(cancel, served.ReadingTime(t.req.Messages, t.req.Tools))
	defer t.watchdog.end(w)
	err := t.client.Chat(bounded, t.req, func(r api.ChatResponse) error {
		t.watchdog.data(w)
		if bounded.Err() != nil { // data buffered before the cancellation
			return bounded.Err()
		}
		return t.handle(r)
	})
	switch {
	case errors.Is(err, served.ErrStopped), errors.Is(err, served.ErrRepetition):
		return err
	case t.last != nil && err == nil:
		return t.validate()
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil:
		return context.Cause(bounded)
	case err != nil:
		return explain(err)
	default:
		return served.ErrTruncated
	}
}

// handle yields the parts in a piece of the message, without the model's reasoning.
func (t *turn) handle(r api.ChatResponse) error {
	if err := t.writer.Text(r.Message.Content); err != nil {
		return err
	}
	for _, c := range r.Message.ToolCalls {
		call, err := callOf(c)
		if err != nil {
			return err
		}
		if err := t.writer.Send(model.Part{Call: call}); err != nil {
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

// validate checks a complete message. Servers that do not know truncate=false drop the
// beginning of a long prompt, which only the token count shows.
func (t *turn) validate() error {
	switch {
	case t.last.PromptEvalCount >= t.limit:
		return tooLong("the conversation fills all %d tokens of context", t.limit)
	case t.last.DoneReason == "length":
		return served.TokenLimit(t.last.PromptEvalCount, t.last.EvalCount, t.limit)
	case !t.writer.Started():
		return model.ErrEmpty
	default:
		return nil
	}
}
