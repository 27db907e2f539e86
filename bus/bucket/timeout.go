package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

// operationTimeout is the timeout of an operation on a bucket. A healthy cluster replies in
// milliseconds; one without a leader or quorum does not reply for seconds.
const operationTimeout = 2500 * time.Millisecond

// Bounded returns the result of do on the named store, such as "tag store". It returns
// schemas.ErrUnavailable if the store is full or the operation times out; a write may
// have been applied in that case.
func Bounded(ctx context.Context, store string, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	err := do(limited)
	// A shared fence and a publish attempt have timeouts of their own, which may expire
	// before this one.
	late := limited.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	if err != nil && late && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", schemas.ErrUnavailable.Because("NATS did not acknowledge the operation in time: its cluster may have no quorum or be electing a leader"), err)
	}
	return refused(err, store)
}
