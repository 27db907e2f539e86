package offline_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/offline"
	"cairn/services/internal/model/plan"
)

const mills = `{"mills":[{"name":"Ost","river":"Aare"},{"name":"West","river":"Aare"},{"name":"Nord","river":"Reuss"}]}`

// conversation returns the conversation about a question, as package analyze makes it.
func conversation(t *testing.T, question string) model.Conversation {
	t.Helper()
	e, err := estate.Parse([]byte(mills))
	if err != nil {
		t.Fatal(err)
	}
	c := modeltest.Constrained()
	c.Messages[0].Text = question
	c.Question = plan.Ask(plan.New(t.Context(), e), question)
	return c
}

func TestModel(t *testing.T) {
	t.Parallel()
	m := offline.New()
	if got := m.Name(); got != "offline:" {
		t.Errorf("name %q", got)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	got, err := m.Profile(t.Context())
	if want := (model.Profile{Window: 1 << 30, Plan: model.PlanSchema, Answers: model.AnswersStated}); err != nil ||
		got != want {
		t.Errorf("profile %+v, %v, want %+v", got, err, want)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		question string
		want     plan.Plan
	}{
		{"how many mills are there?", plan.Plan{Calls: []plan.Call{{DataKey: "mills", Metric: "count"}}}},
		{"which river has the most mills?",
			plan.Plan{Calls: []plan.Call{{DataKey: "mills", GroupBy: "river", Metric: "count"}}}},
		{"give me an overview", plan.Plan{Overview: true}},
		{"how many mills are haunted?", plan.Plan{NotInData: `no array and field explains "haunted"`}},
		{"", plan.Plan{NotInData: "there is no question, or the data has no arrays of records"}},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			var parts []string
			text := ""
			for p, err := range offline.New().Next(t.Context(), conversation(t, row.question)) {
				switch {
				case err != nil:
					t.Fatal(err)
				case p.Usage != nil:
					parts = append(parts, "usage")
					if want := len(strings.Fields(row.question)); p.Usage.PromptTokens != want || p.Usage.AnswerTokens == 0 {
						t.Errorf("usage %+v, want %d words of the question", *p.Usage, want)
					}
				default:
					parts = append(parts, "text")
					text += p.Text
				}
			}
			if got := strings.Join(parts, ", "); got != "text, usage" {
				t.Errorf("parts %s, want text, usage", got)
			}
			got, err := plan.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNextErrors(t *testing.T) {
	t.Parallel()
	t.Run("a conversation without a question", func(t *testing.T) {
		t.Parallel()
		got, err := modeltest.Collect(t.Context(), offline.New(), modeltest.Constrained())
		modeltest.CheckError(t, err, nil, "only plans questions")
		if got.Text != "" || got.Usage != nil {
			t.Errorf("message %+v beside the error", got)
		}
	})
	t.Run("a canceled context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		c := conversation(t, "how many mills are there?")
		cancel()
		if got, err := modeltest.Collect(ctx, offline.New(), c); !errors.Is(err, context.Canceled) || got.Text != "" {
			t.Errorf("message %+v, error %v, want %v", got, err, context.Canceled)
		}
	})
	t.Run("breaking the loop ends it", func(t *testing.T) {
		t.Parallel()
		n := 0
		for _, err := range offline.New().Next(t.Context(), conversation(t, "how many mills are there?")) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d parts, want 1", n)
		}
	})
}

// TestConcurrentUse plans two questions at once with one model.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	m := offline.New()
	var wg sync.WaitGroup
	for _, question := range []string{"how many mills are there?", "how many mills are on the Aare?"} {
		c := conversation(t, question)
		wg.Go(func() {
			if got, err := modeltest.Collect(t.Context(), m, c); err != nil || !strings.Contains(got.Text, `"mills"`) {
				t.Errorf("message %+v, %v", got, err)
			}
		})
	}
	wg.Wait()
}
