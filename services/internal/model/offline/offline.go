// Package offline is a model without a language model: a planner that turns
// plain English questions into calls of the two tools, by fixed rules, and
// says what their results mean. It reads the estate for the names of arrays,
// fields and values only; every figure it gives comes from a tool's result in
// the conversation. What it does not understand it refuses.
package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"cairn/services/internal/model"
)

// New returns the planner. It may be used concurrently and needs no closing.
func New() model.Model { return planner{} }

type planner struct{}

// Name is "offline:".
func (planner) Name() string { return "offline:" }

// Check is always nil: the planner needs nothing.
func (planner) Check(context.Context) error { return nil }

// Next yields the next tool call, or the answer once the conversation holds
// the result.
func (planner) Next(ctx context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Part{}, err)
			return
		}
		call, text := next(c)
		if call != nil {
			if yield(model.Part{Call: call}, nil) {
				yield(model.Part{Usage: usage(c, string(call.Input))}, nil)
			}
			return
		}
		for _, piece := range pieces(text) {
			if err := ctx.Err(); err != nil {
				yield(model.Part{}, err)
				return
			}
			if !yield(model.Part{Text: piece}, nil) {
				return
			}
		}
		yield(model.Part{Usage: usage(c, text)}, nil)
	}
}

// next decides between a call and the answer.
func next(c model.Conversation) (*model.Call, string) {
	asked, results := lastTurn(c.Messages)
	if len(asked) == 0 || c.Estate == nil {
		return nil, "There is no question, or no data to ask about."
	}
	arrays := openArrays(c.Estate)
	if len(arrays) == 0 {
		return nil, "The data holds no arrays of records."
	}
	look := firstLook(tokenize(asked[len(asked)-1]), arrays)
	if look != nil {
		if len(results) == 0 {
			return makeCall(asked, results, step{inspectSchema, inspectInput{look.key}})
		}
	}
	p := planTurn(asked, arrays)
	if look != nil && (p.intent != fields || p.array != look) {
		results = results[1:] // of the first look
	}
	steps := p.steps(arrays)
	if len(results) < len(steps) {
		return makeCall(asked, results, steps[len(results)])
	}
	return nil, p.text(arrays, results)
}

func makeCall(asked []string, results []json.RawMessage, s step) (*model.Call, string) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.input); err != nil {
		return nil, "The question could not be planned."
	}
	id := fmt.Sprintf("%s_%d_%d", s.tool, len(asked), len(results)+1)
	return &model.Call{ID: id, Name: s.tool, Input: bytes.TrimSpace(b.Bytes())}, ""
}

// lastTurn gives the user's questions, oldest first, and the results that
// came after the last of them.
func lastTurn(ms []model.Message) (asked []string, results []json.RawMessage) {
	for _, m := range ms {
		switch m.Role {
		case model.User:
			asked = append(asked, m.Text)
			results = nil
		case model.ToolRole:
			results = append(results, m.Result)
		}
	}
	return asked, results
}

// pieces cuts a text after its spaces, so that joined they are the text.
func pieces(text string) []string { return strings.SplitAfter(text, " ") }

// usage counts words: the planner has no tokens of its own.
func usage(c model.Conversation, out string) *model.Usage {
	n := len(strings.Fields(c.Rules))
	for _, m := range c.Messages {
		n += len(strings.Fields(m.Text))
	}
	return &model.Usage{PromptTokens: n, AnswerTokens: len(strings.Fields(out))}
}
