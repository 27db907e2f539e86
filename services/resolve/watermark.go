package resolve

import (
	"context"
	"sync"
)

// watermark is the highest revision that a projection has applied, and the error
// that it is stuck at, if any.
type watermark struct {
	mu      sync.Mutex
	applied uint64
	stuck   error
	changed chan struct{} // closed and replaced when the other fields change
}

func newWatermark() *watermark { return &watermark{changed: make(chan struct{})} }

func (w *watermark) set(applied uint64, stuck error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applied, w.stuck = applied, stuck
	close(w.changed)
	w.changed = make(chan struct{})
}

// get returns the watermark and the error that the projection is stuck at, if any.
func (w *watermark) get() (applied uint64, stuck error) {
	applied, _, stuck = w.watch()
	return applied, stuck
}

// watch is get with a channel that is closed when the result changes.
func (w *watermark) watch() (applied uint64, changed <-chan struct{}, stuck error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.applied, w.changed, w.stuck
}

// await is waitFor with catchUpTimeout, without the slot of the request.
func (w *watermark) await(ctx context.Context, revision uint64) error {
	if applied, _ := w.get(); applied >= revision {
		return nil
	}
	return wait(ctx, func(ctx context.Context) error { return w.waitFor(ctx, revision) })
}

// waitFor returns nil once the revision is applied, the error that the projection
// is stuck at, or the error of ctx.
func (w *watermark) waitFor(ctx context.Context, revision uint64) error {
	for {
		applied, changed, stuck := w.watch()
		if applied >= revision {
			return nil
		}
		if stuck != nil {
			return stuck
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
