package overload

import "context"

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
	err := wait()
	if !s.resume(ctx) && err == nil {
		err = ctx.Err()
	}
	return err
}
