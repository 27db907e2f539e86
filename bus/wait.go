package bus

import (
	"context"
	"errors"
	"fmt"

	"cairn/bus/overload"
	"cairn/schemas"
)

// maxWaiting is the maximum number of requests of a service that wait without a slot
// (see WaitWithoutSlot). Each holds a goroutine and its body.
const maxWaiting = 1024

// ErrNoSlot is wrapped by the errors of WaitWithoutSlot itself, but not by those of wait.
var ErrNoSlot = errors.New("no slot for a waiting request")

type servingKey struct{}

// serving is the context value that contains the service and the subject of a request.
type serving struct {
	service *Service
	subject string
}

// WaitWithoutSlot releases the slot of the request of ctx, calls wait, and then acquires
// a slot of the service again. The waiting requests of a service are bounded and
// divided among tenants: the error wraps ErrNoSlot and schemas.ErrTooManyRequests when
// the tenant has too many, or schemas.ErrUnavailable when ctx ends before a slot is
// free. After an error of wait the slot is acquired too, unless ctx has ended. Outside of a
// request it only calls wait.
func WaitWithoutSlot(ctx context.Context, wait func(context.Context) error) error {
	r, ok := ctx.Value(servingKey{}).(*serving)
	slot := overload.SlotOf(ctx)
	if !ok || slot == nil {
		return wait(ctx)
	}
	s, key := r.service, slot.Owner()
	if !s.waiting.Acquire(key, 1) {
		return fmt.Errorf("%w: %w", ErrNoSlot, schemas.ErrTooManyRequests.Because("too many requests of the tenant are waiting"))
	}
	defer s.waiting.Release(key, 1)
	s.used.Free()
	defer s.used.Take()
	var failed error
	err := overload.Leave(ctx, func() error { failed = wait(ctx); return failed })
	if err != nil && failed == nil {
		return fmt.Errorf("%w: %w", ErrNoSlot, busy(r.subject))
	}
	return err
}

func busy(subject string) *schemas.Error {
	return schemas.ErrUnavailable.Because("every worker of " + subject + " is busy")
}
