package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

// turn is the state of receiving one message.
type turn struct {
	model        *Model
	conversation model.Conversation
	request      request
	form         form
	window       int // tokens; 0: unknown
	writer       *served.Writer
	usage        model.Usage // of all attempts

	// of this attempt
	text      strings.Builder // of a message under a schema, which is yielded at its end
	calls     []model.Call
	prompt    int    // tokens
	answer    int    // tokens
	reasoning bool   // the message has some
	reason    string // finish reason; empty: none received
}

// message is receive with retries. Requests that t.adapt changes do not count as attempts.
func (t *turn) message(ctx context.Context) error {
	for n := 1; ; {
		err := t.receive(ctx)
		switch {
		case err == nil || t.writer.Started():
			return err
		case t.adapt(err):
		case n == attempts || !retryable(err):
			return err
		default:
			n++
		}
	}
}

// adapt reports whether the next request differs from the last one, as its error requires.
func (t *turn) adapt(err error) bool {
	var rejected *statusError
	rejection := errors.As(err, &rejected)
	switch {
	case rejection && t.request.MaxTokens > 0 && mentions(rejected.message, "max_completion_tokens"):
		t.model.completion.Store(true)
	case t.exhausted(err):
		t.model.reasoning.Store(true)
	case t.form == formUnknown || t.form == formFree:
		return false
	case errors.Is(err, errIgnored) || rejection && rejectsForm(rejected):
		t.form++
	default:
		return false
	}
	return true
}

// exhausted reports whether reasoning has used up a limit that is meant for the message.
func (t *turn) exhausted(err error) bool {
	limit := t.request.MaxTokens
	return limit > 0 && limit == t.conversation.MaxTokens && t.reasoning && t.reason == "length" &&
		errors.As(err, new(model.IncompleteError))
}

// prepare sets the parts of the request that adapt changes.
func (t *turn) prepare() {
	if t.form != formUnknown {
		t.request.constrain(t.form, t.conversation.Schema)
	}
	limit, completion := t.conversation.MaxTokens, t.model.completion.Load()
	if limit > 0 && (completion || t.model.reasoning.Load()) { // max_completion_tokens is for models that reason
		limit += served.ReasoningTokens
	}
	t.request.MaxTokens, t.request.MaxCompletionTokens = limit, 0
	if completion {
		t.request.MaxTokens, t.request.MaxCompletionTokens = 0, limit
	}
}

// receive requests the message and yields its parts. It returns nil only for a complete,
// non-empty message.
func (t *turn) receive(ctx context.Context) error {
	t.calls, t.prompt, t.answer, t.reasoning, t.reason = nil, 0, 0, false, ""
	t.text.Reset()
	t.writer.Reset()
	t.prepare()
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	allowance := t.model.common.FirstChunk + served.ReadingTime(t.request.Messages, t.request.Tools)
	silence := time.AfterFunc(allowance, func() { cancel(errStalled) })
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
	prompt, longer := max(0, read-t.prompt), max(0, written-t.answer) // some servers repeat the counts in each chunk
	t.prompt, t.answer = t.prompt+prompt, t.answer+longer
	t.usage.PromptTokens += prompt
	t.usage.AnswerTokens += longer
	for _, choice := range next.Choices {
		t.reason = cmp.Or(choice.FinishReason, t.reason)
		t.reasoning = t.reasoning || choice.Delta.Reasoning+choice.Delta.ReasoningContent != ""
		for _, piece := range choice.Delta.ToolCalls {
			if err := t.addCall(piece); err != nil {
				return err
			}
		}
		if err := t.addText(choice.Delta.Content); err != nil {
			return err
		}
	}
	return nil
}

// addText yields text, but collects that of a message under a schema.
func (t *turn) addText(text string) error {
	if t.form == formUnknown {
		return t.writer.Text(text)
	}
	t.text.WriteString(text)
	return t.writer.Inspect(text)
}

// addCall appends a piece of a call.
func (t *turn) addCall(piece call) error {
	index := int(piece.Index)
	if index < 0 || index > len(t.calls) {
		return fmt.Errorf("%w: call %d comes after %d calls", served.ErrServer, index, len(t.calls))
	}
	if index == len(t.calls) {
		t.calls = append(t.calls, model.Call{})
	}
	c := &t.calls[index]
	c.ID = cmp.Or(c.ID, piece.ID)
	c.Name += piece.Function.Name
	c.Input = append(c.Input, piece.Function.Arguments...)
	return t.writer.Inspect(piece.Function.Arguments)
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
	case t.form != formUnknown:
		return t.endConstrained()
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

// endConstrained yields a complete message under a schema, unless the server has ignored
// the form of the request.
func (t *turn) endConstrained() error {
	text := t.text.String()
	if len(t.calls) > 0 {
		text = string(t.calls[0].Input)
	}
	switch {
	case t.form < formFree && !isObject(text):
		return errIgnored
	case strings.TrimSpace(text) == "":
		return model.ErrEmpty
	}
	t.model.form.CompareAndSwap(int32(formUnknown), int32(t.form))
	return t.writer.Send(model.Part{Text: text})
}

func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// call yields a call. The caller of Next rejects malformed input.
func (t *turn) call(c model.Call) error {
	if len(c.Input) == 0 {
		c.Input = json.RawMessage("{}")
	}
	return t.writer.Send(model.Part{Call: &c})
}
