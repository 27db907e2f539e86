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

// turn is the state of receiving one message.
type turn struct {
	model   *Model
	request request
	window  int // tokens; 0: unknown
	writer  *served.Writer
	usage   model.Usage // of all attempts

	calls  []model.Call
	prompt int    // tokens, of this attempt
	answer int    // tokens, of this attempt
	reason string // finish reason; empty: none received
}

// message is receive with retries.
func (t *turn) message(ctx context.Context) error {
	for n := 1; ; n++ {
		err := t.receive(ctx)
		if n == attempts || t.writer.Started() || !retryable(err) {
			return err
		}
	}
}

// receive requests the message and yields its parts. It returns nil only for a complete,
// non-empty message.
func (t *turn) receive(ctx context.Context) error {
	t.calls, t.prompt, t.answer, t.reason = nil, 0, 0, ""
	t.writer.Reset()
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(t.model.firstChunk, func() { cancel(errStalled) })
	defer silence.Stop()
	for next, err := range t.model.client.stream(bounded, t.request) {
		silence.Stop()
		switch {
		case bounded.Err() != nil: // also for chunks that arrived before the cancellation
			return cmp.Or(ctx.Err(), context.Cause(bounded))
		case err != nil:
			return explain(err)
		}
		if err := t.handle(next); err != nil {
			return err
		}
	}
	if bounded.Err() != nil {
		return cmp.Or(ctx.Err(), context.Cause(bounded))
	}
	return t.end()
}

// handle yields the text in a chunk and collects its calls, which are complete only at
// the end of the message.
func (t *turn) handle(next chunk) error {
	read, written := max(0, int(next.Usage.PromptTokens)), max(0, int(next.Usage.CompletionTokens))
	more, longer := max(0, read-t.prompt), max(0, written-t.answer) // some servers repeat the counts in each chunk
	t.prompt, t.answer = t.prompt+more, t.answer+longer
	t.usage.PromptTokens += more
	t.usage.AnswerTokens += longer
	for _, choice := range next.Choices {
		t.reason = cmp.Or(choice.FinishReason, t.reason)
		for _, piece := range choice.Delta.ToolCalls {
			if err := t.addCall(piece); err != nil {
				return err
			}
		}
		if err := t.writer.Text(choice.Delta.Content); err != nil {
			return err
		}
	}
	return nil
}

// addCall appends a piece of a call.
func (t *turn) addCall(piece call) error {
	at := int(piece.Index)
	if at < 0 || at > len(t.calls) {
		return fmt.Errorf("%w: call %d comes after %d calls", served.ErrServer, at, len(t.calls))
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

// end validates a complete message and yields its calls.
func (t *turn) end() error {
	switch {
	case t.reason == "":
		return served.ErrTruncated
	case t.window > 0 && t.prompt >= t.window:
		return fmt.Errorf("%w: the conversation fills all %d tokens of context", model.ErrTooLong, t.window)
	case t.reason == "length":
		return served.TokenLimit(t.prompt, t.answer, t.window)
	case t.reason == "content_filter":
		return errors.New("the server's content filter blocked the answer")
	case !t.writer.Started() && len(t.calls) == 0:
		return model.ErrEmpty
	}
	for _, c := range t.calls {
		if err := t.call(c); err != nil {
			return err
		}
	}
	return nil
}

// call yields a call. The caller of Next rejects malformed input.
func (t *turn) call(c model.Call) error {
	c.ID = cmp.Or(c.ID, "call_"+rand.Text()[:8])
	if len(c.Input) == 0 {
		c.Input = json.RawMessage("{}")
	}
	return t.writer.Send(model.Part{Call: &c})
}
