// Package watermark waits for revisions of the catalog to be applied.
package watermark

import (
	"context"
	"sync"
)

// Watermark is the highest revision that a projection has applied, and the error
// that blocks it, if any. The zero value is revision 0. It is safe for
// concurrent use and must not be copied.
type Watermark struct {
	mu       sync.RWMutex
	revision uint64
	blocked  error
	changed  chan struct{} // closed when the other fields change; nil: no caller of Wait
}

// Advance sets the revision, after the changes up to it have been applied. The
// projection is no longer blocked.
func (w *Watermark) Advance(revision uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision = revision
	w.set(nil)
}

// Fail records the error that blocks the projection.
func (w *Watermark) Fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set(err)
}

func (w *Watermark) set(blocked error) {
	w.blocked = blocked
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// Revision returns the highest applied revision.
func (w *Watermark) Revision() uint64 {
	revision, _ := w.State()
	return revision
}

// State returns the highest applied revision and the error that blocks the
// projection, if any.
func (w *Watermark) State() (revision uint64, blocked error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.revision, w.blocked
}

// Wait returns nil once the revision is applied, the error that blocks the
// projection, or the error of ctx.
func (w *Watermark) Wait(ctx context.Context, revision uint64) error {
	for {
		changed, err := w.poll(revision)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// poll returns the result of Wait, or a channel that is closed on the next change if there is no
// result yet.
func (w *Watermark) poll(revision uint64) (changed <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.revision >= revision:
		return nil, nil
	case w.blocked != nil:
		return nil, w.blocked
	case w.changed == nil:
		w.changed = make(chan struct{})
	}
	return w.changed, nil
}
