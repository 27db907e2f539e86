package load

import (
	"context"
	"math"
	"time"
)

// Bounds are the limits that every operation must meet at a rate.
type Bounds struct {
	P99    time.Duration // highest 99th percentile
	Errors float64       // highest share of failed requests
	Step   time.Duration // duration of each rate
}

// Step is the result of one rate.
type Step struct {
	Rate   float64 `json:"rate"`
	P99    float64 `json:"p99_ms"` // of the slowest operation
	Errors float64 `json:"errors"` // highest error rate of any operation
	Held   bool    `json:"held"`
}

const (
	firstRate = 50   // per second
	precision = 1.05 // ratio of a failing rate to a passing one
	minRate   = 1    // per second
	stepGrace = 2 * time.Second
	stepWarm  = 500 * time.Millisecond
)

// rest waits for the duration of one step, or until ctx ends. The server still sheds load after a
// step whose rate was too high.
func (b Bounds) rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(b.Step):
	}
}

// search returns the approximate highest rate, or the lowest one.
func search(ctx context.Context, holds func(rate float64) bool) float64 {
	good, bad := 0., float64(firstRate)
	for ctx.Err() == nil && holds(bad) {
		good, bad = bad, 2*bad
	}
	for good == 0 && bad > minRate && ctx.Err() == nil {
		if half := bad / 2; holds(half) {
			good = half
		} else {
			bad = half
		}
	}
	for bad/max(good, minRate) > precision && ctx.Err() == nil {
		if middle := math.Sqrt(good * bad); holds(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return max(good, minRate)
}

// check reports whether r is within the bounds.
func (b Bounds) check(r *Result) Step {
	s := Step{Rate: r.Rate}
	for _, m := range r.Operations {
		s.P99 = max(s.P99, m.Latency.At(99))
		s.Errors = max(s.Errors, m.FailedShare())
	}
	s.Held = s.P99 <= float64(b.P99.Microseconds())/1000 && s.Errors <= b.Errors
	return s
}
