package load

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"
)

// Difference is one figure of an operation in two results.
type Difference struct {
	Operation string
	Figure    string
	Before    float64
	After     float64
	// Verdict is better or worse when the difference is significant, "~" when it is
	// not, "?" when there are too few samples, and "" for figures at different rates
	// of a search for the highest rate.
	Verdict string
}

// Verdicts.
const (
	Better    = "better"
	Worse     = "worse"
	Same      = "~"
	Unclear   = "?"
	NoVerdict = ""
)

const (
	// minSlots is the minimum number of slots for a verdict.
	minSlots = 5
	// significance is the significance level of a verdict.
	significance = 0.01
	// minEffect is the largest relative difference that never counts as significant: runs
	// vary more than the slots within one.
	minEffect = 0.05
)

// figure is a value to compare, in the whole run and per slot.
type figure struct {
	name     string
	whole    func(*Measured) float64
	slot     func(*Slot) float64
	larger   bool // whether larger is better
	minCount int  // minimum number of latencies in a slot
}

var figures = []figure{
	{"rate /s", (*Measured).Rate, func(s *Slot) float64 { return float64(s.Count-s.Errors) / s.Length }, true, 0},
	{"errors %", func(m *Measured) float64 { return 100 * m.FailedShare() },
		func(s *Slot) float64 { return 100 * float64(s.Errors) / float64(max(s.Count, 1)) }, false, 0},
	latencyFigure("p50 ms", 50, 2),
	latencyFigure("p90 ms", 90, 10),
	latencyFigure("p99 ms", 99, 50),
	latencyFigure("p99.9 ms", 99.9, 500),
}

func latencyFigure(name string, percent float64, minCount int) figure {
	whole := func(m *Measured) float64 { return m.Latency.At(percent) }
	ofSlot := func(s *Slot) float64 { return s.Latency.At(percent) }
	return figure{name, whole, ofSlot, false, minCount}
}

// Compare returns the figures of all operations of two results, in order. A difference
// is significant by a Mann-Whitney test over the slots and above 5 %; variation between
// runs on the same machine is not accounted for. Results of different loads are an
// error, except for their times; results of a search for the highest rate may differ
// in the rate, and then only the rate is judged.
func Compare(before, after *Result) ([]Difference, error) {
	if err := sameLoad(before, after); err != nil {
		return nil, err
	}
	differentRates := math.Abs(after.Rate-before.Rate) > minEffect*max(before.Rate, after.Rate)
	var list []Difference
	for i, b := range before.Operations {
		a := after.Operations[i]
		for n, f := range figures {
			d := Difference{b.Operation, f.name, f.whole(b), f.whole(a), NoVerdict}
			if n == 0 || !differentRates {
				d.Verdict = f.verdict(b, a)
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// sameLoad returns an error that names the differences between the loads; nil: none.
// Fields that an older file lacks are ignored.
func sameLoad(before, after *Result) error {
	var list []string
	differ := func(what string, b, a any) { list = append(list, fmt.Sprintf("%s: %v and %v", what, b, a)) }
	if !slices.EqualFunc(before.Operations, after.Operations, sameShare) {
		differ("operations", before.mix(), after.mix())
	}
	if b, a := before.planned(), after.planned(); b != a {
		differ("rate", b, a)
	}
	if before.Connections != after.Connections {
		differ("connections", before.Connections, after.Connections)
	}
	if b, a := before.Records, after.Records; b != a && b > 0 && a > 0 {
		differ("records", b, a)
	}
	if len(list) == 0 {
		return nil
	}
	return errors.New("results of different loads are not comparable: " + strings.Join(list, "; "))
}

func sameShare(b, a *Measured) bool {
	return b.Operation == a.Operation && (b.Share == a.Share || b.Share == 0 || a.Share == 0)
}

func (f figure) verdict(before, after *Measured) string {
	b, a := f.samples(before), f.samples(after)
	if len(b) < minSlots || len(a) < minSlots {
		return Unclear
	}
	was, is := f.whole(before), f.whole(after)
	test, err := stats.MannWhitneyUTest(b, a, stats.LocationDiffers)
	if err != nil || test.P >= significance || math.Abs(is-was) <= minEffect*max(was, is) {
		return Same // the test fails when all samples are equal
	}
	if (is > was) == f.larger {
		return Better
	}
	return Worse
}

// samples returns the figure for each complete slot with enough latencies.
func (f figure) samples(m *Measured) (list []float64) {
	for _, s := range m.Slots {
		if s.At+s.Length <= m.Seconds+1e-9 && s.Count > 0 && s.Latency.Count() >= f.minCount {
			list = append(list, f.slot(s))
		}
	}
	return list
}
