package watermark_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"cairn/services/internal/watermark"
)

var errStuck = errors.New("blocked")

func TestWatermarkWait(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		name     string
		revision uint64
		ctx      context.Context
		blocked  error
		want     error
	}{
		{"revision 0 is always applied", 0, t.Context(), nil, nil},
		{"the applied revision", 5, t.Context(), nil, nil},
		{"an applied revision, after ctx has ended", 4, canceled, nil, nil},
		{"an applied revision of a blocked projection", 5, t.Context(), errStuck, nil},
		{"a later revision of a blocked projection", 6, t.Context(), errStuck, errStuck},
		{"a later revision, until ctx ends", 6, canceled, nil, context.Canceled},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var w watermark.Watermark
			w.Advance(5)
			w.Fail(row.blocked)
			if err := w.Wait(row.ctx, row.revision); !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
}

func TestWaitWhileAdvancing(t *testing.T) {
	t.Parallel()
	var w watermark.Watermark
	var waiting sync.WaitGroup
	for want := range uint64(50) {
		waiting.Go(func() {
			if err := w.Wait(t.Context(), want); err != nil || w.Revision() < want {
				t.Errorf("for %d: at %d, %v", want, w.Revision(), err)
			}
		})
	}
	for revision := range uint64(50) {
		w.Advance(revision + 1)
	}
	waiting.Wait()
}

// TestWaitEndsWhenBlocked wakes a caller that is already waiting.
func TestWaitEndsWhenBlocked(t *testing.T) {
	t.Parallel()
	var w watermark.Watermark
	for range 100 {
		began, ended := make(chan struct{}), make(chan error)
		go func() {
			close(began)
			ended <- w.Wait(t.Context(), 1)
		}()
		<-began
		w.Fail(errStuck)
		if err := <-ended; !errors.Is(err, errStuck) {
			t.Fatalf("got %v, want %v", err, errStuck)
		}
		w.Fail(nil)
	}
	w.Fail(errStuck)
	w.Advance(1)
	if revision, blocked := w.State(); revision != 1 || blocked != nil {
		t.Errorf("after an advance: got %d, %v, want revision 1, not blocked", revision, blocked)
	}
}
