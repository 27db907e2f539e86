package offline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/services/internal/estate"
	"cairn/services/internal/model"
	"cairn/services/internal/model/offline"
)

// wide returns an estate of arrays with many fields, all of whose names begin with site.
func wide(t *testing.T, arrays, fields int) *estate.Estate {
	t.Helper()
	var b strings.Builder
	for a := range arrays {
		fmt.Fprintf(&b, `,"hosts%d":[{"name":"h"`, a)
		for f := range fields {
			fmt.Fprintf(&b, `,"site_f%dx%d":"Oslo"`, a, f)
		}
		b.WriteString("}]")
	}
	e, err := estate.Read(t.Context(), []byte("{"+b.String()[1:]+"}"))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// plan returns the planner's first message for a question.
func plan(ctx context.Context, e *estate.Estate, questions ...string) (text string, err error) {
	c := model.Conversation{Estate: e}
	for _, q := range questions {
		c.Messages = append(c.Messages, model.Message{Role: model.User, Text: q})
	}
	for part, err := range offline.New(nil).Next(ctx, c) {
		if err != nil {
			return text, err
		}
		text += part.Text
	}
	return text, nil
}

// TestPlanningLimits: each row took minutes when planning compared all matches pairwise.
func TestPlanningLimits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, say      string
		arrays, fields int
		questions      []string
	}{
		{"a question of 90 KB", "too long", 1, 40, []string{"how many hosts in " + strings.Repeat("site ", 18_000)}},
		{"a repeated word that matches many fields", "", 20, 400, []string{"how many hosts in " + strings.Repeat("site Oslo ", 120)}},
		{"many follow-ups", "", 5, 400, strings.Split(strings.Repeat("and by site Oslo?\n", 199)+"and in Bergen?", "\n")},
		{"a repeated date", "", 5, 400, []string{"how many hosts of site " + strings.Repeat("in 2023 ", 100)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // takes about a second
			defer cancel()
			text, err := plan(ctx, wide(t, row.arrays, row.fields), row.questions...)
			if err != nil || !strings.Contains(text, row.say) {
				t.Errorf("got %.200q, %v, want %q", text, err, row.say)
			}
		})
	}
}

// expiring is a context that is canceled after a number of calls of Err.
type expiring struct {
	context.Context
	reads, most *atomic.Int64
}

func (e expiring) Err() error {
	if e.reads.Add(1) > e.most.Load() {
		return context.Canceled
	}
	return nil
}

// TestPlanningScales checks that planning is at most linear in the words of the question and in
// the estate: twice as much input takes at most twice as many steps, of which each checks the
// context, and memory. It does not run in parallel, because it counts allocated bytes.
func TestPlanningScales(t *testing.T) {
	const slack = 1.2
	type work struct{ steps, bytes float64 }
	measure := func(arrays, fields, words int, phrase string) work {
		e := wide(t, arrays, fields)
		question := "how many hosts in " + strings.Repeat(phrase, words/4)
		var steps atomic.Int64
		most := new(atomic.Int64)
		most.Store(math.MaxInt64)
		const plans = 4
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range plans {
			if _, err := plan(expiring{t.Context(), &steps, most}, e, question); err != nil {
				t.Error(err)
			}
		}
		runtime.ReadMemStats(&after)
		return work{float64(steps.Load()) / plans, float64(after.TotalAlloc-before.TotalAlloc) / plans}
	}
	const known, unknown = "site Oslo rack zone ", "rack zone floor room "
	base := measure(10, 200, 120, known)
	if base.steps < 10*200 {
		t.Errorf("planning checked its context %.0f times, want at least once per field", base.steps)
	}
	for name, works := range map[string][2]work{
		"the question": {base, measure(10, 200, 240, known)}, "the arrays": {base, measure(20, 200, 120, known)},
		"the fields":        {base, measure(10, 400, 120, known)},
		"the unknown words": {measure(1, 10, 120, unknown), measure(1, 10, 240, unknown)},
	} {
		if once, twice := works[0], works[1]; twice.steps > 2*slack*once.steps || twice.bytes > 2*slack*once.bytes {
			t.Errorf("twice %s: %.0f steps and %.0f bytes, want at most twice %.0f and %.0f",
				name, twice.steps, twice.bytes, once.steps, once.bytes)
		}
	}
}

// TestPlanningCancellation cancels planning at each check of its context.
func TestPlanningCancellation(t *testing.T) {
	t.Parallel()
	const fields = 400
	e := wide(t, 2, fields)
	for most := int64(0); ; most += 1 + most/4 {
		ctx := expiring{t.Context(), new(atomic.Int64), new(atomic.Int64)}
		ctx.most.Store(most)
		_, err := plan(ctx, e, "how many hosts in site Oslo?")
		if err == nil {
			if most < 4*fields {
				t.Errorf("planning checked its context %d times, want at least %d", most, 4*fields)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want %v", err, context.Canceled)
		}
	}
}
