package bus

import (
	"context"
	"errors"
	"fmt"

	"cairn/bus/overload"
	"cairn/schemas"
)

// parkedRequests is the maximum number of parked requests of a service. They hold a
// goroutine and their body each.
const parkedRequests = 1024

// ErrNotParked is wrapped by the errors that Park returns on its own account.
var ErrNotParked = errors.New("the request cannot wait")

type leaseKey struct{}

// lease is the slot of a request in its service.
type lease struct {
	service *Service
	slot    *overload.Slot
	subject string
}

// Park calls wait while the request of ctx holds no slot of its service, and
// takes a slot again afterwards. The parked requests of a service are bounded and
// divided among tenants: the error wraps ErrNotParked and
// schemas.ErrTooManyRequests when the tenant has too many, or
// schemas.ErrUnavailable when no slot is free afterwards. Outside of a request it
// just calls wait.
func Park(ctx context.Context, wait func(context.Context) error) error {
	l, ok := ctx.Value(leaseKey{}).(*lease)
	if !ok {
		return wait(ctx)
	}
	s, key := l.service, ShareKey(Identity(ctx), nil)
	if !s.parked.Acquire(key, 1) {
		return fmt.Errorf("%w: %w", ErrNotParked, schemas.ErrTooManyRequests.Because("too many requests of the tenant wait"))
	}
	defer s.parked.Release(key, 1)
	l.slot.Close()
	err := wait(ctx)
	if err != nil {
		return err // answered without a slot
	}
	if !l.slot.Reopen(ctx) {
		return fmt.Errorf("%w: %w", ErrNotParked, busy(l.subject))
	}
	return nil
}

func busy(subject string) *schemas.Error {
	return schemas.ErrUnavailable.Because("every worker of " + subject + " is busy")
}
