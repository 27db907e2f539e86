package plan_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/services/internal/estate"
	"cairn/services/internal/model/plan"
)

const declined = "declined"

// parse returns the estate of a JSON text.
func parse(t testing.TB, text string) *estate.Estate {
	t.Helper()
	e, err := estate.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ask returns the question, linked to the estate.
func ask(t testing.TB, text, question string) *plan.Question {
	t.Helper()
	return plan.Ask(plan.New(t.Context(), parse(t, text)), question)
}

// planned returns the checked calls of the offline planner; none if it declines.
func planned(q *plan.Question) []plan.Call {
	p := plan.Propose(q)
	for i := range p.Calls {
		if len(plan.Check(q, &p.Calls[i])) > 0 {
			return nil
		}
	}
	return p.Calls
}

// stats returns the result of a call.
func stats(t testing.TB, e *estate.Estate, q *plan.Question, c plan.Call) estate.Stats {
	t.Helper()
	var query estate.Query
	if err := json.Unmarshal(plan.JSON(c.Query(q.Intent())), &query); err != nil {
		t.Fatalf("query of %+v: %v", c, err)
	}
	s, err := e.Stats(t.Context(), query)
	if err != nil {
		t.Fatalf("stats of %+v: %v", c, err)
	}
	return s
}

// figure returns the result of a call in short: its groups, its names, or its total.
func figure(s estate.Stats) string {
	var parts []string
	for _, g := range s.Groups {
		parts = append(parts, fmt.Sprintf("%s %s", g.Key, g.Value))
	}
	if len(parts) == 0 {
		for _, n := range s.Names {
			parts = append(parts, n.Name)
		}
	}
	if len(parts) == 0 {
		return s.Total.String()
	}
	return strings.Join(parts, ", ")
}

// call returns a call as JSON, without what is empty or a count. Its conditions are ordered by field.
func call(c plan.Call) string {
	short := map[string]any{"data_key": c.DataKey}
	if len(c.Filter) > 0 {
		short["filter"] = slices.SortedStableFunc(slices.Values(c.Filter), func(a, b plan.Condition) int {
			return cmp.Compare(a.Field, b.Field)
		})
	}
	if c.GroupBy != "" {
		short["group_by"] = c.GroupBy
	}
	if c.Metric != "count" {
		short["metric"] = c.Metric
	}
	return string(plan.JSON(short))
}
