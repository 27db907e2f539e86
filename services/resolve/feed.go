package resolve

import (
	"context"
	"log/slog"
	"time"

	"cairn/bus/retry"
	"cairn/bus/telemetry"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
	"cairn/services/internal/projection"
	"cairn/services/internal/watermark"
)

const (
	// Backoff of retries while the embedder is unavailable.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// feed applies the log to an index. It is separate from the view, so that the view
// catches up while the embedder is unavailable.
type feed struct {
	index   index.Index
	view    *view // of the same log, to measure the lag; nil: not measured
	log     *slog.Logger
	applied watermark.Watermark
	stall   chan struct{} // closed at the first failure
}

func newFeed(ix index.Index, view *view, log *slog.Logger) *feed {
	return &feed{index: ix, view: view, log: log, stall: make(chan struct{})}
}

// stalled returns a channel that is closed after the first failure.
func (f *feed) stalled() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.stall
}

// apply applies the changes to the index and retries until it succeeds. It returns
// nil when ctx ends.
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
		f.recordFailure(err)
		if retry.Sleep(ctx, wait) != nil {
			return nil
		}
	}
	f.applied.Advance(changes[len(changes)-1].Watermark())
	f.measure()
	return nil
}

// measure reports the lag of the index behind the view.
func (f *feed) measure() {
	if f.view == nil {
		return
	}
	applied := f.applied.Revision()
	telemetry.IndexLag.WithLabelValues("embedded").Set(float64(max(f.view.Applied.Revision(), applied) - applied))
}

// recordFailure records that the index is blocked, and logs the first failure.
func (f *feed) recordFailure(err error) {
	applied, blocked := f.applied.State()
	if blocked == nil {
		f.log.Warn("the index lags behind the catalog", "revision", applied, "err", err)
	}
	f.applied.Fail(err)
	f.measure()
	select {
	case <-f.stall:
	default:
		close(f.stall)
	}
}

func (f *feed) waitRevision(ctx context.Context, revision uint64) (blocked bool, err error) {
	err = waitRevision(ctx, &f.applied, revision, indexTimeout)
	applied, stall := f.applied.State()
	if isTimeout(err) {
		return false, errBehind("index", revision, applied)
	}
	return stall != nil || err != nil, nil
}
