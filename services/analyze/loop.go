package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/services/internal/model"
)

const (
	// maxRounds bounds how often a model may come back with tool calls: real
	// questions take two or three; a model that goes on is lost.
	maxRounds = 12
	// enough is what a model is told that is lost.
	enough = "You have used the tools often enough. Answer now from the results that you have."
)

// loop lets the model talk and runs the tools it asks for, until it has
// answered.
type loop struct {
	model  model.Model
	tools  tools
	to     bus.Sender
	silent bool // the answer is kept for the rendering agent
	budget budget

	talk    model.Conversation
	answer  strings.Builder
	sent    strings.Builder // the answer, and what was said before calls
	results []result
	usage   schemas.Usage
}

// result is what a tool call came to.
type result struct {
	call   model.Call
	answer jsontext.Value
}

func (r result) use() schemas.ToolUse {
	return schemas.ToolUse{ToolCallID: r.call.ID, Name: r.call.Name, Input: jsontext.Value(r.call.Input)}
}

func (l *loop) run(ctx context.Context) error {
	for round := range maxRounds + 1 {
		if round == maxRounds {
			l.talk.Tools = nil
			l.talk.Messages = append(l.talk.Messages, model.Message{Role: model.User, Text: enough})
		}
		said, err := l.turn(ctx)
		if err != nil {
			return fmt.Errorf("ask the model: %w", err)
		}
		if len(said.Calls) == 0 {
			return nil
		}
		l.talk.Messages = append(l.talk.Messages, said)
		if err := l.use(ctx, said.Calls); err != nil {
			return err
		}
	}
	return schemas.ErrInternal.Because(fmt.Sprintf("the model asked for tools %d times and gave no answer", maxRounds+1))
}

// turn is the model's next message, its text sent on as it comes. A model that
// talks before it calls a tool is heard too: to hold its words back until it
// has ended would be no streaming.
func (l *loop) turn(ctx context.Context) (said model.Message, err error) {
	ctx, asked := telemetry.Chat(ctx, telemetry.ModelOf(l.model.Name()))
	defer func() { asked.End(err) }()
	said.Role = model.Assistant
	l.answer.Reset() // what was said before a call was no answer
	l.sent.WriteByte('\n')
	var thinking thoughts
	for part, err := range l.model.Next(ctx, l.talk) {
		switch {
		case err != nil:
			return said, err
		case part.Call != nil:
			l.usage.ToolCalls++
			call := *part.Call
			call.ID = cmp.Or(call.ID, fmt.Sprintf("call_%d", l.usage.ToolCalls))
			call.Input = legible(call.Input)
			said.Calls = append(said.Calls, call)
		case part.Usage != nil:
			l.usage.PromptTokens += part.Usage.PromptTokens
			l.usage.AnswerTokens += part.Usage.AnswerTokens
			asked.Tokens(part.Usage.PromptTokens, part.Usage.AnswerTokens)
		default:
			if err := l.say(thinking.without(part.Text)); err != nil {
				return said, err
			}
		}
	}
	if err := l.say(thinking.rest()); err != nil {
		return said, err
	}
	said.Text = l.answer.String()
	if len(said.Calls) == 0 && strings.TrimSpace(said.Text) == "" {
		return said, model.ErrEmpty
	}
	return said, nil
}

// legible is a call's input as JSON. What is none is a text then: caller and model
// are shown what was written, and the tool says what is wrong with it.
func legible(input []byte) []byte {
	if jsontext.Value(input).IsValid() {
		return input
	}
	text, _ := jsontext.AppendQuote(nil, input) // bytes that are no text are replaced
	return text
}

func (l *loop) say(text string) error {
	l.answer.WriteString(text)
	if l.silent || text == "" {
		return nil
	}
	l.sent.WriteString(text)
	return l.to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: text})
}

// use runs the calls of one message side by side, and tells the caller and the
// model of each in its turn.
func (l *loop) use(ctx context.Context, calls []model.Call) error {
	answers, err := l.tools.all(ctx, calls, l.room()/min(maxCalls, len(calls)))
	if err != nil {
		return err
	}
	for i, call := range calls {
		if err := l.tell(result{call, answers[i]}); err != nil {
			return err
		}
	}
	return nil
}

// room is what the next results may take, in bytes: half of what is left, so
// that something is left for those after them.
func (l *loop) room() int {
	used := len(l.talk.Rules) + l.budget.outline + toolBytes + size(l.talk.Messages)
	return min(max(l.budget.all-used, leastResult)/2, maxResult)
}

func (l *loop) tell(r result) error {
	l.results = append(l.results, r)
	l.talk.Messages = append(l.talk.Messages,
		model.Message{Role: model.ToolRole, CallID: r.call.ID, Tool: r.call.Name, Result: []byte(r.answer)})
	if err := l.to.Send(schemas.EventToolUse, r.use()); err != nil {
		return err
	}
	return l.to.Send(schemas.EventToolResult, schemas.ToolResult{ToolCallID: r.call.ID, Result: r.answer})
}

// add sends what the caller wants to know beside the answer.
func (l *loop) add(ctx context.Context, ask schemas.Analysis) error {
	if slices.Contains(ask.Include, schemas.EventProvenance) {
		text := &l.sent
		if l.silent {
			text = &l.answer
		}
		if err := l.to.Send(schemas.EventProvenance, provenance(ctx, text.String(), ask.Query, l.results)); err != nil {
			return err
		}
	}
	if slices.Contains(ask.Include, schemas.EventUsage) {
		return l.to.Send(schemas.EventUsage, l.usage)
	}
	return nil
}
