package ollama

import (
	"context"
	"errors"
	"testing"
	"time"
)

// watched starts a request and returns the context that the watchdog cancels.
func watched(t *testing.T, w *watchdog) (context.Context, *wait) { return watchedReading(t, w, 0) }

func watchedReading(t *testing.T, w *watchdog, reading time.Duration) (context.Context, *wait) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := w.start(cancel, reading)
	t.Cleanup(func() {
		w.end(r)
		cancel(nil)
	})
	return ctx, r
}

func TestWatchdogCancelsAllWaiting(t *testing.T) {
	t.Parallel()
	w := newWatchdog(time.Hour)
	answered, s := watched(t, w)
	w.data(s)
	first, r := watched(t, w)
	second, _ := watched(t, w)
	w.expire(r)
	for _, ctx := range []context.Context{first, second} {
		if got := context.Cause(ctx); !errors.Is(got, errStalled) {
			t.Errorf("waiting request: %v, want errStalled", got)
		}
	}
	if answered.Err() != nil {
		t.Error("a request with data was canceled")
	}
}

func TestWatchdogExtendsWhileServerSends(t *testing.T) {
	t.Parallel()
	w := newWatchdog(time.Hour)
	_, s := watched(t, w)
	ctx, r := watched(t, w)
	w.data(s)
	w.expire(r)
	if ctx.Err() != nil {
		t.Error("canceled, although another request has received data")
	}
	w.expire(r)
	if ctx.Err() == nil {
		t.Error("not canceled, although no request has received data since")
	}
}

func TestWatchdogAllowsForReading(t *testing.T) {
	t.Parallel()
	w := newWatchdog(time.Hour)
	_, first := watchedReading(t, w, time.Minute)
	if got, want := first.allowance, time.Hour+time.Minute; got != want {
		t.Errorf("allowance %v, want %v", got, want)
	}
	ctx, second := watchedReading(t, w, 2*time.Minute)
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
	ctx, r := watched(t, w)
	w.end(r)
	w.expire(r)
	if ctx.Err() != nil {
		t.Error("canceled after its end")
	}
}
