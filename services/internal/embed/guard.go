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
	// failuresToOpen in a row, and a server is held to be away.
	failuresToOpen = 3
	// openFor is how long it is then left alone.
	openFor = 5 * time.Second
	// hasty callers wait so little that it says nothing about the server.
	hasty = 250 * time.Millisecond
)

// errHasty is of a call that its caller ended too soon.
var errHasty = errors.New("the caller did not wait")

// guard lets calls through while they succeed. After failures they fail at
// once, until one that is let through to try succeeds.
type guard[T any] struct {
	breaker *gobreaker.CircuitBreaker[T]
	last    atomic.Pointer[error] // the last failure
}

func newGuard[T any]() *guard[T] {
	return &guard[T]{breaker: gobreaker.NewCircuitBreaker[T](gobreaker.Settings{
		Timeout:     openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failuresToOpen },
		// A caller who leaves says nothing about the server, one whose time is
		// over does: the server took it.
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, errHasty) },
		IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, ErrRefused) },
	})}
}

// do calls f, or fails with why the calls before it did.
func (g *guard[T]) do(f func() (T, error)) (T, error) {
	got, err := g.breaker.Execute(func() (T, error) {
		began := time.Now()
		got, err := f()
		if errors.Is(err, context.DeadlineExceeded) && time.Since(began) < hasty {
			err = fmt.Errorf("%w: %w", errHasty, err)
		}
		return got, err
	})
	switch {
	case err == nil, errors.Is(err, errHasty):
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		err = g.why()
	case !errors.Is(err, context.Canceled):
		g.last.Store(&err)
	}
	return got, err
}

// why tells why calls fail at once.
func (g *guard[T]) why() error {
	last := g.last.Load()
	if last == nil { // the first to try has not come back
		return unavailable("left alone after failures")
	}
	return unavailable("left alone after failures, the last: %v", *last)
}

func (g *guard[T]) closed() bool { return g.breaker.State() == gobreaker.StateClosed }

// due reports whether a call would be let through to try.
func (g *guard[T]) due() bool { return g.breaker.State() == gobreaker.StateHalfOpen }
