package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

// patience bounds an operation on a bucket. A healthy cluster replies in milliseconds;
// one without a leader or quorum does not reply for seconds.
const patience = 2500 * time.Millisecond

// Bounded returns the result of do on the store of the name, such as "tag store",
// or schemas.ErrUnavailable when it takes longer than a bucket is waited for, after
// which a write may have been done, or when the store is full.
func Bounded(ctx context.Context, store string, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := do(limited)
	// A fence that was begun for somebody else, and an attempt to publish, have
	// times of their own, which may be over first.
	late := limited.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	if err != nil && late && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", schemas.ErrUnavailable.Because("NATS does not say in time that it is kept, or what is: its cluster may have no quorum, or elect a leader"), err)
	}
	return refused(err, store)
}
