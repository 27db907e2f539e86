package overload

import (
	"context"
	"time"
)

type slotKey struct{}

// WithSlot returns a context of the request that holds the slot.
func WithSlot(ctx context.Context, s *Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// Idle calls wait, which waits for a backend and uses no processor. Meanwhile the
// request whose slot is in ctx (WithSlot) does not count as running; afterwards it
// waits for its turn. Timeouts and circuit breakers of the backend belong inside
// wait: that turn depends on the load of this process. The error is that of wait, or
// ctx's if the request may not run again.
func Idle(ctx context.Context, wait func() error) error {
	s, ok := ctx.Value(slotKey{}).(*Slot)
	if !ok {
		return wait()
	}
	s.pause()
	return s.resumeAfter(ctx, wait())
}

// idleDelay is the wait after which IdleAfter no longer counts a request as running. Under
// CPU load alone workers and projections answer sooner; a longer wait is one for a
// backend.
const idleDelay = 50 * time.Millisecond

// IdleAfter is Idle for a wait that is usually short: the request counts as running until
// it has waited for 50 ms.
func IdleAfter(ctx context.Context, wait func() error) error {
	s, ok := ctx.Value(slotKey{}).(*Slot)
	if !ok {
		return wait()
	}
	paused := make(chan struct{})
	timer := time.AfterFunc(idleDelay, func() {
		s.pause()
		close(paused)
	})
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
