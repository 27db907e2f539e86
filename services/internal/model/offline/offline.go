// Package offline is a planner that needs no language model: it links the words of a plain English question to arrays,
// fields and values of the estate, see [plan.Propose].
package offline

import (
	"context"
	"errors"
	"iter"
	"strings"

	"cairn/services/internal/model"
	"cairn/services/internal/model/plan"
)

// New returns the planner. It is safe for concurrent use and needs no closing.
func New() model.Model { return planner{} }

type planner struct{}

var errQuestion = errors.New("the offline planner only plans questions")

// Name is "offline:".
func (planner) Name() string { return "offline:" }

// Profile has a window that no conversation exceeds. Answers are stated.
func (planner) Profile(context.Context) (model.Profile, error) {
	return model.Profile{Window: 1 << 30, Plan: model.PlanSchema, Answers: model.AnswersStated}, nil
}

// Check always returns nil: the planner has no dependencies.
func (planner) Check(context.Context) error { return nil }

// Next yields the plan of the question as JSON. Tokens are words.
func (planner) Next(ctx context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if c.Question == nil {
			yield(model.Part{}, errQuestion)
			return
		}
		text := string(plan.Propose(c.Question).JSON())
		if err := ctx.Err(); err != nil { // a plan of a canceled context is incomplete
			yield(model.Part{}, err)
			return
		}
		usage := model.Usage{PromptTokens: len(strings.Fields(c.Question.Text)), AnswerTokens: len(strings.Fields(text))}
		if yield(model.Part{Text: text}, nil) {
			yield(model.Part{Usage: &usage}, nil)
		}
	}
}
