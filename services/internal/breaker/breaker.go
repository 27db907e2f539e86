// Package breaker is the circuit breaker of backends: after consecutive failures
// calls fail immediately, except for periodic probes.
package breaker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"cairn/bus/telemetry"
)

// openTimeout is the time that a breaker stays open before a probe.
const openTimeout = 5 * time.Second

// ErrCanceled is returned for a call that its caller canceled. It does not indicate a
// failure of the backend and is not counted.
var ErrCanceled = errors.New("request canceled")

// Settings are the policy of a breaker.
type Settings struct {
	Backend  string // label in metrics; empty: no metrics
	Failures uint32 // consecutive failures that open the breaker
	// Failed reports whether the error indicates a failed backend.
	Failed func(error) bool
	// SlowAfter is the duration after which a call that exceeds the caller's deadline
	// is a failure of the backend; 0: never.
	SlowAfter time.Duration
	// Unavailable is wrapped by the error of an open breaker.
	Unavailable error
}

// Breaker is a circuit breaker. It is safe for concurrent use.
type Breaker struct {
	settings Settings
	circuit  *gobreaker.CircuitBreaker[struct{}]
	failure  atomic.Pointer[error] // the last counted failure
}

// New returns a closed breaker.
func New(s Settings) *Breaker {
	b := &Breaker{settings: s}
	b.report(s.Backend, gobreaker.StateClosed, gobreaker.StateClosed)
	b.circuit = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          s.Backend,
		Timeout:       openTimeout,
		OnStateChange: b.report,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= s.Failures },
		IsExcluded:    func(err error) bool { return errors.Is(err, ErrCanceled) },
		IsSuccessful: func(err error) bool {
			if err == nil || !s.Failed(err) {
				return true
			}
			b.failure.Store(&err)
			return false
		},
	})
	return b
}

func (b *Breaker) report(backend string, _, now gobreaker.State) {
	if backend != "" {
		telemetry.CircuitState.WithLabelValues(backend).Set(float64(now))
	}
}

// Do calls f, which returns when ctx ends, and returns its error. If the caller has canceled ctx, the
// error wraps ErrCanceled and the error of ctx. While the breaker is open, Do returns the error of
// Err without calling f.
func (b *Breaker) Do(ctx context.Context, f func() error) error {
	_, err := b.circuit.Execute(func() (struct{}, error) {
		began := time.Now()
		err := f()
		if err != nil && b.canceled(ctx.Err(), time.Since(began)) {
			err = fmt.Errorf("%w: %w", ErrCanceled, ctx.Err())
		}
		return struct{}{}, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return b.open()
	}
	return err
}

// canceled reports whether ended, the error of a call's context, was caused by the caller instead of
// a slow backend.
func (b *Breaker) canceled(ended error, took time.Duration) bool {
	slow := b.settings.SlowAfter > 0 && took >= b.settings.SlowAfter
	return ended != nil && (!slow || errors.Is(ended, context.Canceled))
}

// Err returns nil while the breaker is closed, or else an error that names the last
// failure.
func (b *Breaker) Err() error {
	if b.circuit.State() == gobreaker.StateClosed {
		return nil
	}
	return b.open()
}

// open returns the error of an open breaker. The last failure is context, not the
// cause, so it is not wrapped.
func (b *Breaker) open() error {
	return fmt.Errorf("%w: %w, the last failure was: %s", b.settings.Unavailable, gobreaker.ErrOpenState,
		(*b.failure.Load()).Error())
}

// HalfOpen reports whether the next call is a probe.
func (b *Breaker) HalfOpen() bool { return b.circuit.State() == gobreaker.StateHalfOpen }
