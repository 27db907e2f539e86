// Package lazy computes shared values on first use.
package lazy

import (
	"context"
	"sync/atomic"
)

// A Value is computed by the first Get and cached. An error is not cached, so the next
// Get computes again: the cancellation of one caller does not affect the others. A
// Value is safe for concurrent use.
type Value[T any] struct {
	compute func(context.Context) (T, error)
	lock    chan struct{} // held by the Get that computes
	value   atomic.Pointer[T]
}

// New returns a Value that is computed by compute.
func New[T any](compute func(context.Context) (T, error)) *Value[T] {
	return &Value[T]{compute: compute, lock: make(chan struct{}, 1)}
}

// Get returns the value. While another Get computes it, Get waits until ctx is done.
// The error is ctx.Err() or the error of the computation.
func (v *Value[T]) Get(ctx context.Context) (T, error) {
	if value := v.value.Load(); value != nil {
		return *value, nil
	}
	var none T
	select {
	case v.lock <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-v.lock }()
	if value := v.value.Load(); value != nil {
		return *value, nil
	}
	got, err := v.compute(ctx)
	if err != nil {
		return none, err
	}
	v.value.Store(&got)
	return got, nil
}
