// Package load generates load on a service and measures its latency.
//
// The load is open-loop: requests are scheduled at a fixed rate, and latency counts from
// the scheduled time, so that stalls of the service are measured in full (no coordinated
// omission).
package load

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Operation is a type of request.
type Operation struct {
	Name   string
	Share  float64 // weight among all operations
	Stream bool    // whether the first event is measured too
	// Do sends a request and waits for the response; n counts all requests. It is
	// called concurrently and must return soon after ctx ends.
	Do func(ctx context.Context, n int) Answer
}

// Answer is the outcome of a request.
type Answer struct {
	// Err is the failure, beginning with the HTTP status if there is one, such as
	// "503 CE-011"; empty: success.
	Err string
	// First is the time of a stream's first event; zero: not a stream.
	First time.Time
}

// Errors of requests without a response. Their latency counts as a lower bound.
const (
	TimedOut = "timed out"
	NotSent  = "not sent" // all connections were busy until the end
)

// Plan is a load.
type Plan struct {
	Operations  []Operation
	Rate        float64       // requests per second over all operations
	Warm        time.Duration // warm-up, not measured
	For         time.Duration // measured duration
	Grace       time.Duration // after it, for outstanding requests
	Connections int           // maximum number of requests in flight
}

// Run generates the load and returns when all requests are answered, the grace period
// has passed, or ctx has ended; the result is then marked Interrupted.
func (p Plan) Run(ctx context.Context) *Result {
	began := time.Now()
	r := &run{
		Plan: p, begin: began, measured: began.Add(p.Warm), end: began.Add(p.Warm + p.For),
		pick: newPicker(p.Operations),
	}
	for _, o := range p.Operations {
		r.recorders = append(r.recorders, newRecorder(o))
	}
	bounded, cancel := context.WithDeadline(ctx, r.end.Add(p.Grace))
	defer cancel()
	var working sync.WaitGroup
	for range p.Connections {
		working.Go(func() { r.work(ctx, bounded) })
	}
	working.Wait()
	return r.result(ctx)
}

// Highest finds the highest rate within b: it doubles the rate until it fails, bisects,
// then runs p at the rate found, lowering it while it fails. It calls each after every
// rate.
func (p Plan) Highest(ctx context.Context, b Bounds, each func(Step)) *Result {
	var steps []Step
	try := func(rate float64, p Plan) (*Result, bool) {
		if n := len(steps); n > 0 && !steps[n-1].Held {
			b.rest(ctx)
		}
		p.Rate = rate
		r := p.Run(ctx)
		if r.Interrupted {
			return r, false
		}
		s := b.check(r)
		steps = append(steps, s)
		each(s)
		return r, s.Held
	}
	short := p
	short.For, short.Grace, short.Warm = b.Step, min(p.Grace, stepGrace), min(p.Warm, stepWarm)
	rate := search(ctx, func(rate float64) bool { _, held := try(rate, short); return held })
	for {
		r, held := try(rate, p)
		if held || ctx.Err() != nil || rate <= minRate {
			r.Steps = steps
			return r
		}
		rate = max(rate/precision/precision, minRate)
	}
}

// timerTolerance is the tolerated lateness of a timer.
const timerTolerance = 2 * time.Millisecond

// lateAfter is the delay after which a request counts as sent late, because of a shortage
// of connections or a slow client.
const lateAfter = 10 * time.Millisecond

// run is a plan in progress.
type run struct {
	Plan
	begin, measured, end time.Time
	pick                 picker
	recorders            []*recorder
	next                 atomic.Int64 // next request of the schedule
	sent                 atomic.Int64
	behind, slipped      atomic.Int64 // sent late, because all connections were busy or by a slow client
}

// work runs one connection: it takes the next request and sends it when it is due, or
// at once if that time has passed.
func (r *run) work(whole, bounded context.Context) {
	slip := time.Since(r.begin) // delay caused by the client itself
	for {
		n := int(r.next.Add(1) - 1)
		due := r.begin.Add(time.Duration(float64(n) / r.Rate * float64(time.Second)))
		waited := time.Until(due) > 0
		if !due.Before(r.end) || !sleepUntil(whole, due) {
			return
		}
		counted := !due.Before(r.measured)
		recorder := r.recorders[r.pick.at(n)]
		sent := time.Now()
		late := sent.Sub(due)
		if waited {
			slip = late
		}
		slip = min(slip, late) // the connection was busy only because of this delay
		if waited && late <= timerTolerance {
			due = sent
		}
		a := Answer{Err: NotSent}
		if bounded.Err() == nil {
			a = recorder.do(bounded, n)
		}
		if whole.Err() != nil && a.Err != "" {
			return // it failed because of the interruption
		}
		if !counted {
			continue
		}
		r.sent.Add(1)
		switch {
		case late-slip > lateAfter:
			r.behind.Add(1)
		case late > lateAfter:
			r.slipped.Add(1)
		}
		recorder.add(due, time.Now(), a)
	}
}

// result returns the measurement of the run.
func (r *run) result(ctx context.Context) *Result {
	took := min(time.Since(r.measured), r.For)
	if ctx.Err() == nil {
		took = r.For
	}
	res := &Result{
		Format: Format, Began: r.measured, Rate: r.Rate, Seconds: max(took, 0).Seconds(), Warm: r.Warm.Seconds(),
		Connections: r.Connections, Interrupted: ctx.Err() != nil,
		Late:    float64(r.behind.Load()) / float64(max(r.sent.Load(), 1)),
		Slipped: float64(r.slipped.Load()) / float64(max(r.sent.Load(), 1)),
	}
	var whole []*Measured
	for i, recorder := range r.recorders {
		list := recorder.measured(max(took, 0))
		for _, m := range list {
			m.Share = r.Operations[i].Share / r.pick.sum()
		}
		res.Operations = append(res.Operations, list...)
		whole = append(whole, recorder.whole)
	}
	if len(whole) > 1 {
		res.Operations = append(res.Operations, merge("all", whole...))
	}
	return res
}

// sleepUntil waits for the time and reports whether it came before ctx ended.
func sleepUntil(ctx context.Context, deadline time.Time) bool {
	wait := time.Until(deadline)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// picker selects the operation of each request by share, evenly in time and
// reproducibly.
type picker struct{ upTo []float64 }

func newPicker(operations []Operation) picker {
	var p picker
	var sum float64
	for _, o := range operations {
		sum += o.Share
		p.upTo = append(p.upTo, sum)
	}
	return p
}

// sum returns the total of all shares.
func (p picker) sum() float64 { return p.upTo[len(p.upTo)-1] }

func (p picker) at(n int) int {
	last := len(p.upTo) - 1
	_, place := math.Modf(float64(n) * math.Phi) // a low-discrepancy sequence
	for i, upTo := range p.upTo {
		if place*p.sum() < upTo {
			return i
		}
	}
	return last
}
