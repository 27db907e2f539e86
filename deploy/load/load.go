// Package load puts a service under load, and measures how it bears it.
//
// The load is open: requests have a schedule, and the latency of each is
// counted from when it should have been sent. Who waits because the service
// stalls is so counted with all of the waiting (no coordinated omission).
package load

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Operation is a kind of request.
type Operation struct {
	Name   string
	Share  float64 // of all requests, beside the shares of the other operations
	Stream bool    // whose first event is measured, too
	// Do sends a request and returns when it is answered; n counts all requests.
	// It is called by many at once, and returns soon once ctx has ended.
	Do func(ctx context.Context, n int) Answer
}

// Answer says how a request went.
type Answer struct {
	// Err is why it was not answered as it should be, beginning with its HTTP
	// status where there is one, such as "503 CE-011"; empty: it was.
	Err string
	// First is when a stream said the first word; zero: it is no stream.
	First time.Time
}

// The errors of requests that got no answer at all. Their latency counts: they
// took at least as long.
const (
	TimedOut = "timed out"
	NotSent  = "not sent" // all connections were busy until the end
)

// Plan is the load to put.
type Plan struct {
	Operations  []Operation
	Rate        float64       // requests a second, all operations together
	Warm        time.Duration // at the beginning, that is not measured
	For         time.Duration // that is measured
	Grace       time.Duration // after it, for what is late or in flight
	Connections int           // requests in flight, at most
}

// Run puts the load, and returns when all is answered, or the grace has passed,
// or ctx has ended; then what was measured so far is returned as Interrupted.
func (p Plan) Run(ctx context.Context) *Result {
	began := time.Now()
	r := &run{
		Plan: p, begin: began, from: began.Add(p.Warm), end: began.Add(p.Warm + p.For),
		pick: newPicker(p.Operations),
	}
	for _, o := range p.Operations {
		r.to = append(r.to, newRecorder(o, p.For))
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

// ringsLate is by how much a timer may ring late. That is no waiting for the
// service, and does not count.
const ringsLate = 2 * time.Millisecond

// lateBy is how much later than intended a request is sent when it had to wait
// for a connection, or for who sends it; less is what timers take.
const lateBy = 10 * time.Millisecond

// run is a plan being carried out.
type run struct {
	Plan
	begin, from, end time.Time
	pick             picker
	to               []*recorder
	next             atomic.Int64 // request that nobody has taken yet
	sent             atomic.Int64
	behind, slipped  atomic.Int64 // of them, sent late: by the connections, by who sends
}

// work is what one connection does: it takes the next request, waits until that
// is due, and sends it; or at once, when that has passed.
func (r *run) work(whole, bounded context.Context) {
	slip := time.Since(r.begin) // by how much who sends is late here
	for {
		n := int(r.next.Add(1) - 1)
		due := r.begin.Add(time.Duration(float64(n) / r.Rate * float64(time.Second)))
		waited := time.Until(due) > 0
		if !due.Before(r.end) || !until(whole, due) {
			return
		}
		measured := !due.Before(r.from)
		offset := due.Sub(r.from)
		to := r.to[r.pick.at(n)]
		sent := time.Now()
		late := sent.Sub(due)
		if waited {
			slip = late
		}
		slip = min(slip, late) // without it, this connection had been free as much sooner
		if waited && late <= ringsLate {
			due = sent
		}
		a := Answer{Err: NotSent}
		if bounded.Err() == nil {
			a = to.do(bounded, n)
		}
		if whole.Err() != nil && a.Err != "" {
			return // it failed since it was interrupted
		}
		if !measured {
			continue
		}
		r.sent.Add(1)
		switch {
		case late-slip > lateBy:
			r.behind.Add(1)
		case late > lateBy:
			r.slipped.Add(1)
		}
		to.add(offset, due, time.Now(), a)
	}
}

// until waits for the time, and reports whether it came before ctx ended.
func until(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
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

// picker chooses the operation of each request by the shares, evenly in time
// and the same in each run.
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

// sum is that of all shares.
func (p picker) sum() float64 { return p.upTo[len(p.upTo)-1] }

func (p picker) at(n int) int {
	last := len(p.upTo) - 1
	_, place := math.Modf(float64(n) * math.Phi) // these never cluster
	for i, upTo := range p.upTo {
		if place*p.sum() < upTo {
			return i
		}
	}
	return last
}
