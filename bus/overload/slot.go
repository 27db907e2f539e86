package overload

import (
	"context"
	"runtime"
	"sync"
	"time"

	"cairn/bus/admission"
)

// Slot is the admission of one request. It may be used concurrently.
type Slot struct {
	gate *Gate

	mu      sync.Mutex
	tenant  string
	open    bool
	running bool
	waits   int  // calls of pause without resume
	paused  bool // the last resume restarts the request
}

// Move transfers the slot to the tenant, and reports whether the share of the tenant permits that.
// Call it before Start.
func (s *Slot) Move(tenant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gate.admitted.Move(s.tenant, tenant, 1) {
		return false
	}
	s.tenant = tenant
	return true
}

// Start waits until the request may run, and returns true, or false if ctx ends first.
// Close ends the run.
func (s *Slot) Start(ctx context.Context) bool {
	tenant := s.Owner()
	if s.gate.running.Wait(ctx, tenant, 1) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open || s.running { // the slot was closed or started meanwhile
		s.gate.running.Release(tenant, 1)
		return s.running
	}
	s.running = true
	return true
}

// Owner returns the tenant of the slot.
func (s *Slot) Owner() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenant
}

// stop ends the run of a started request. The caller holds s.mu.
func (s *Slot) stop() {
	if s.running {
		s.running = false
		s.gate.running.Release(s.tenant, 1)
	}
}

// pause stops a running request while it waits for a backend, until a call of resume.
func (s *Slot) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits++
	s.paused = s.paused || s.running
	s.stop()
}

// resume restarts the request unless it still waits for a backend. It returns false if ctx ends before
// the request may run.
func (s *Slot) resume(ctx context.Context) bool {
	s.mu.Lock()
	s.waits--
	restart := s.waits == 0 && s.paused && s.open
	if restart {
		s.paused = false
	}
	s.mu.Unlock()
	return !restart || s.Start(ctx)
}

// Close releases the slot. Closing it again has no effect.
func (s *Slot) Close() { s.release() }

// release is Close, and reports whether the slot was open.
func (s *Slot) release() (open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	if open, s.open = s.open, false; open {
		s.gate.admitted.Release(s.tenant, 1)
	}
	return open
}

// admit waits until the slot is admitted again, or ctx ends.
func (s *Slot) admit(ctx context.Context) error {
	if err := s.gate.admitted.Wait(ctx, s.Owner(), 1); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	return nil
}

type slotKey struct{}

// WithSlot returns a context of the request that holds the slot.
func WithSlot(ctx context.Context, s *Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// SlotOf returns the slot of the request of ctx, or nil.
func SlotOf(ctx context.Context) *Slot {
	s, _ := ctx.Value(slotKey{}).(*Slot)
	return s
}

// Idle calls wait, which waits for a backend and uses no CPU. Meanwhile the request whose
// slot is in ctx (WithSlot) does not count as running; afterwards it is queued until it
// may run again. Timeouts and circuit breakers of the backend belong inside wait, because
// the queueing time depends on the load of this process. Idle returns the error of wait, or the error
// of ctx if it ends before the request may run.
func Idle(ctx context.Context, wait func() error) error {
	s := SlotOf(ctx)
	if s == nil {
		return wait()
	}
	s.pause()
	return s.resumeAfter(ctx, wait())
}

// Acquire waits for n units of the pool for the tenant of the request of ctx, which does not count as running
// meanwhile. The caller calls release at least once, also after an error, which is that of ctx.
func Acquire(ctx context.Context, p *admission.Pool, n int64) (release func(), err error) {
	tenant := ""
	if slot := SlotOf(ctx); slot != nil {
		tenant = slot.Owner()
	}
	held := p.Acquire(tenant, n)
	if !held {
		err = Idle(ctx, func() error {
			err := p.Wait(ctx, tenant, n)
			held = err == nil
			return err
		})
	}
	return sync.OnceFunc(func() {
		if held {
			p.Release(tenant, n)
		}
	}), err
}

// NewLongPool returns a pool for the parts of requests that use a CPU for long: one unit for each CPU, at least
// two, so that a tenant uses all CPUs but one.
func NewLongPool() *admission.Pool { return admission.NewPool(int64(max(2, runtime.GOMAXPROCS(0)))) }

// WithoutSlot is like Idle, but also releases the slot during wait, which may be long. Afterwards it
// waits for a slot again, unless ctx has ended. The caller bounds the number of pending calls.
func WithoutSlot(ctx context.Context, wait func() error) error {
	s := SlotOf(ctx)
	if s == nil {
		return wait()
	}
	s.pause()
	held := s.release()
	err := wait()
	if held && s.admit(ctx) != nil && err == nil {
		err = ctx.Err()
	}
	return s.resumeAfter(ctx, err)
}

// idleDelay is the time after which IdleAfter no longer counts a request as running. Workers and
// projections reply within it even under CPU load, so a longer wait is for a backend.
const idleDelay = 50 * time.Millisecond

// IdleAfter is Idle for a wait that is usually short: the request of s counts as running until
// it has waited for 50 ms. s may be nil.
func (s *Slot) IdleAfter(ctx context.Context, wait func() error) error {
	if s == nil {
		return wait()
	}
	paused := make(chan struct{})
	timer := time.AfterFunc(idleDelay, func() { s.pause(); close(paused) })
	err := wait()
	if timer.Stop() {
		return err
	}
	<-paused
	return s.resumeAfter(ctx, err)
}

// resumeAfter resumes the request after a wait that returned err.
func (s *Slot) resumeAfter(ctx context.Context, err error) error {
	if !s.resume(ctx) && err == nil {
		return ctx.Err()
	}
	return err
}
