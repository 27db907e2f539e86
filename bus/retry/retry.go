// Package retry repeats operations that failed: [Do] at increasing intervals, and [Budget]
// bounds how many retries requests cause together. Which request may be repeated is documented
// in package bus.
package retry

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// The interval of retries, which doubles and is jittered. The first one is short, because a
// replica that is behind usually applies the missing operations immediately.
const (
	minInterval = time.Millisecond
	maxInterval = 500 * time.Millisecond
)

// Do calls attempt until it succeeds, it fails with an error for which again returns false, or
// ctx ends. The error is that of the last attempt, or context.Canceled if ctx was canceled.
func Do(ctx context.Context, again func(error) bool, attempt func() error) error {
	return DoAfter(ctx, Sleep, again, attempt)
}

// DoAfter is Do with another wait before a retry, which ends the retries with an error.
func DoAfter(ctx context.Context, wait func(context.Context, time.Duration) error, again func(error) bool, attempt func() error) error {
	intervals := backoff.ExponentialBackOff{
		InitialInterval: minInterval, MaxInterval: maxInterval, Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	intervals.Reset()
	for {
		err := attempt()
		if err == nil || !again(err) {
			return err
		}
		stopped := wait(ctx, intervals.NextBackOff())
		if stopped == nil {
			stopped = ctx.Err()
		}
		switch {
		case errors.Is(stopped, context.Canceled):
			return stopped
		case stopped != nil:
			return err
		}
	}
}

// Sleep waits for d, or until ctx ends, and then returns its error.
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
