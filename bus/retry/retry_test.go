package retry_test

import (
	"context"
	"errors"
	"testing"

	"cairn/bus/retry"
)

var errFailed = errors.New("failed")

func TestRetry(t *testing.T) {
	t.Parallel()
	always := func(error) bool { return true }
	ended, end := context.WithTimeout(t.Context(), 0)
	defer end()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		name     string
		ctx      context.Context
		again    func(error) bool
		failures int
		attempts int
		want     error
	}{
		{"an attempt that succeeds is the last one", t.Context(), always, 2, 3, nil},
		{"an error that is not repeated", t.Context(), func(error) bool { return false }, 2, 1, errFailed},
		{"the deadline has passed", ended, always, 2, 1, errFailed},
		{"the context is canceled", canceled, always, 2, 1, context.Canceled},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			attempts := 0
			err := retry.Do(row.ctx, row.again, func() error {
				if attempts++; attempts <= row.failures {
					return errFailed
				}
				return nil
			})
			if attempts != row.attempts || !errors.Is(err, row.want) {
				t.Errorf("got %d attempts, %v, want %d, %v", attempts, err, row.attempts, row.want)
			}
		})
	}
}

// TestBudget: a full budget has 100 retries, and five successful requests add one.
func TestBudget(t *testing.T) {
	t.Parallel()
	b := retry.NewBudget()
	took := 0
	for b.Take() {
		took++
	}
	for range 5 {
		b.Refill()
	}
	if refilled := b.Take(); took != 100 || !refilled || b.Take() {
		t.Errorf("%d retries, then %v after five requests, want 100 and one more", took, refilled)
	}
}
