package load

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

// Difference is a figure of an operation in two results.
type Difference struct {
	Operation string
	Figure    string
	Before    float64
	After     float64
	// Verdict is better or worse when the difference is beyond noise, "~" when it
	// is not, and "?" when there is too little to tell.
	Verdict string
}

// The verdicts.
const (
	Better  = "better"
	Worse   = "worse"
	Same    = "~"
	Unclear = "?"
)

const (
	// leastSlots is how many slots tell something.
	leastSlots = 5
	// doubt is the probability with which chance alone makes such a difference,
	// below which it is beyond noise.
	doubt = 0.01
	// small is the relative difference that is never beyond noise: runs differ by
	// more than what varies within each.
	small = 0.05
)

// figure is something to compare: of the whole, and of a slot.
type figure struct {
	name   string
	whole  func(*Measured) float64
	slot   func(*Slot) float64
	larger bool // is better
	least  int  // latencies in a slot that it takes to tell
}

var figures = []figure{
	{"rate /s", (*Measured).Rate, func(s *Slot) float64 { return float64(s.Count-s.Errors) / s.Length }, true, 0},
	{"errors %", func(m *Measured) float64 { return 100 * m.FailedShare() },
		func(s *Slot) float64 { return 100 * float64(s.Errors) / float64(max(s.Count, 1)) }, false, 0},
	percentile("p50 ms", 50, 2),
	percentile("p90 ms", 90, 10),
	percentile("p99 ms", 99, 50),
	percentile("p99.9 ms", 99.9, 500),
}

func percentile(name string, percent float64, least int) figure {
	return figure{name, func(m *Measured) float64 { return m.Latency.At(percent) }, func(s *Slot) float64 { return s.Latency.At(percent) }, false, least}
}

// Compare is the figures of the operations that both results have, in their
// order. Beyond noise is what a Mann-Whitney test over the slots says is no
// chance, and what is more than 5%; it knows nothing of what differs from one
// run to the next on the same machine.
func Compare(before, after *Result) []Difference {
	var list []Difference
	for _, b := range before.Operations {
		for _, a := range after.Operations {
			if a.Operation != b.Operation {
				continue
			}
			for _, f := range figures {
				list = append(list, Difference{b.Operation, f.name, f.whole(b), f.whole(a), f.verdict(b, a)})
			}
		}
	}
	return list
}

func (f figure) verdict(before, after *Measured) string {
	b, a := f.samples(before), f.samples(after)
	if len(b) < leastSlots || len(a) < leastSlots {
		return Unclear
	}
	was, is := f.whole(before), f.whole(after)
	test, err := stats.MannWhitneyUTest(b, a, stats.LocationDiffers)
	if err != nil || test.P >= doubt || math.Abs(is-was) <= small*max(was, is) {
		return Same // an error says that all are equal
	}
	if (is > was) == f.larger {
		return Better
	}
	return Worse
}

// samples are the figure in each slot that is whole and has enough to tell.
func (f figure) samples(m *Measured) (list []float64) {
	for _, s := range m.Slots {
		if s.At+s.Length <= m.Seconds+1e-9 && s.Count > 0 && s.Latency.Count() >= f.least {
			list = append(list, f.slot(s))
		}
	}
	return list
}
