package resolve

import (
	"context"
	"log/slog"
	"time"

	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
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
	log   *slog.Logger
	mark  *mark
	stall chan struct{} // closed at the first failure
}

func newFeed(ix index.Index, log *slog.Logger) *feed {
	return &feed{index: ix, log: log, mark: newMark(), stall: make(chan struct{})}
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
	documents := searchable(changes)
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
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
	return nil
}

// failed notes that the index is stuck; it is logged when it begins to be.
func (f *feed) failed(err error) {
	reached, stuck := f.mark.get()
	if stuck == nil {
		f.log.Warn("the index is behind", "revision", reached, "err", err)
	}
	f.mark.set(reached, err)
	select {
	case <-f.stall:
	default:
		close(f.stall)
	}
}

// searchable is what the changes mean to an index. A record that cannot be
// read is not to be found, nor is what it replaced.
func searchable(changes []catalog.Change) []index.Change {
	var documents []index.Change
	for _, c := range changes {
		id := index.Document{Kind: c.Key.Kind, Tenant: c.Key.Tenant, ID: c.Key.ID}
		if !indexed(id.Kind) {
			continue
		}
		d, err := document(c)
		if c.Removed || err != nil {
			documents = append(documents, index.Change{Document: id, Revision: c.Revision, Removed: true})
			continue
		}
		documents = append(documents, index.Change{Document: d, Revision: c.Revision})
	}
	return documents
}
