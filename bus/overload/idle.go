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

// SlotOf returns the slot of the request of ctx, or nil.
func SlotOf(ctx context.Context) *Slot {
	s, _ := ctx.Value(slotKey{}).(*Slot)
	return s
}

// Idle calls wait, which waits for a backend and uses no CPU. Meanwhile the request whose
// slot is in ctx (WithSlot) does not count as running; afterwards it is queued until it
// may run again. Timeouts and circuit breakers of the backend belong inside wait, because
// the queueing time depends on the load of this process. The error is that of wait, or
// ctx's if the request may not run again.
func Idle(ctx context.Context, wait func() error) error {
	s := SlotOf(ctx)
	if s == nil {
		return wait()
	}
	s.pause()
	return s.resumeAfter(ctx, wait())
}

// Leave is like Idle, but also releases the slot during wait, which may be long. Afterwards
// it waits for a slot again, unless ctx has ended. The caller bounds the number of pending
// calls.
func Leave(ctx context.Context, wait func() error) error {
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

// idleDelay is the wait after which IdleAfter no longer counts a request as running.
// Workers and projections that only lack CPU answer sooner; a longer wait is for a
// backend.
const idleDelay = 50 * time.Millisecond

// IdleAfter is Idle for a wait that is usually short: the request counts as running until
// it has waited for 50 ms.
func IdleAfter(ctx context.Context, wait func() error) error {
	s := SlotOf(ctx)
	if s == nil {
		return wait()
	}
	return s.IdleAfter(ctx, wait)
}

// IdleAfter is like the function IdleAfter, but for the request of s, whose slot need not
// be in ctx.
func (s *Slot) IdleAfter(ctx context.Context, wait func() error) error {
	timer := time.AfterFunc(idleDelay, s.pause)
	err := wait()
	if timer.Stop() {
		return err
	}
	return s.resumeAfter(ctx, err)
}

// resumeAfter resumes the request after a wait that returned err.
func (s *Slot) resumeAfter(ctx context.Context, err error) error {
	if !s.resume(ctx) && err == nil {
		return ctx.Err()
	}
	return err
}
