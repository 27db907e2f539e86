package bus

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"

	"cairn/schemas"
)

const (
	checkTTL = 250 * time.Millisecond // lifetime of a shared result
	// checkTimeout bounds a service's health check. It is shorter than the timeout of an
	// edge, so that a hanging backend is reported instead of the service.
	checkTimeout = 750 * time.Millisecond
)

// Check shares the results of a health check: it is evaluated once at a time and at most once in its
// lifetime, 250 ms, for any number of callers. It may be used concurrently.
type Check[T any] struct {
	ttl      time.Duration
	timeout  time.Duration
	evaluate func(context.Context) T
	flights  singleflight.Group

	// Guarded by flights.
	result T         // of the last evaluation
	until  time.Time // when result expires
}

// NewCheck returns a check that calls evaluate with the timeout.
func NewCheck[T any](timeout time.Duration, evaluate func(context.Context) T) *Check[T] {
	return NewCheckFor(checkTTL, timeout, evaluate)
}

// NewCheckFor is NewCheck with another lifetime of results.
func NewCheckFor[T any](ttl, timeout time.Duration, evaluate func(context.Context) T) *Check[T] {
	return &Check[T]{ttl: ttl, timeout: timeout, evaluate: evaluate}
}

// Result returns a result that is not older than its lifetime. Canceling ctx does not cancel the
// evaluation, since other callers share it.
func (c *Check[T]) Result(ctx context.Context) T {
	shared, _, _ := c.flights.Do("", func() (any, error) {
		if time.Now().Before(c.until) {
			return c.result, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
		defer cancel()
		c.result = c.evaluate(ctx)
		c.until = time.Now().Add(c.ttl)
		return c.result, nil
	})
	result, _ := shared.(T) // a nil interface is no T: the zero T is the result
	return result
}

// ServeHealth answers health requests for the named service, regardless of the load of s.
// Requests share results (see Check). waitApplied waits for the minimum revision of a request, if it
// has one, and returns the revision that the service has applied; nil for a service without revisions.
func ServeHealth(
	s *Service, name string, health func(context.Context) (schemas.Health, error),
	waitApplied func(context.Context) (uint64, error),
) error {
	type result struct {
		schemas.Health
		err error
	}
	check := NewCheck(checkTimeout, func(ctx context.Context) result {
		h, err := health(ctx)
		return result{h, err}
	})
	return Health(name).serve(s, s.checks, func(ctx context.Context, _ schemas.Nothing) (schemas.Health, error) {
		var applied uint64
		if waitApplied != nil {
			var err error
			if applied, err = waitApplied(ctx); err != nil {
				return schemas.Health{}, err
			}
		}
		r := check.Result(ctx)
		r.Revision = max(r.Revision, applied) // the result may be older
		return r.Health, r.err
	})
}
