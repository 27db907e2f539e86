package resolve

import (
	"context"
	"log/slog"
	"time"

	"cairn/bus/telemetry"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
	"cairn/services/internal/projection"
)

const (
	// An embedder that is away is asked again after a moment, then less often.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// feed brings the log into an index. It follows by itself, so that records
// are read on while an embedder is away.
type feed struct {
	index index.Index
	view  *view // of the same log, which the index may be behind; nil: it is not counted
	log   *slog.Logger
	mark  *mark
	stall chan struct{} // closed at the first failure
}

func newFeed(ix index.Index, view *view, log *slog.Logger) *feed {
	return &feed{index: ix, view: view, log: log, mark: newMark(), stall: make(chan struct{})}
}

// stalled closes when the index could not be fed for the first time.
func (f *feed) stalled() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.stall
}

// apply puts the changes into the index, however long that takes. It gives up
// when ctx ends, without an error.
func (f *feed) apply(ctx context.Context, changes []catalog.Change) error {
	documents := projection.Changes(changes)
	for wait := firstRetry; len(documents) > 0; wait = min(2*wait, lastRetry) {
		err := f.index.Apply(ctx, documents)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			break
		}
		f.failed(err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
	f.mark.set(changes[len(changes)-1].Revision, nil)
	f.measure()
	return nil
}

// measure counts how far the index is behind the records.
func (f *feed) measure() {
	if f.view == nil {
		return
	}
	reached, _ := f.mark.get()
	telemetry.IndexLag("embedded", max(f.view.Revision(), reached)-reached)
}

// failed notes that the index is stuck; it is logged when it begins to be.
func (f *feed) failed(err error) {
	reached, stuck := f.mark.get()
	if stuck == nil {
		f.log.Warn("the index is behind", "revision", reached, "err", err)
	}
	f.mark.set(reached, err)
	f.measure()
	select {
	case <-f.stall:
	default:
		close(f.stall)
	}
}
