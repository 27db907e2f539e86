package ollama

import (
	"context"
	"testing"
	"time"
)

// watched starts a request and returns the context that the watchdog cancels.
func watched(t *testing.T, w *watchdog, reading time.Duration) (context.Context, *wait) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := w.start(cancel, reading)
	t.Cleanup(func() {
		w.end(r)
		cancel(nil)
	})
	return ctx, r
}

func TestWatchdogAllowsForReading(t *testing.T) {
	t.Parallel()
	w := newWatchdog(time.Hour)
	_, first := watched(t, w, time.Minute)
	if got, want := first.allowance, time.Hour+time.Minute; got != want {
		t.Errorf("allowance %v, want %v", got, want)
	}
	ctx, second := watched(t, w, 2*time.Minute)
	if got, want := second.allowance, time.Hour+3*time.Minute; got != want {
		t.Errorf("allowance of a request that waits for the first one %v, want %v", got, want)
	}
	w.expire(first)
	if ctx.Err() != nil {
		t.Error("canceled, although the server may be reading the second prompt")
	}
	w.data(first)
	w.end(first)
	if got, want := w.allowance(), time.Hour+2*time.Minute; got != want {
		t.Errorf("allowance after the first request %v, want %v", got, want)
	}
	w.expire(second)
	w.expire(second)
	if ctx.Err() == nil {
		t.Error("not canceled, although the server has sent nothing in the allowance")
	}
}

func TestWatchdogIgnoresEndedRequests(t *testing.T) {
	t.Parallel()
	w := newWatchdog(time.Hour)
	ctx, r := watched(t, w, 0)
	w.end(r)
	w.expire(r)
	if ctx.Err() != nil {
		t.Error("canceled after its end")
	}
}
