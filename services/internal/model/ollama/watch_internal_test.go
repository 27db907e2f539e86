package ollama

import (
	"context"
	"errors"
	"testing"
	"time"
)

// begun is a request under watch, and the context that the watch cancels.
func begun(t *testing.T, w *watch) (context.Context, *wait) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := w.begin(cancel)
	t.Cleanup(func() {
		w.end(r)
		cancel(nil)
	})
	return ctx, r
}

func TestWatchCancelsAllThatWait(t *testing.T) {
	t.Parallel()
	w := newWatch(time.Hour)
	spoken, s := begun(t, w)
	w.hear(s)
	first, r := begun(t, w)
	second, _ := begun(t, w)
	w.expire(r)
	for _, ctx := range []context.Context{first, second} {
		if got := context.Cause(ctx); !errors.Is(got, errSilent) {
			t.Errorf("a request that waits: %v, want errSilent", got)
		}
	}
	if spoken.Err() != nil {
		t.Error("a request that was spoken to is canceled")
	}
}

func TestWatchGivesMoreTimeWhenTheServerSpeaks(t *testing.T) {
	t.Parallel()
	w := newWatch(time.Hour)
	_, s := begun(t, w)
	ctx, r := begun(t, w)
	w.hear(s)
	w.expire(r)
	if ctx.Err() != nil {
		t.Error("canceled, though the server spoke to another request")
	}
	w.expire(r)
	if ctx.Err() == nil {
		t.Error("not canceled, though the server was silent since")
	}
}

func TestWatchLeavesTheHeardAlone(t *testing.T) {
	t.Parallel()
	w := newWatch(time.Hour)
	ctx, r := begun(t, w)
	w.end(r)
	w.expire(r)
	if ctx.Err() != nil {
		t.Error("canceled after its end")
	}
}
