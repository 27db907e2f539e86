// Package bench measures Cairn as its users meet it: the built binary, over
// HTTP, each time beside what the same work costs without it. Both sides are
// asked in turns by one load generator, so that a busy machine slows both; the
// ratios are medians over the turns, and say more than the times.
package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cairn/test/cairntest"
)

// leastTurns is how often each side is asked at least; odd, for the median.
const leastTurns = 9

// turns is how often each side is asked: more with -benchtime 25x.
func turns(b *testing.B) int { return max(leastTurns, b.N) }

func TestMain(m *testing.M) {
	if name := os.Getenv(rivalVariable); name != "" {
		os.Exit(runRival(name))
	}
	os.Exit(cairntest.Main(m))
}

// evaluation is the path of a file of the evaluation data.
func evaluation(b *testing.B, name ...string) string {
	b.Helper()
	folder := os.Getenv("CAIRN_EVAL")
	if folder == "" {
		b.Skip("CAIRN_EVAL names no folder of evaluation data")
	}
	return filepath.Join(append([]string{folder}, name...)...)
}

// must ends the benchmark on an error of its own preparations.
func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// report is the medians of both sides, and of their ratio turn by turn.
func report(b *testing.B, unit string, cairn, rival []float64) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // says nothing here
	b.ReportMetric(median(cairn), "cairn-"+unit)
	b.ReportMetric(median(rival), "rival-"+unit)
	b.ReportMetric(median(ratios(cairn, rival)), unit+"-ratio")
}

// ratios are those of the sides, turn by turn.
func ratios(one, other []float64) []float64 {
	list := make([]float64, len(one))
	for i := range one {
		list[i] = one[i] / other[i]
	}
	return list
}
