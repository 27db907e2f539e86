package eval

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	second := 1 / math.Log2(3)
	for _, row := range []struct {
		name, gold, results string
		want                metrics
	}{
		{"the skill at rank 1", "a", "a b c", metrics{1, 1, 1, 1}},
		{"the skill at rank 2", "a", "b a", metrics{0, 1, second, 1}},
		{"the skill at rank 6", "a", "b c d e f a", metrics{0, 0, 1 / math.Log2(7), 0}},
		{"the skill at rank 11", "a", "b c d e f g h i j k a", metrics{0, 0, 0, 0}},
		{"two skills at ranks 1 and 2", "a b", "b a c", metrics{0.5, 1, 1, 1}},
		{"one of two skills", "a b", "b c", metrics{0.5, 0.5, 1 / (1 + second), 0}},
		{"nothing comes", "a", "", metrics{0, 0, 0, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			gold := map[string]bool{}
			for _, id := range strings.Fields(row.gold) {
				gold[id] = true
			}
			got := newMetrics(gold, strings.Fields(row.results))
			if diff := cmp.Diff(row.want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFigures checks the mean and the margin of 95 %: the standard error of 1, 0, 0 and 0
// is 0.25.
func TestFigures(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		queries []metrics
		want    figures
	}{
		{"no queries", nil, figures{}},
		{"one query", []metrics{{1, 1, 1, 0}}, figures{Queries: 1, metrics: metrics{1, 1, 1, 0}}},
		{"four queries", []metrics{{1, 1, 0.5, 1}, {0, 1, 0.5, 0}, {0, 1, 0.5, 0}, {0, 1, 0.5, 0}},
			figures{4, metrics{0.25, 1, 0.5, 0.25}, metrics{0.49, 0, 0, 0.49}}},
	} {
		got := newFigures(row.queries)
		if diff := cmp.Diff(row.want, got, cmpopts.EquateApprox(0, 1e-12), cmp.AllowUnexported(figures{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i+1) * time.Millisecond
	}
	for _, row := range []struct {
		list  []time.Duration
		share float64
		want  float64
	}{{hundred, 0.5, 50}, {hundred, 0.95, 95}, {hundred[:1], 0.95, 1}, {nil, 0.5, 0}} {
		if got := percentile(row.list, row.share); got != row.want {
			t.Errorf("%v of %d: %v ms; want %v", row.share, len(row.list), got, row.want)
		}
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	before := figures{Queries: 100, metrics: metrics{0.5, 0.6, 0.7, 0.8}, Margin: metrics{0.03, 0, 0, 0.1}}
	now := figures{Queries: 100, metrics: metrics{0.75, 0.6, 0.6, 0.8}, Margin: metrics{0.04, 0, 0.02, 0}}
	want := figures{Queries: 100, metrics: metrics{0.25, 0, -0.1, 0}, Margin: metrics{0.05, 0, 0.02, 0.1}}
	if diff := cmp.Diff(want, before.difference(now), cmp.AllowUnexported(figures{}),
		cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := now.cells("hybrid", "%+.4f")[1]; got != "+0.7500" {
		t.Errorf("got %q, want a sign", got)
	}
}
