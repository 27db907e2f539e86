package embed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// failuresToOpen is the number of consecutive failures that opens the breaker.
	failuresToOpen = 3
	// openFor is the time that the breaker stays open before a probe.
	openFor = 5 * time.Second
	// hasty is a caller's timeout too short to indicate a failed server.
	hasty = 250 * time.Millisecond
)

// errCanceled is returned for a call that its caller canceled.
var errCanceled = errors.New("request canceled")

// guard is a circuit breaker: after failures calls fail at once, until a probe
// succeeds.
type guard[T any] struct {
	breaker *gobreaker.CircuitBreaker[T]
	last    atomic.Pointer[error] // the last failure
}

func newGuard[T any]() *guard[T] {
	return &guard[T]{breaker: gobreaker.NewCircuitBreaker[T](gobreaker.Settings{
		Timeout:     openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failuresToOpen },
		// A canceled call says nothing about the server; an expired deadline counts as a
		// failure.
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, errCanceled) },
		IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, ErrRefused) },
	})}
}

// do calls f, or returns the last failure while the breaker is open.
func (g *guard[T]) do(f func() (T, error)) (T, error) {
	got, err := g.breaker.Execute(func() (T, error) {
		began := time.Now()
		got, err := f()
		if errors.Is(err, context.DeadlineExceeded) && time.Since(began) < hasty {
			err = fmt.Errorf("%w: %w", errCanceled, err)
		}
		return got, err
	})
	switch {
	case err == nil, errors.Is(err, errCanceled):
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		err = g.why()
	case !errors.Is(err, context.Canceled):
		g.last.Store(&err)
	}
	return got, err
}

// why returns the cause of an open breaker.
func (g *guard[T]) why() error {
	last := g.last.Load()
	if last == nil { // the first probe has not returned yet
		return unavailable("left alone after failures")
	}
	return unavailable("left alone after failures, the last: %v", *last)
}

func (g *guard[T]) closed() bool { return g.breaker.State() == gobreaker.StateClosed }

// due reports whether the next call would be a probe.
func (g *guard[T]) due() bool { return g.breaker.State() == gobreaker.StateHalfOpen }
