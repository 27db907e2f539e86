package ollama

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model"
)

// turn is one message of the model while it is received.
type turn struct {
	client *api.Client
	watch  *watch
	req    *api.ChatRequest
	limit  int // tokens of context
	yield  func(model.Part, error) bool
	spoke  bool        // a part was yielded
	usage  model.Usage // of all attempts

	space string            // white space held back until something follows it
	last  *api.ChatResponse // the one that ends the message, nil before
}

// receive asks for the message and yields its parts as they come. It returns
// nil only for a message that is complete and says something: api.Chat returns
// nil as well when the connection is cut or ctx ends.
func (t *turn) receive(ctx context.Context) error {
	t.space, t.last = "", nil
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
	case errors.Is(err, errLeft):
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
		return errCut
	}
}

// take yields what a piece of the message holds. What the model thinks is not
// part of the answer.
func (t *turn) take(r api.ChatResponse) error {
	if err := t.say(r.Message.Content); err != nil {
		return err
	}
	for _, c := range r.Message.ToolCalls {
		call, err := callOf(c)
		if err != nil {
			return err
		}
		if err := t.emit(model.Part{Call: call}); err != nil {
			return err
		}
	}
	if r.Done {
		t.last = &r
		t.usage.PromptTokens += r.PromptEvalCount
		t.usage.AnswerTokens += r.EvalCount
	}
	return nil
}

// say yields text, but none before the first that can be seen: white space
// alone is an empty message.
func (t *turn) say(text string) error {
	if !t.spoke {
		text = t.space + text
		t.space = ""
		if strings.TrimFunc(text, unicode.IsSpace) == "" {
			t.space = text
			return nil
		}
	}
	if text == "" {
		return nil
	}
	return t.emit(model.Part{Text: text})
}

func (t *turn) emit(p model.Part) error {
	t.spoke = true
	if !t.yield(p, nil) {
		return errLeft
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
		return tooLong("the answer was cut at %d tokens of context", t.limit)
	case !t.spoke:
		return errEmpty
	default:
		return nil
	}
}
