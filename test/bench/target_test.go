package bench

import (
	"math"
	"testing"
)

// atMost reports a metric and fails if it exceeds its target or is not a number.
func atMost(b *testing.B, figure float64, unit string, target float64) {
	b.Helper()
	b.ReportMetric(figure, unit)
	if !(figure <= target) {
		b.Errorf("%s: %.4g; want at most %g", unit, figure, target)
	}
}

func TestTargets(t *testing.T) {
	for _, row := range []struct {
		name   string
		figure float64
		fails  bool
	}{
		{"below the target", 1, false},
		{"at the target", 2, false},
		{"past the target", 2.01, true},
		{"no number", math.NaN(), true},
	} {
		// A failed benchmark has an empty result.
		r := testing.Benchmark(func(b *testing.B) { atMost(b, row.figure, "recovery-s", 2) })
		if failed := r.N == 0; failed != row.fails {
			t.Errorf("%s: failed is %t", row.name, failed)
		}
	}
}
