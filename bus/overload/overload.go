package overload

import (
	"context"
	"math"
	"runtime"
	"sync"
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
	// idleIntervals is the number of intervals without a queue after which the limit is
	// removed.
	idleIntervals = 100
)

// Gate admits requests. At most capacity requests are admitted at once, and of
// these as many run as keep the scheduling latency low; the others wait. Both are
// divided among tenants by an [admission.Pool]. The limit is adjusted to
// the scheduling latency, as the congestion window of TCP is to packet loss, and as in
// CockroachDB's admission control: requests that wait for a backend do not lower
// it. A Gate may be used concurrently.
type Gate struct {
	capacity int64
	admitted *admission.Pool
	running  *admission.Pool
	limit    int64 // of running
	idle     int   // consecutive intervals without a queue
}

// New returns a gate whose limit is its capacity. Run adjusts the limit.
func New(capacity int) *Gate {
	n := int64(capacity)
	return &Gate{capacity: n, admitted: admission.NewPool(n), running: admission.NewPool(n), limit: n}
}

// Run adjusts the limit until ctx ends.
func (g *Gate) Run(ctx context.Context) {
	var l schedulerLatency
	l.p99() // discard the latencies before Run
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.Adjust(l.p99())
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
		least := min(int64(minRunning*runtime.GOMAXPROCS(0)), g.capacity)
		g.limit = max(int64(decrease*float64(min(g.limit, running))), least)
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

// Wait is Admit and Slot.Start for a request of the tenant that waits until both are
// possible; nil if ctx ends first. The caller closes the slot, and bounds the number of
// pending calls.
func (g *Gate) Wait(ctx context.Context, tenant string) *Slot {
	s := &Slot{gate: g, tenant: tenant}
	if s.admit(ctx) != nil || !s.Start(ctx) {
		s.Close()
		return nil
	}
	return s
}

// Close stops admitting requests.
func (g *Gate) Close() { g.admitted.Resize(0) }

// Used returns how many slots are open.
func (g *Gate) Used() int64 { return g.admitted.Used() }

// Running returns how many requests run.
func (g *Gate) Running() int64 { return g.running.Used() }

// Slot is the admission of one request. It may be used concurrently.
type Slot struct {
	gate *Gate

	mu      sync.Mutex
	tenant  string
	open    bool
	running bool
	waits   int  // calls of pause without resume; negative: a resume ran before its pause
	paused  bool // resume starts the request again
}

// Account transfers the slot to the tenant, and reports whether its share permits that.
// It is called before Start.
func (s *Slot) Account(tenant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gate.admitted.Move(s.tenant, tenant, 1) {
		return false
	}
	s.tenant = tenant
	return true
}

// Start waits until the request may run, and returns true, or false if ctx ends first.
// The caller calls Stop.
func (s *Slot) Start(ctx context.Context) bool {
	tenant := s.Owner()
	return s.gate.running.Wait(ctx, tenant, 1) == nil && s.started(tenant)
}

// TryStart is like Start, but does not wait.
func (s *Slot) TryStart() bool {
	tenant := s.Owner()
	return s.gate.running.Acquire(tenant, 1) && s.started(tenant)
}

// Owner returns the tenant of the slot.
func (s *Slot) Owner() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenant
}

// started records that the request runs with a unit of the tenant, or returns the unit.
func (s *Slot) started(tenant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open || s.running { // closed, or started by another goroutine meanwhile
		s.gate.running.Release(tenant, 1)
		return s.running
	}
	s.running = true
	return true
}

// Stop ends the run of a started request.
func (s *Slot) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *Slot) stop() {
	if s.running {
		s.running = false
		s.gate.running.Release(s.tenant, 1)
	}
}

// pause stops a running request while it waits for a backend. Each call is
// paired with a call of resume, which may run first.
func (s *Slot) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits++; s.waits <= 0 {
		return
	}
	s.paused = s.paused || s.running
	s.stop()
}

// resume starts the request again unless it still waits for a backend. It returns false if
// ctx ends before the request may run.
func (s *Slot) resume(ctx context.Context) bool {
	s.mu.Lock()
	s.waits--
	again := s.waits == 0 && s.paused && s.open
	if again {
		s.paused = false
	}
	s.mu.Unlock()
	return !again || s.Start(ctx)
}

// Close releases the slot. Closing it again has no effect.
func (s *Slot) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.leave()
}

// release releases the slot of a request that continues, and reports whether it held one.
func (s *Slot) release() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leave()
}

func (s *Slot) leave() bool {
	open := s.open
	if s.open = false; open {
		s.gate.admitted.Release(s.tenant, 1)
	}
	return open
}

// admit waits for a slot.
func (s *Slot) admit(ctx context.Context) error {
	if err := s.gate.admitted.Wait(ctx, s.Owner(), 1); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	return nil
}
