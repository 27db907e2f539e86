package bucket

import (
	"context"
	"sync"
)

// round coalesces operations: it runs one for all callers that joined before it
// started. No caller gets the result of an operation that started before its call.
type round struct {
	slot chan struct{} // held while an operation runs

	mu   sync.Mutex
	next *result // open to further callers
}

// result is the result of an operation.
type result struct {
	done chan struct{} // closed when the fields below are set
	seq  uint64
	err  error
}

func newRound() *round { return &round{slot: make(chan struct{}, 1)} }

// do returns the result of an operation that started after the call.
func (r *round) do(ctx context.Context, operation func(context.Context) (uint64, error)) (uint64, error) {
	r.mu.Lock()
	if r.next == nil {
		r.next = &result{done: make(chan struct{})}
	}
	joined := r.next
	r.mu.Unlock()
	select {
	case <-joined.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	case r.slot <- struct{}{}:
		r.run(ctx, joined, operation)
		<-r.slot
	}
	return joined.seq, joined.err
}

// run runs the operation, unless another caller has. The caller holds slot.
func (r *round) run(ctx context.Context, joined *result, operation func(context.Context) (uint64, error)) {
	r.mu.Lock()
	if r.next != joined {
		r.mu.Unlock()
		<-joined.done // closed by the caller that held slot before
		return
	}
	r.next = nil // later callers need another operation
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout) // no caller may cancel it
	defer cancel()
	joined.seq, joined.err = operation(ctx)
	close(joined.done)
}
