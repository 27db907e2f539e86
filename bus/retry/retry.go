// Package retry retries failed operations: [Do] with exponential backoff, within a [Budget] that
// bounds the retries of all requests together. Package bus documents which requests are retried.
package retry

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Bounds of the backoff, which is exponential with jitter. The first interval is short, because a
// replica that lags usually applies the missing operations immediately.
const (
	minInterval = time.Millisecond
	maxInterval = 500 * time.Millisecond
)

// Do calls attempt until it succeeds, fails with an error that is not retryable, or ctx ends. It
// returns the error of the last attempt, or context.Canceled if ctx was canceled.
func Do(ctx context.Context, retryable func(error) bool, attempt func() error) error {
	intervals := Intervals()
	for {
		err := attempt()
		if err == nil || !retryable(err) {
			return err
		}
		stopped := cmp.Or(Sleep(ctx, intervals.NextBackOff()), ctx.Err())
		switch {
		case errors.Is(stopped, context.Canceled):
			return stopped
		case stopped != nil:
			return err
		}
	}
}

// Intervals returns the intervals between the attempts of one operation.
func Intervals() backoff.BackOff {
	intervals := &backoff.ExponentialBackOff{
		InitialInterval: minInterval, MaxInterval: maxInterval, Multiplier: 2,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	intervals.Reset()
	return intervals
}

// Sleep waits for d. If ctx ends before, it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
