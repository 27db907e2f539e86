package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

// turn is one message of the model while it is received.
type turn struct {
	model   *Model
	request request
	window  int // tokens; 0: not known
	speech  served.Speech
	usage   model.Usage // of all attempts

	calls  []model.Call
	prompt int    // tokens, of this attempt
	answer int    // tokens, of this attempt
	reason string // why the message ended; empty: it did not
}

// receive asks for the message and yields its parts as they come. It returns
// nil only for a message that is complete and says something.
func (t *turn) receive(ctx context.Context) error {
	t.calls, t.prompt, t.answer, t.reason = nil, 0, 0, ""
	t.speech.Restart()
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(t.model.firstChunk, func() { cancel(errSilent) })
	defer silence.Stop()
	for next, err := range t.model.client.stream(held, t.request) {
		silence.Stop()
		switch {
		case held.Err() != nil: // also for chunks that arrived before the cancellation
			return cmp.Or(ctx.Err(), context.Cause(held))
		case err != nil:
			return explain(err)
		}
		if err := t.take(next); err != nil {
			return err
		}
	}
	if held.Err() != nil {
		return cmp.Or(ctx.Err(), context.Cause(held))
	}
	return t.end()
}

// take yields what a chunk of the message holds. Calls come in pieces, and are
// whole when the message is.
func (t *turn) take(next chunk) error {
	read, written := max(0, int(next.Usage.PromptTokens)), max(0, int(next.Usage.CompletionTokens))
	t.prompt += read
	t.answer += written
	t.usage.PromptTokens += read
	t.usage.AnswerTokens += written
	for _, choice := range next.Choices {
		t.reason = cmp.Or(choice.FinishReason, t.reason)
		for _, piece := range choice.Delta.ToolCalls {
			if err := t.gather(piece); err != nil {
				return err
			}
		}
		if err := t.speech.Say(choice.Delta.Content); err != nil {
			return err
		}
	}
	return nil
}

// gather adds a piece of a call to it.
func (t *turn) gather(piece call) error {
	at := int(piece.Index)
	if at < 0 || at > len(t.calls) {
		return fmt.Errorf("%w: call %d comes after %d calls", served.ErrBroken, at, len(t.calls))
	}
	if at == len(t.calls) {
		t.calls = append(t.calls, model.Call{})
	}
	c := &t.calls[at]
	c.ID = cmp.Or(c.ID, piece.ID)
	c.Name += piece.Function.Name
	c.Input = append(c.Input, piece.Function.Arguments...)
	return nil
}

// end judges a message whose stream has ended in order, and yields its calls.
func (t *turn) end() error {
	switch {
	case t.reason == "":
		return served.ErrCut
	case t.window > 0 && t.prompt >= t.window:
		return fmt.Errorf("%w: the conversation fills all %d tokens of context", model.ErrTooLong, t.window)
	case t.reason == "length":
		return served.TokenLimit(t.prompt, t.answer, t.window)
	case t.reason == "content_filter":
		return errors.New("the server's filter withheld the answer")
	case !t.speech.Spoke() && len(t.calls) == 0:
		return model.ErrEmpty
	}
	for _, c := range t.calls {
		if err := t.call(c); err != nil {
			return err
		}
	}
	return nil
}

// call yields a call. Input that is no JSON is told to the model as its
// mistake, by who runs the call.
func (t *turn) call(c model.Call) error {
	c.ID = cmp.Or(c.ID, "call_"+rand.Text()[:8])
	if len(c.Input) == 0 {
		c.Input = json.RawMessage("{}")
	}
	return t.speech.Emit(model.Part{Call: &c})
}
