// Package offline is a planner that needs no language model: rules translate a plain
// English question to calls of the two tools, and their results to text. It reads names of
// arrays and fields and the values of columns from the estate; every figure comes from a
// tool result. It refuses questions that it does not understand. The files in the order of
// processing:
//
//	words                   split a question into words; lexicon lists known words
//	vocabulary              the names that a question can match, and bounds on the work
//	grammar                 the shape of a question: intent, and the roles of its words
//	names, values, numbers  matches: scored interpretations of words for an array
//	reading                 the best matches, for the best array
//	conditions              matches as conditions on the records
//	plan, followup          the computation, for a question or a follow-up
//	doubts                  reasons to refuse a plan
//	calls                   the tool calls of a plan
//	answer                  the results as Markdown with escaped values
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

// New returns the planner. It is safe for concurrent use and needs no closing.
func New() model.Model { return planner{} }

type planner struct{}

// Name is "offline:".
func (planner) Name() string { return "offline:" }

// Window returns a size that no conversation exceeds: the planner has no limit.
func (planner) Window(context.Context) (int, error) { return 1 << 30, nil }

// Check always returns nil: the planner has no dependencies.
func (planner) Check(context.Context) error { return nil }

// Next yields the next tool call or, once the conversation has all results, the answer.
func (planner) Next(ctx context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Part{}, err)
			return
		}
		call, text := next(ctx, c)
		if err := ctx.Err(); err != nil { // the plan is incomplete
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

// next returns a call or the answer. The result is invalid if ctx is done.
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

// lastTurn returns the user's questions, oldest first, and of the last turn the array that
// was inspected and all results.
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

// usage counts words as tokens.
func usage(c model.Conversation, out string) *model.Usage {
	n := len(strings.Fields(c.Rules))
	for _, m := range c.Messages {
		n += len(strings.Fields(m.Text))
	}
	return &model.Usage{PromptTokens: n, AnswerTokens: len(strings.Fields(out))}
}
