// Package bench measures the built binary over HTTP, side by side with a baseline for the
// same work. One load generator alternates between both sides, so that other load on the
// machine affects both. The ratios are medians over the rounds and are more meaningful than
// the absolute times.
package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// minRounds is the minimum number of rounds; odd, for the median.
const minRounds = 9

// rounds returns the number of rounds; -benchtime 25x raises it.
func rounds(b *testing.B) int { return max(minRounds, b.N) }

func TestMain(m *testing.M) {
	if name := os.Getenv(baselineVariable); name != "" {
		os.Exit(runRival(name))
	}
	os.Exit(cairntest.Main(m))
}

// evaluation returns the path of a file of the evaluation data.
func evaluation(b *testing.B, name ...string) string {
	b.Helper()
	directory := os.Getenv("CAIRN_EVAL")
	if directory == "" {
		b.Skip("CAIRN_EVAL names no directory of evaluation data")
	}
	return filepath.Join(append([]string{directory}, name...)...)
}

// must fails the benchmark on an error of its setup.
func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// atMost reports a metric and fails if it exceeds its target or is not a number.
func atMost(b *testing.B, figure float64, unit string, target float64) {
	b.Helper()
	b.ReportMetric(figure, unit)
	if !(figure <= target) {
		b.Errorf("%s: %.4g; want at most %g", unit, figure, target)
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// report reports the medians of both sides and the median of their ratios.
func report(b *testing.B, unit string, cairn, baseline []float64) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // meaningless here
	b.ReportMetric(median(cairn), "cairn-"+unit)
	b.ReportMetric(median(baseline), "baseline-"+unit)
	b.ReportMetric(median(ratios(cairn, baseline)), unit+"-ratio")
}

// ratios returns the ratio of both sides for each round.
func ratios(cairn, baseline []float64) []float64 {
	list := make([]float64, len(cairn))
	for i := range cairn {
		list[i] = cairn[i] / baseline[i]
	}
	return list
}
