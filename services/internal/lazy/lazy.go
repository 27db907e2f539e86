// Package lazy computes shared values when they are first needed.
package lazy

import (
	"context"
	"sync/atomic"
)

// A Value is computed by the first Get and kept. A computation that fails
// leaves nothing, and the next Get computes again: a caller that is cancelled
// fails no other. It may be used concurrently.
type Value[T any] struct {
	compute func(context.Context) (T, error)
	turn    chan struct{} // held by the Get that computes
	value   atomic.Pointer[T]
}

// New returns a Value that compute makes.
func New[T any](compute func(context.Context) (T, error)) *Value[T] {
	return &Value[T]{compute: compute, turn: make(chan struct{}, 1)}
}

// Get returns the value. It waits for another Get that computes it until ctx
// ends. The error is that of ctx or of the computation.
func (v *Value[T]) Get(ctx context.Context) (T, error) {
	if known := v.value.Load(); known != nil {
		return *known, nil
	}
	var none T
	select {
	case v.turn <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-v.turn }()
	if known := v.value.Load(); known != nil {
		return *known, nil
	}
	got, err := v.compute(ctx)
	if err != nil {
		return none, err
	}
	v.value.Store(&got)
	return got, nil
}
