package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/services/internal/model"
)

const (
	// maxRounds bounds the number of messages with tool calls. Real questions
	// take two or three.
	maxRounds = 12
	// finalPrompt is sent when the model exceeds maxRounds.
	finalPrompt = "You have used the tools often enough. Answer now from the results that you have."
)

// loop runs the conversation: it sends it to the model and runs the requested tools
// until the model answers.
type loop struct {
	model    model.Model
	tools    tools
	to       bus.Sender
	buffered bool // text is not sent: the rendering agent gets it
	budget   budget

	conversation model.Conversation
	answer       strings.Builder
	sent         strings.Builder // the answer, and text before tool calls
	results      []result
	suggestions  []string
	usage        schemas.Usage
}

// result is a tool call and its result.
type result struct {
	call   model.Call
	answer jsontext.Value
}

func (r result) toolUse() schemas.ToolUse {
	return schemas.ToolUse{ToolCallID: r.call.ID, Name: r.call.Name, Input: jsontext.Value(r.call.Input)}
}

// failed reports whether the result is an error.
func (r result) failed() bool {
	var e toolError
	return json.Unmarshal(r.answer, &e) == nil && e.Error != ""
}

func (l *loop) run(ctx context.Context) error {
	for round := range maxRounds + 1 {
		if round == maxRounds {
			l.conversation.Tools = nil
			l.conversation.Messages = append(l.conversation.Messages, model.Message{Role: model.User, Text: finalPrompt})
		}
		msg, err := l.turn(ctx)
		if err != nil {
			return fmt.Errorf("call model: %w", err)
		}
		if len(msg.Calls) == 0 {
			return nil
		}
		l.conversation.Messages = append(l.conversation.Messages, msg)
		if err := l.runCalls(ctx, msg.Calls, l.resultLimit()/min(maxCalls, len(msg.Calls))); err != nil {
			return err
		}
	}
	return schemas.ErrInternal.Because(fmt.Sprintf("the model called tools in %d messages and gave no answer", maxRounds+1))
}

// turn receives the model's next message and streams its text. That includes text
// before a tool call: holding it back until the message ends would prevent streaming.
func (l *loop) turn(ctx context.Context) (msg model.Message, err error) {
	ctx, span := telemetry.Chat(ctx, telemetry.ModelOf(l.model.Name()))
	defer func() { span.End(err) }()
	msg.Role = model.Assistant
	l.answer.Reset() // text before a tool call is not the answer
	l.sent.WriteByte('\n')
	var thinking thoughts
	for part, err := range l.model.Next(ctx, l.conversation) {
		switch {
		case err != nil:
			return msg, err
		case part.Call != nil:
			l.usage.ToolCalls++
			call := *part.Call
			call.ID = cmp.Or(call.ID, fmt.Sprintf("call_%d", l.usage.ToolCalls))
			call.Input = normalizeInput(call.Input)
			msg.Calls = append(msg.Calls, call)
		case part.Suggestions != nil:
			l.suggestions = part.Suggestions
		case part.Usage != nil:
			l.usage.PromptTokens += part.Usage.PromptTokens
			l.usage.AnswerTokens += part.Usage.AnswerTokens
			span.Tokens(part.Usage.PromptTokens, part.Usage.AnswerTokens)
		default:
			if err := l.sendText(thinking.add(part.Text)); err != nil {
				return msg, err
			}
		}
	}
	if err := l.sendText(thinking.rest()); err != nil {
		return msg, err
	}
	msg.Text = l.answer.String()
	if len(msg.Calls) == 0 && strings.TrimSpace(msg.Text) == "" {
		return msg, model.ErrEmpty
	}
	return msg, nil
}

// maxMalformedInput bounds the text of malformed arguments in the events and the
// conversation, in bytes.
const maxMalformedInput = 1 << 10

// malformedMember holds the text of arguments that are not a JSON object.
const malformedMember = "arguments"

// normalizeInput returns the call's arguments as a JSON object, as events and models require.
// Other arguments become the text of malformedMember, which the tools reject.
func normalizeInput(input []byte) []byte {
	if v := jsontext.Value(input); v.IsValid() && v.Kind() == '{' {
		return input
	}
	if len(input) > maxMalformedInput {
		input = append(input[:maxMalformedInput:maxMalformedInput], "…"...)
	}
	text, _ := jsontext.AppendQuote([]byte(`{"`+malformedMember+`":`), input) // invalid UTF-8 becomes U+FFFD
	return append(text, '}')
}

func (l *loop) sendText(text string) error {
	l.answer.WriteString(text)
	if l.buffered || text == "" {
		return nil
	}
	l.sent.WriteString(text)
	return l.to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: text})
}

// runCalls runs calls concurrently and reports each in order to the caller and the model. Each
// result has about limit bytes at most.
func (l *loop) runCalls(ctx context.Context, calls []model.Call, limit int) error {
	answers, err := l.tools.all(ctx, calls, limit)
	if err != nil {
		return err
	}
	for i, call := range calls {
		if err := l.report(result{call, answers[i]}); err != nil {
			return err
		}
	}
	return nil
}

// resultLimit returns the bytes available to the next results: half of the remaining
// budget, so that later results fit too.
func (l *loop) resultLimit() int {
	used := len(l.conversation.Rules) + l.budget.outline + toolBytes + size(l.conversation.Messages)
	return min(max(l.budget.all-used, minResultBytes)/2, maxResult)
}

func (l *loop) report(r result) error {
	l.results = append(l.results, r)
	l.conversation.Messages = append(l.conversation.Messages,
		model.Message{Role: model.ToolRole, CallID: r.call.ID, Tool: r.call.Name, Result: []byte(r.answer)})
	if err := l.to.Send(schemas.EventToolUse, r.toolUse()); err != nil {
		return err
	}
	return l.to.Send(schemas.EventToolResult, schemas.ToolResult{ToolCallID: r.call.ID, Result: r.answer})
}

// add sends the additional events that the request includes.
func (l *loop) add(ctx context.Context, req schemas.Analysis) error {
	if slices.Contains(req.Include, schemas.EventProvenance) {
		text := &l.sent
		if l.buffered {
			text = &l.answer
		}
		if err := l.to.Send(schemas.EventProvenance, provenance(ctx, text.String(), req.Query, l.results)); err != nil {
			return err
		}
	}
	if slices.Contains(req.Include, schemas.EventSuggestions) && len(l.suggestions) > 0 {
		if err := l.to.Send(schemas.EventSuggestions, schemas.Suggestions{Questions: l.suggestions}); err != nil {
			return err
		}
	}
	if slices.Contains(req.Include, schemas.EventUsage) {
		return l.to.Send(schemas.EventUsage, l.usage)
	}
	return nil
}
