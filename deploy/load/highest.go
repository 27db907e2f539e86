package load

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Bounds are what every operation must keep for a rate to be borne.
type Bounds struct {
	P99    time.Duration // that the latency of 99% may not exceed
	Errors float64       // share of the requests that may fail
	Step   time.Duration // how long each rate is tried
}

func (b Bounds) String() string { return fmt.Sprintf("p99 %v and %.2g%% errors", b.P99, 100*b.Errors) }

// Step is a rate that was tried.
type Step struct {
	Rate   float64 `json:"rate"`
	P99    float64 `json:"p99_ms"` // of the slowest operation
	Errors float64 `json:"errors"` // share, of the operation with most
	Held   bool    `json:"held"`
}

const (
	firstRate = 50   // a second
	precision = 1.05 // between a rate that holds and one that does not
	lowest    = 1    // a second
	stepGrace = 2 * time.Second
	stepWarm  = 500 * time.Millisecond
	// restTime is what follows a rate that was too much, for who sheds load goes on
	// to refuse for a while (a Cairn until nobody was refused for 5 s).
	restTime = 6 * time.Second
)

// Highest finds the highest rate that is borne within b: it doubles the rate
// until it is not, halves the distance until that is small, and puts the load
// at that rate as p says, and at less while that does not hold for so long. It
// calls each after each rate it tried.
func (p Plan) Highest(ctx context.Context, b Bounds, each func(Step)) *Result {
	var steps []Step
	try := func(rate float64, p Plan) (*Result, bool) {
		if n := len(steps); n > 0 && !steps[n-1].Held {
			rest(ctx)
		}
		p.Rate = rate
		r := p.Run(ctx)
		if r.Interrupted {
			return r, false
		}
		s := b.judge(r)
		steps = append(steps, s)
		each(s)
		return r, s.Held
	}
	short := p
	short.For, short.Grace, short.Warm = b.Step, min(p.Grace, stepGrace), min(p.Warm, stepWarm)
	rate := search(ctx, func(rate float64) bool { _, held := try(rate, short); return held })
	for {
		r, held := try(rate, p)
		if held || ctx.Err() != nil || rate <= lowest {
			r.Steps, r.Bounds = steps, b.String()
			return r
		}
		rate = max(rate/precision/precision, lowest)
	}
}

// rest waits for restTime, or until ctx ends.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(restTime):
	}
}

// search is the highest rate that holds, nearly, or the lowest.
func search(ctx context.Context, holds func(rate float64) bool) float64 {
	good, bad := 0., float64(firstRate)
	for ctx.Err() == nil && holds(bad) {
		good, bad = bad, 2*bad
	}
	for good == 0 && bad > lowest && ctx.Err() == nil {
		if half := bad / 2; holds(half) {
			good = half
		} else {
			bad = half
		}
	}
	for bad/max(good, lowest) > precision && ctx.Err() == nil {
		if middle := math.Sqrt(good * bad); holds(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return max(good, lowest)
}

// judge says whether r keeps the bounds.
func (b Bounds) judge(r *Result) Step {
	s := Step{Rate: r.Rate}
	for _, m := range r.Operations {
		s.P99 = max(s.P99, m.Latency.At(99))
		s.Errors = max(s.Errors, m.FailedShare())
	}
	s.Held = s.P99 <= float64(b.P99.Microseconds())/1000 && s.Errors <= b.Errors
	return s
}
