// Package offline is a model without a language model: fixed rules turn a plain
// English question into calls of the two tools, and their results into words.
// It reads the estate for the names of arrays and fields and for the values in
// their columns; every figure it gives comes from a tool's result. What it does
// not understand it refuses. A question goes through the files in this order:
//
//	words                   cuts it; lexicon has the words that the rules know
//	vocabulary              the names that it may speak of, and bounds on the work
//	grammar                 its shape: what kind of answer, which words ask for it
//	names, values, numbers  matches: what its words may mean in an array, scored
//	reading                 the matches that explain it best, of the best array
//	conditions              a match that narrows the records, as a filter
//	plan, followup          what to compute, for one question or after another
//	doubts                  why that would not be safe: then it is refused
//	calls                   the tool calls of a plan
//	answer                  what their results mean, in Markdown with escaped values
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

// Window is more than any conversation takes: the planner forgets nothing.
func (planner) Window(context.Context) (int, error) { return 1 << 30, nil }

// Check is always nil: the planner needs nothing.
func (planner) Check(context.Context) error { return nil }

// Next yields the next tool call, or the answer once the conversation holds
// the results.
func (planner) Next(ctx context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Part{}, err)
			return
		}
		call, text := next(ctx, c)
		if err := ctx.Err(); err != nil { // the plan is not complete
			yield(model.Part{}, err)
			return
		}
		if call != nil {
			if yield(model.Part{Call: call}, nil) {
				yield(model.Part{Usage: usage(c, string(call.Input))}, nil)
			}
			return
		}
		for _, piece := range strings.SplitAfter(text, " ") {
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

// next decides between a call and the answer. What it returns when ctx ends is
// of no use.
func next(ctx context.Context, c model.Conversation) (*model.Call, string) {
	asked, seen, results := lastTurn(c.Messages)
	if len(asked) == 0 || c.Estate == nil {
		return nil, "There is no question, or no data to ask about."
	}
	arrays := openArrays(ctx, c.Estate)
	if len(arrays) == 0 {
		return nil, "The data holds no arrays of records."
	}
	p := planTurn(asked[max(0, len(asked)-maxQuestions):], arrays, seen)
	calls := p.calls(arrays)
	if len(results) == len(calls) {
		return nil, p.answer(arrays, results)
	}
	next := calls[len(results)]
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(next.input); err != nil {
		return nil, "The question could not be planned."
	}
	id := fmt.Sprintf("%s_%d_%d", next.tool, len(asked), len(results)+1)
	return &model.Call{ID: id, Name: next.tool, Input: bytes.TrimSpace(b.Bytes())}, ""
}

// lastTurn gives the user's questions, oldest first, and what came after the
// last of them: the array that was inspected, and all results.
func lastTurn(ms []model.Message) (asked []string, seen string, results []json.RawMessage) {
	for _, m := range ms {
		switch m.Role {
		case model.User:
			asked, seen, results = append(asked, m.Text), "", nil
		case model.Assistant:
			for _, call := range m.Calls {
				var in input
				if call.Name == inspectSchema && json.Unmarshal(call.Input, &in) == nil {
					seen = in.DataKey
				}
			}
		case model.ToolRole:
			results = append(results, m.Result)
		}
	}
	return asked, seen, results
}

// usage counts words: the planner has no tokens of its own.
func usage(c model.Conversation, out string) *model.Usage {
	n := len(strings.Fields(c.Rules))
	for _, m := range c.Messages {
		n += len(strings.Fields(m.Text))
	}
	return &model.Usage{PromptTokens: n, AnswerTokens: len(strings.Fields(out))}
}
