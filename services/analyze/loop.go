package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/model"
)

// maxTurns bounds how often a model may come back with tool calls: real
// questions take two or three; a model that goes on is lost.
const maxTurns = 16

// loop lets the model talk and runs the tools it asks for, until it has
// answered.
type loop struct {
	model  model.Model
	tools  tools
	to     bus.Sender
	silent bool // the answer is kept for the rendering agent

	talk    model.Conversation
	answer  strings.Builder
	results []jsontext.Value
	usage   schemas.Usage
}

func (l *loop) run(ctx context.Context) error {
	for range maxTurns {
		said, err := l.turn(ctx)
		if err != nil {
			return fmt.Errorf("ask the model: %w", err)
		}
		if len(said.Calls) == 0 {
			return nil
		}
		l.talk.Messages = append(l.talk.Messages, said)
		for _, call := range said.Calls {
			if err := l.use(ctx, call); err != nil {
				return err
			}
		}
	}
	return schemas.ErrInternal.Because(fmt.Sprintf("the model asked for tools %d times and gave no answer", maxTurns))
}

// turn is the model's next message, its text sent on as it comes. A model that
// talks before it calls a tool is heard too: to hold its words back until it
// has ended would be no streaming.
func (l *loop) turn(ctx context.Context) (model.Message, error) {
	said := model.Message{Role: model.Assistant}
	l.answer.Reset() // what was said before a call was no answer
	var text strings.Builder
	for part, err := range l.model.Next(ctx, l.talk) {
		switch {
		case err != nil:
			return said, err
		case part.Call != nil:
			l.usage.ToolCalls++
			call := *part.Call
			call.ID = cmp.Or(call.ID, fmt.Sprintf("call_%d", l.usage.ToolCalls))
			said.Calls = append(said.Calls, call)
		case part.Usage != nil:
			l.usage.PromptTokens += part.Usage.PromptTokens
			l.usage.AnswerTokens += part.Usage.AnswerTokens
		default:
			text.WriteString(part.Text)
			if err := l.say(part.Text); err != nil {
				return said, err
			}
		}
	}
	said.Text = text.String()
	return said, nil
}

func (l *loop) say(text string) error {
	l.answer.WriteString(text)
	if l.silent {
		return nil
	}
	return l.to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: text})
}

// use runs one tool call and tells the caller and the model of it.
func (l *loop) use(ctx context.Context, call model.Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.to.Send(schemas.EventToolUse, schemas.ToolUse{ToolCallID: call.ID, Name: call.Name, Input: jsontext.Value(call.Input)})
	if err != nil {
		return err
	}
	result, err := l.tools.run(call)
	if err != nil {
		return err
	}
	l.results = append(l.results, result)
	l.talk.Messages = append(l.talk.Messages,
		model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Name, Result: []byte(result)})
	return l.to.Send(schemas.EventToolResult, schemas.ToolResult{ToolCallID: call.ID, Result: result})
}

func (l *loop) sendUsage(include []string) error {
	if !slices.Contains(include, schemas.EventUsage) {
		return nil
	}
	return l.to.Send(schemas.EventUsage, l.usage)
}
