package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

// replyTime is the part of a request's timeout that is left to reply.
const replyTime = time.Second

// Bounded returns the result of do on the named store, such as "tag store". do ends a
// second before the deadline of ctx, or after three quarters of a short one. Bounded
// returns schemas.ErrUnavailable if the store is full or does not answer until then; a
// write may have been applied in that case.
func Bounded(ctx context.Context, store string, do func(context.Context) error) error {
	limited := ctx
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, end.Add(-min(replyTime, time.Until(end)/4)))
		defer cancel()
	}
	err := do(limited)
	// A shared fence and a publish attempt have timeouts of their own, which may expire
	// before this one.
	late := limited.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	if err != nil && late && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", schemas.ErrUnavailable.Because("NATS did not acknowledge the operation in time: its cluster may have no quorum or be electing a leader"), err)
	}
	return refused(err, store)
}
