// Package offline is a planner that needs no language model. It links the words of a plain
// English question to arrays, fields and values of the estate, and makes a plan of the
// interpretation that explains the most: a typed computation, as calls of the two tools.
// Every figure of an answer comes from their results, and every answer ends with the
// interpretation of the question. A question with an unmatched word, or with two similarly
// good interpretations of different results, is declined. The files in the order of processing:
//
//	words       split a question into words; lexicon lists known words
//	parse       the shape of a question: operation, roles of its words, comparisons
//	link        links of words to names and values
//	reading     the best links, for the best array
//	conditions  links and comparisons as conditions on the records
//	plan        the computation and its tool calls; followup modifies an earlier plan
//	decline     reasons to decline a question, and suggested questions
//	answer      the results as Markdown with escaped values, in the words of answers.tmpl
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

// New returns the planner. It is safe for concurrent use and needs no closing. similar relates words of a question to names that no rule
// relates to them; it may be nil.
func New(similar Similar) model.Model { return planner{similar} }

type planner struct{ similar Similar }

// Name is "offline:".
func (planner) Name() string { return "offline:" }

// Profile has a window that no conversation exceeds: the planner has no limit.
func (planner) Profile(context.Context) (model.Profile, error) {
	return model.Profile{Window: 1 << 30, Plan: model.PlanTools, Answers: model.AnswersForwarded}, nil
}

// Check always returns nil: the planner has no dependencies.
func (planner) Check(context.Context) error { return nil }

// Next yields the next tool call or, once the conversation has all results, the answer.
func (p planner) Next(ctx context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		call, text, suggestions := p.next(ctx, c)
		var parts []model.Part
		if call != nil {
			parts, text = append(parts, model.Part{Call: call}), string(call.Input)
		} else {
			for piece := range strings.SplitAfterSeq(text, " ") {
				parts = append(parts, model.Part{Text: piece})
			}
		}
		if len(suggestions) > 0 {
			parts = append(parts, model.Part{Suggestions: suggestions})
		}
		for _, part := range append(parts, model.Part{Usage: usage(c, text)}) {
			if err := ctx.Err(); err != nil { // the plan of a canceled context is incomplete
				yield(model.Part{}, err)
				return
			}
			if !yield(part, nil) {
				return
			}
		}
	}
}

// next returns a call or the answer, with the questions that it suggests. The result is invalid if ctx is done.
func (p planner) next(ctx context.Context, c model.Conversation) (call *model.Call, text string, suggestions []string) {
	questions, results := lastTurn(c.Messages)
	if len(questions) == 0 || c.Estate == nil {
		return nil, "There is no question, or no data to ask about.", nil
	}
	s := p.state(ctx, c, questions)
	if len(s.arrays) == 0 {
		return nil, "The estate contains no arrays of records.", nil
	}
	calls := s.plan.calls(s.arrays)
	if len(results) == len(calls) {
		text, suggestions = formatAnswer(s.plan, s.arrays, results)
		return nil, text, suggestions
	}
	next := calls[len(results)]
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(next.input) // strings and valid JSON
	id := fmt.Sprintf("%s_%d_%d", next.tool, len(questions), len(results)+1)
	return &model.Call{ID: id, Name: next.tool, Input: bytes.TrimSpace(b.Bytes())}, "", nil
}

// state is what the planner keeps in a conversation, so that it plans a question once and not before each call.
type state struct {
	questions int // number of questions that were planned
	arrays    []*array
	plan      plan
}

// state returns the state of the conversation for the last question.
func (p planner) state(ctx context.Context, c model.Conversation, questions []string) state {
	if c.State != nil {
		if s, ok := (*c.State).(state); ok && s.questions == len(questions) {
			return s
		}
	}
	s := state{questions: len(questions), arrays: openArrays(ctx, c.Estate)}
	if len(s.arrays) > 0 {
		s.plan = planTurn(questions[max(0, len(questions)-maxQuestions):], s.arrays, p.similar)
	}
	if c.State != nil && ctx.Err() == nil { // the plan of a canceled context is incomplete
		*c.State = s
	}
	return s
}

// lastTurn returns the user's questions, oldest first, and the results of the last turn.
func lastTurn(ms []model.Message) (questions []string, results []json.RawMessage) {
	for _, m := range ms {
		switch m.Role {
		case model.User:
			questions, results = append(questions, m.Text), nil
		case model.ToolRole:
			results = append(results, m.Result)
		}
	}
	return questions, results
}

// usage counts words as tokens.
func usage(c model.Conversation, out string) *model.Usage {
	n := len(strings.Fields(c.Rules))
	for _, m := range c.Messages {
		n += len(strings.Fields(m.Text))
	}
	return &model.Usage{PromptTokens: n, AnswerTokens: len(strings.Fields(out))}
}
