package bucket

import (
	"context"

	"golang.org/x/sync/singleflight"
)

// coalescer coalesces operations: it runs one for all callers that joined before it
// started. No caller gets the result of an operation that started before its call.
type coalescer struct {
	group singleflight.Group
	slot  chan struct{} // semaphore of the running operation
}

func newCoalescer() *coalescer { return &coalescer{slot: make(chan struct{}, 1)} }

// do returns the result of an operation that started after the call, or the error of ctx. Callers
// share the operation, so it continues when a caller gives up, for at most 2 * attemptTimeout:
// that of the running operation and its own.
func (c *coalescer) do(ctx context.Context, operation func(context.Context) (uint64, error)) (uint64, error) {
	shared := c.group.DoChan("", func() (any, error) {
		c.slot <- struct{}{}
		defer func() { <-c.slot }()
		c.group.Forget("") // later callers need another operation
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
		defer cancel()
		return operation(ctx)
	})
	select {
	case result := <-shared:
		seq, _ := result.Val.(uint64)
		return seq, result.Err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
