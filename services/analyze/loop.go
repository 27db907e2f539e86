package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
	"cairn/services/internal/model/plan"
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
	sender   bus.Sender
	buffered bool // text is not sent: the rendering agent gets it
	budget   budget
	answers  model.Answers
	question string
	intent   plan.Intent
	noun     func(dataKey string) string // plural noun of the records
	notes    map[string][]string         // on how values were linked, by call

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
	value  any            // estate.Stats, or another value
	answer jsontext.Value // the value in JSON
}

func (r result) toolUse() schemas.ToolUse {
	return schemas.ToolUse{ToolCallID: r.call.ID, Name: r.call.Name, Input: jsontext.Value(r.call.Input)}
}

// size returns the approximate memory that the result takes, in bytes.
func (r result) size() int64 {
	stats, _ := r.value.(estate.Stats)
	return int64(len(r.answer) + stats.Size())
}

// send sends the call and its result.
func (r result) send(sender bus.Sender) error {
	if err := sender.Send(schemas.EventToolUse, r.toolUse()); err != nil {
		return err
	}
	return sender.Send(schemas.EventToolResult, schemas.ToolResult{ToolCallID: r.call.ID, Result: r.answer})
}

// failed reports whether the result is an error.
func (r result) failed() bool {
	var e toolError
	return json.Unmarshal(r.answer, &e) == nil && e.Error != ""
}

// run calls the model until it answers. The text of its last message is the answer, by the model's setting as it
// comes, checked, or replaced by statements of the results.
func (l *loop) run(ctx context.Context) error {
	for round := range maxRounds + 1 {
		if round == maxRounds {
			l.conversation.Tools = nil
			l.conversation.Messages = append(l.conversation.Messages, model.Message{Role: model.User, Text: finalPrompt})
		}
		msg, err := l.turn(ctx)
		if err != nil && len(l.results) > 0 && l.answers != model.AnswersForwarded && ctx.Err() == nil {
			return l.sendText(l.statements()) // the results are the answer
		}
		if err != nil {
			return fmt.Errorf("call model: %w", err)
		}
		if len(msg.Calls) == 0 {
			return l.conclude(ctx, msg)
		}
		l.conversation.Messages = append(l.conversation.Messages, msg)
		if err := l.runCalls(ctx, msg.Calls, l.resultLimit()/min(maxCalls, len(msg.Calls))); err != nil {
			return err
		}
	}
	return schemas.ErrInternal.Because(fmt.Sprintf("the model called tools in %d messages and gave no answer",
		maxRounds+1))
}

// conclude sends the answer after the last message, unless turn has sent it.
func (l *loop) conclude(ctx context.Context, msg model.Message) error {
	switch {
	case l.answers == model.AnswersForwarded:
		return nil
	case len(l.results) == 0:
		return l.sendText(cannotAnswer + "the model computed nothing. " + l.offer())
	case l.answers == model.AnswersStated:
		return l.sendText(l.statements())
	}
	if newTracer(l.question, l.results).unsupported(ctx, msg.Text) != "" {
		return l.sendText(l.statements())
	}
	return l.sendText(msg.Text)
}

// turn receives the model's next message and streams its text. That includes text
// before a tool call: holding it back until the message ends would prevent streaming.
func (l *loop) turn(ctx context.Context) (msg model.Message, err error) {
	l.answer.Reset() // text before a tool call is not the answer
	l.sent.WriteByte('\n')
	var text strings.Builder
	calls := textCalls{offered: names(l.conversation.Tools)}
	send := func(piece string) error {
		text.WriteString(piece)
		if l.answers != model.AnswersForwarded || piece == "" {
			return nil
		}
		return l.sendText(piece)
	}
	if len(l.results) > 0 && l.answers != model.AnswersForwarded {
		var cancel context.CancelFunc
		ctx, cancel = beforeDeadline(ctx)
		defer cancel()
	}
	msg, err = l.receive(ctx, func(piece string) error { return send(calls.add(piece)) })
	if err == nil {
		err = send(calls.rest())
	}
	for _, c := range calls.calls {
		l.addCall(&msg, c)
	}
	msg.Text = text.String()
	if err == nil && len(msg.Calls) == 0 && strings.TrimSpace(msg.Text) == "" {
		return msg, model.ErrEmpty
	}
	return msg, err
}

// statementReserve is the time before the deadline at which the results are stated instead of the model's text.
const statementReserve = 10 * time.Second

// beforeDeadline returns a context that ends statementReserve before the deadline of ctx.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-statementReserve))
	}
	return context.WithCancel(ctx)
}

func (l *loop) addCall(msg *model.Message, call model.Call) {
	l.usage.ToolCalls++
	call.ID = cmp.Or(call.ID, fmt.Sprintf("call_%d", l.usage.ToolCalls))
	call.Input = normalizeInput(call.Input)
	msg.Calls = append(msg.Calls, call)
}

// receive receives the model's next message and passes its text on, without reasoning.
func (l *loop) receive(ctx context.Context, text func(string) error) (msg model.Message, err error) {
	ctx, span := telemetry.Chat(ctx, telemetry.ModelOf(l.model.Name()))
	defer func() { span.End(err) }()
	msg.Role = model.Assistant
	var thinking thoughts
	for part, err := range l.model.Next(ctx, l.conversation) {
		switch {
		case err != nil:
			return msg, err
		case part.Call != nil:
			l.addCall(&msg, *part.Call)
		case part.Usage != nil:
			l.usage.PromptTokens += part.Usage.PromptTokens
			l.usage.AnswerTokens += part.Usage.AnswerTokens
			span.Tokens(part.Usage.PromptTokens, part.Usage.AnswerTokens)
		default:
			if err := text(thinking.add(part.Text)); err != nil {
				return msg, err
			}
		}
	}
	return msg, text(thinking.rest())
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
	return l.sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: text})
}

// runCalls runs calls concurrently and reports each in order to the caller and the model. Each
// result has about limit bytes at most.
func (l *loop) runCalls(ctx context.Context, calls []model.Call, limit int) error {
	results, err := l.tools.all(ctx, calls, limit)
	if err != nil {
		return err
	}
	for _, r := range results {
		if !reserved(ctx).Acquire(r.size()) { // until the run ends
			return errMemory
		}
		if err := l.report(r); err != nil {
			return err
		}
	}
	return nil
}

// resultLimit returns the bytes available to the next results: half of the remaining
// budget, so that later results fit too.
func (l *loop) resultLimit() int {
	used := len(l.conversation.Rules) + toolBytes + size(l.conversation.Messages)
	return min(max(l.budget.total-used, minResultBytes)/2, maxResult)
}

// statements states the results, each once.
func (l *loop) statements() string {
	var list []string
	for _, r := range l.results {
		stats, ok := r.value.(estate.Stats)
		var q estate.Query
		if !ok || arguments(r.call.Input, &q) != nil {
			continue
		}
		s := statement{query: q, stats: stats, noun: name(l.noun(q.DataKey)), intent: l.intent, notes: l.notes[r.call.ID]}
		if text := s.String(); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return cannotAnswer + "no computation succeeded. " + l.offer()
	}
	return strings.Join(list, "\n\n")
}

// offer says what the data holds.
func (l *loop) offer() string {
	const most = 20
	var keys []string
	for _, key := range l.tools.estate.Keys() {
		keys = append(keys, name(key))
	}
	if len(keys) == 0 {
		return "The data has no arrays of records."
	}
	text := "The data holds " + strings.Join(keys[:min(len(keys), most)], ", ")
	if rest := len(keys) - most; rest > 0 {
		text += " and more arrays"
	}
	return text + "."
}

func (l *loop) report(r result) error {
	l.results = append(l.results, r)
	l.conversation.Messages = append(l.conversation.Messages,
		model.Message{Role: model.ToolRole, CallID: r.call.ID, Tool: r.call.Name, Result: []byte(r.answer)})
	return r.send(l.sender)
}

// add sends the additional events that the request includes.
func (l *loop) add(ctx context.Context, req schemas.Analysis) error {
	if slices.Contains(req.Include, schemas.EventProvenance) {
		text := &l.sent
		if l.buffered {
			text = &l.answer
		}
		if err := l.sender.Send(schemas.EventProvenance,
			schemas.Provenance{Figures: newTracer(req.Query, l.results).figures(ctx, text.String())}); err != nil {
			return err
		}
	}
	if slices.Contains(req.Include, schemas.EventSuggestions) && len(l.suggestions) > 0 {
		if err := l.sender.Send(schemas.EventSuggestions, schemas.Suggestions{Questions: l.suggestions}); err != nil {
			return err
		}
	}
	if slices.Contains(req.Include, schemas.EventUsage) {
		return l.sender.Send(schemas.EventUsage, l.usage)
	}
	return nil
}
