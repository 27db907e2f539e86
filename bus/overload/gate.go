// Package overload limits how many requests a process runs at once, by the scheduling
// latency of its goroutines, and divides that limit among tenants. The Go scheduler does
// not distinguish tenants, so its queue is kept short: requests wait in queues per tenant
// instead, for a bounded time and in bounded number.
//
// A [Gate] admits a request, which gets a [Slot], up to a capacity, and runs as many of the
// admitted ones as keep the latency low. A request pauses its slot while it waits for a backend
// (Idle, IdleAfter), and releases it for a long wait (WithoutSlot). Before it uses a CPU for long, it acquires
// a unit of a pool (Acquire, NewLongPool). The caller closes the slot.
package overload

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"cairn/bus/admission"
)

const (
	// latencyTarget is the target of the 99th percentile of the scheduling latency. A
	// request needs some ten goroutines, through an edge and a worker.
	latencyTarget = 2 * time.Millisecond
	interval      = 50 * time.Millisecond // between adjustments
	// minRunning is the lowest limit, per processor. Requests that wait for a backend do
	// not count (Idle, IdleAfter).
	minRunning = 2
	// decrease and increase are the factors by which the limit changes.
	decrease, increase = 0.5, 1.1
	// idleIntervals is the number of intervals without a queue after which the limit is removed.
	idleIntervals = 100
)

// Gate admits requests, at most capacity at the same time. The limit of running requests is raised
// and lowered by the scheduling latency, as in CockroachDB's admission control. Capacity and limit are
// divided among tenants by an [admission.Pool]. A Gate may be used concurrently.
type Gate struct {
	capacity int64
	admitted *admission.Pool
	running  *admission.Pool
	limit    int64 // capacity of running
	idle     int   // consecutive intervals without a queue
}

// New returns a gate whose limit is its capacity. Run adjusts the limit.
func New(capacity int) *Gate {
	n := int64(capacity)
	return &Gate{capacity: n, admitted: admission.NewPool(n), running: admission.NewPool(n), limit: n}
}

// Run adjusts the limits of the gates until ctx ends.
func Run(ctx context.Context, gates ...*Gate) {
	var l schedulerLatency
	l.p99() // discard the latencies before Run
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			latency := l.p99()
			for _, g := range gates {
				g.Adjust(latency)
			}
		}
	}
}

// Adjust sets the limit for the next interval, given the scheduling latency of the
// last one. Run calls it; it must not be called concurrently.
func (g *Gate) Adjust(latency time.Duration) {
	running, queued := g.running.Used(), g.running.Queued() > 0
	if g.idle++; queued {
		g.idle = 0
	}
	switch {
	case latency > latencyTarget:
		floor := min(int64(minRunning*runtime.GOMAXPROCS(0)), g.capacity)
		g.limit = max(int64(decrease*float64(min(g.limit, running))), floor)
	case queued:
		g.limit = min(int64(math.Ceil(increase*float64(g.limit))), g.capacity)
	case g.idle >= idleIntervals:
		g.limit = g.capacity
	}
	g.running.Resize(g.limit)
}

// Admit returns a slot for a request of the tenant; nil when the gate is full or
// the tenant has its share. It does not block. The caller closes the slot.
func (g *Gate) Admit(tenant string) *Slot {
	if !g.admitted.Acquire(tenant, 1) {
		return nil
	}
	return &Slot{gate: g, tenant: tenant, open: true}
}

// Wait is Admit and Slot.Start for a request of the tenant that waits until both are possible; nil
// if ctx ends first. The caller closes the slot, and bounds the number of pending calls.
func (g *Gate) Wait(ctx context.Context, tenant string) *Slot {
	s := &Slot{gate: g, tenant: tenant}
	if s.admit(ctx) != nil || !s.Start(ctx) {
		s.Close()
		return nil
	}
	return s
}

// Close stops admitting requests and waits until all slots are closed or released.
func (g *Gate) Close() { g.admitted.Drain() }

// Used returns how many slots are open.
func (g *Gate) Used() int64 { return g.admitted.Used() }

// Running returns how many requests run.
func (g *Gate) Running() int64 { return g.running.Used() }

// schedulerLatency samples how long runnable goroutines wait before they run.
type schedulerLatency struct {
	sample [1]metrics.Sample
	before []uint64
}

// p99 returns the 99th percentile since the last call; 0 if no goroutine ran.
func (l *schedulerLatency) p99() time.Duration {
	l.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(l.sample[:])
	h := l.sample[0].Value.Float64Histogram()
	since := make([]uint64, len(h.Counts))
	var all uint64
	for i, n := range h.Counts {
		since[i] = n
		if l.before != nil {
			since[i] -= l.before[i]
		}
		all += since[i]
	}
	l.before = append(l.before[:0], h.Counts...)
	rest := uint64(math.Ceil(0.99 * float64(all)))
	for i, n := range since {
		if rest <= n {
			return time.Duration(max(h.Buckets[i], 0) * float64(time.Second)) // the first boundary is -Inf
		}
		rest -= n
	}
	return 0
}
