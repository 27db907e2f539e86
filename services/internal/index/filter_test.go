package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
)

const (
	manyRows   = 2 * checkInterval
	manyValues = 64 // of a row, and of a filter
)

// TestFilterCost: the cost of a filter does not depend on the number of values of a row.
func TestFilterCost(t *testing.T) {
	t.Parallel()
	ix := manyAttributes(t)
	present, absent := numbered("a"), numbered("z")
	for _, row := range []struct {
		name     string
		filter   Filter
		most     int // steps per row
		selected int
	}{
		{"absent capabilities", Filter{Capabilities: absent}, 1, 0},
		{"one of absent capabilities", Filter{Any: Any{Capabilities: absent}}, 1, 0},
		{"one of absent labels", Filter{Any: Any{Labels: [][]string{absent, absent}}}, 1, 0},
		{"capabilities of each row", Filter{Capabilities: present}, manyValues + 1, manyRows},
		{"one of the capabilities of each row", Filter{Any: Any{Capabilities: present}}, manyValues + 1, manyRows},
		{"absent names", Filter{Any: Any{Names: absent}}, 2, 0},
		{"names", Filter{Any: Any{Names: append(absent, "NAME")}}, 2, manyRows},
	} {
		ctx := &canceledAfter{Context: t.Context(), limit: -1}
		hidden, err := ix.pools[poolKey{kind: "skill"}].hidden(ctx, row.filter)
		if err != nil {
			t.Fatal(err)
		}
		selected := 0
		for _, h := range hidden {
			if !h {
				selected++
			}
		}
		if steps := int(ctx.checks.Load()) * checkInterval; selected != row.selected || steps < manyRows ||
			steps > row.most*manyRows {
			t.Errorf("%s: got %d rows in %d steps, want %d rows in %d to %d steps",
				row.name, selected, steps, row.selected, manyRows, row.most*manyRows)
		}
	}
}

// TestCanceledSearches: a search returns an error wherever it is canceled.
func TestCanceledSearches(t *testing.T) {
	t.Parallel()
	ix := manyAttributes(t)
	query := Query{Kind: "skill", Text: "alpha", TopK: 5, By: Text,
		Filter: Filter{Domain: "d", Capabilities: numbered("a")}}
	complete := &canceledAfter{Context: t.Context(), limit: -1}
	if got, err := ix.Search(complete, query); err != nil || len(got.Hits) != query.TopK {
		t.Fatalf("got %+v, %v, want %d hits", got, err, query.TopK)
	}
	checks := complete.checks.Load()
	if least := int64(manyValues * manyRows / checkInterval); checks < least {
		t.Errorf("a search checked its context %d times, want at least %d", checks, least)
	}
	for n := range checks {
		if got, err := ix.Search(&canceledAfter{Context: t.Context(), limit: n}, query); !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled after %d of %d checks: got %+v, %v", n, checks, got, err)
		}
	}
}

// TestRepeatedValues: a row with a value several times, and a filter that repeats it.
func TestRepeatedValues(t *testing.T) {
	t.Parallel()
	ix := newEmbedded(vectorless{})
	var changes []Change
	for i, capabilities := range [][]string{{"a", "a", "b"}, {"b", "b"}, {"b", "a"}} {
		changes = append(changes, Change{Revision: 1, Document: Document{
			Kind: "skill", ID: fmt.Sprint(i), Title: "alpha", Labels: []string{"a"}, Capabilities: capabilities,
		}})
	}
	if err := ix.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		filter Filter
		want   []bool
	}{
		{Filter{Capabilities: []string{"a", "a"}}, []bool{true, false, true}},
		{Filter{Capabilities: []string{"b", "a", "b"}}, []bool{true, false, true}},
		{Filter{Any: Any{Capabilities: []string{"a", "b", "a"}}}, []bool{true, true, true}},
		{Filter{Labels: []string{"b"}}, []bool{false, false, false}},
	} {
		hidden, err := ix.pools[poolKey{kind: "skill"}].hidden(t.Context(), row.filter)
		for i := range hidden {
			hidden[i] = !hidden[i]
		}
		if err != nil || !slices.Equal(hidden, row.want) {
			t.Errorf("%+v: got %v, %v, want %v", row.filter, hidden, err, row.want)
		}
	}
}

// manyAttributes returns an index of manyRows skills with manyValues capabilities each.
func manyAttributes(t *testing.T) *embedded {
	t.Helper()
	ix, capabilities := newEmbedded(vectorless{}), numbered("a")
	changes := make([]Change, manyRows)
	for i := range changes {
		changes[i] = Change{Revision: 1, Document: Document{
			Kind: "skill", ID: fmt.Sprint(i), Title: "alpha", Name: "Name", Domain: "d", Capabilities: capabilities,
		}}
	}
	if err := ix.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	return ix
}

// numbered returns manyValues values.
func numbered(prefix string) (values []string) {
	for i := range manyValues {
		values = append(values, fmt.Sprint(prefix, i))
	}
	return values
}

// canceledAfter is a context that is canceled after limit checks, or never if limit is negative.
type canceledAfter struct {
	context.Context
	limit  int64
	checks atomic.Int64
}

func (c *canceledAfter) Err() error {
	if n := c.checks.Add(1); c.limit >= 0 && n > c.limit {
		return context.Canceled
	}
	return c.Context.Err()
}
