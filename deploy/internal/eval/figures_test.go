package eval

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFigures(t *testing.T) {
	t.Parallel()
	second := 1 / math.Log2(3)
	for _, row := range []struct {
		name, gold, found string
		want              figures
	}{
		{"the skill comes first", "a", "a b c", figures{1, 1, 1, 1, 1}},
		{"the skill comes second", "a", "b a", figures{1, 0, 1, second, 1}},
		{"the skill comes sixth", "a", "b c d e f a", figures{1, 0, 0, 1 / math.Log2(7), 0}},
		{"the skill comes eleventh", "a", "b c d e f g h i j k a", figures{1, 0, 0, 0, 0}},
		{"two skills come first", "a b", "b a c", figures{1, 0.5, 1, 1, 1}},
		{"one of two skills comes", "a b", "b c", figures{1, 0.5, 0.5, 1 / (1 + second), 0}},
		{"nothing comes", "a", "", figures{1, 0, 0, 0, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			gold := map[string]bool{}
			for _, id := range strings.Fields(row.gold) {
				gold[id] = true
			}
			var got figures
			got.add(gold, strings.Fields(row.found))
			if diff := cmp.Diff(row.want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
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
