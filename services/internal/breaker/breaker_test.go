package breaker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/services/internal/breaker"
)

var (
	errUnavailable = errors.New("unavailable")
	errFailed      = errors.New("status 503")
	errRejected    = errors.New("status 400")
)

func newBreaker(slowAfter time.Duration) *breaker.Breaker {
	return breaker.New(breaker.Settings{
		Failures:    3,
		Failed:      func(err error) bool { return !errors.Is(err, errRejected) },
		SlowAfter:   slowAfter,
		Unavailable: errUnavailable,
	})
}

// fails returns a call that fails with err.
func fails(err error) func() error { return func() error { return err } }

func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(0)
		for range 3 {
			if err := b.Do(t.Context(), fails(errFailed)); !errors.Is(err, errFailed) || errors.Is(err, errUnavailable) {
				t.Errorf("closed: got %v, want %v alone", err, errFailed)
			}
		}
		rejected := func(when string) {
			t.Helper()
			for _, err := range []error{b.Do(t.Context(), func() error { t.Errorf("%s: called", when); return nil }), b.Err()} {
				if !errors.Is(err, errUnavailable) || errors.Is(err, errFailed) ||
					!strings.Contains(err.Error(), "circuit breaker is open, the last failure was: status 503") {
					t.Errorf("%s: got %v, want %v and why", when, err, errUnavailable)
				}
			}
		}
		rejected("open")
		if b.HalfOpen() {
			t.Error("a probe is due at once")
		}
		time.Sleep(6 * time.Second)
		if !b.HalfOpen() {
			t.Error("no probe is due after 6 s")
		}
		_ = b.Do(t.Context(), func() error {
			rejected("during a probe")
			return errFailed
		})
		rejected("after a failed probe")
		time.Sleep(6 * time.Second)
		if err := errors.Join(b.Do(t.Context(), fails(nil)), b.Err()); err != nil || b.HalfOpen() {
			t.Errorf("after a probe that succeeded: %v", err)
		}
	})
}

// TestFailures repeats a call more often than opens the breaker.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		slowAfter time.Duration
		err       error         // of the call; nil: it waits for ctx
		timeout   time.Duration // of the caller; 0: it cancels
		want      error
		open      bool
	}{
		{"a failure opens the breaker", 0, errFailed, time.Hour, errFailed, true},
		{"a rejected request does not count", 0, errRejected, time.Hour, errRejected, false},
		{"a canceled call does not count", 0, nil, 0, context.Canceled, false},
		{"a canceled slow call does not count", time.Nanosecond, nil, 0, context.Canceled, false},
		{"an exceeded deadline of the caller does not count", 0, nil, time.Minute, context.DeadlineExceeded, false},
		{"an exceeded short deadline does not count", 250 * time.Millisecond, nil, 200 * time.Millisecond,
			context.DeadlineExceeded, false},
		{"an exceeded deadline after SlowAfter opens the breaker", 250 * time.Millisecond, nil, 300 * time.Millisecond,
			context.DeadlineExceeded, true},
		{"a timeout of the backend opens the breaker", 0, context.DeadlineExceeded, time.Hour, context.DeadlineExceeded,
			true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(row.slowAfter)
				for range 3 {
					err := call(t, b, row.timeout, row.err)
					if !errors.Is(err, row.want) || errors.Is(err, breaker.ErrCanceled) != (row.err == nil && !row.open) {
						t.Errorf("got %v, want %v", err, row.want)
					}
				}
				if err := b.Err(); (err != nil) != row.open {
					t.Errorf("got %v, want open: %v", err, row.open)
				}
			})
		})
	}
}

// call calls f with a context that ends after timeout, or is canceled after a second.
func call(t *testing.T, b *breaker.Breaker, timeout time.Duration, err error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(t.Context(), timeout)
	} else {
		time.AfterFunc(time.Second, cancel)
	}
	defer cancel()
	return b.Do(ctx, func() error {
		if err == nil {
			<-ctx.Done()
			return ctx.Err()
		}
		return err
	})
}

// TestPanic counts a panic as a failure.
func TestPanic(t *testing.T) {
	t.Parallel()
	b := newBreaker(0)
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			_ = b.Do(t.Context(), func() error { panic("no vectors") })
		}()
	}
	if err := b.Err(); err == nil || !strings.Contains(err.Error(), "no vectors") {
		t.Errorf("got %v, want an open breaker with the panic as the last failure", err)
	}
}
