package ollama

import (
	"context"
	"errors"
	"testing"
	"time"
)

// watched starts a request and returns the context that the watchdog cancels.
func watched(t *testing.T, w *watchdog) (context.Context, *wait) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := w.start(cancel)
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
