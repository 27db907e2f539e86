package lazy_test

import (
	"context"
	"errors"
	"testing"

	"cairn/services/internal/lazy"
)

func TestComputedOnce(t *testing.T) {
	t.Parallel()
	computed := 0
	v := lazy.New(func(context.Context) (int, error) { computed++; return 7, nil })
	for range 3 {
		if got, err := v.Get(t.Context()); err != nil || got != 7 {
			t.Errorf("got %d, %v, want 7", got, err)
		}
	}
	if computed != 1 {
		t.Errorf("computed %d times, want once", computed)
	}
}

func TestCanceledGet(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 2)
	v := lazy.New(func(ctx context.Context) (int, error) {
		began <- struct{}{}
		if ctx.Value(t) == nil {
			return 7, nil
		}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	first, cancel := context.WithCancel(context.WithValue(t.Context(), t, true))
	failed := make(chan error, 1)
	go func() {
		_, err := v.Get(first)
		failed <- err
	}()
	<-began
	waiting, stop := context.WithCancel(t.Context())
	stop()
	if _, err := v.Get(waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled wait: got %v", err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("canceled computation: got %v", err)
	}
	if got, err := v.Get(t.Context()); err != nil || got != 7 {
		t.Errorf("got %d, %v, want 7", got, err)
	}
}
