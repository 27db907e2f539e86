package resolve

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

const (
	// The local index reads changes once none has arrived for idleTimeout, and after maxDelay
	// at the latest: bulk registrations take precedence over indexing.
	idleTimeout = time.Second
	maxDelay    = 30 * time.Second
	// batchSize is the maximum number of changes indexed at once.
	batchSize = 256
)

// localIndex is a text index of this worker's records, searched while the shared
// index is unavailable or incomplete.
type localIndex struct {
	feed     *feed
	pending  chan struct{} // signals pending changes
	searched chan struct{} // signals a search

	mu      sync.Mutex
	waiting []catalog.Change // pending changes in the order of the log
	queued  uint64           // the watermark of the last change that was queued
}

func newLocalIndex(log *slog.Logger) *localIndex {
	return &localIndex{
		feed:     newFeed(index.NewWords(), nil, log),
		pending:  make(chan struct{}, 1),
		searched: make(chan struct{}, 1),
	}
}

// enqueue queues changes. It does nothing on a nil index.
func (l *localIndex) enqueue(changes []catalog.Change) {
	if l == nil || len(changes) == 0 {
		return
	}
	l.mu.Lock()
	l.waiting = append(l.waiting, changes...)
	l.queued = changes[len(changes)-1].Watermark()
	l.mu.Unlock()
	signal(l.pending)
}

// run indexes queued changes until ctx ends.
func (l *localIndex) run(ctx context.Context) {
	for filled := false; ; {
		select {
		case <-l.pending:
		case <-ctx.Done():
			return
		}
		l.waitIdle(ctx)
		for next := l.next(); len(next) > 0 && ctx.Err() == nil; next = l.next() {
			_ = l.feed.apply(ctx, next) // retries until it succeeds or ctx ends
		}
		if !filled {
			debug.FreeOSMemory() // releases the memory used by the replay
			filled = true
		}
	}
}

// waitIdle waits until the log is idle or a search needs the pending changes.
func (l *localIndex) waitIdle(ctx context.Context) {
	idle, end := time.NewTimer(idleTimeout), time.NewTimer(maxDelay)
	defer idle.Stop()
	defer end.Stop()
	for {
		select {
		case <-l.pending:
			idle.Reset(idleTimeout)
			continue
		case <-idle.C:
		case <-end.C:
		case <-l.searched:
		case <-ctx.Done():
		}
		return
	}
}

func (l *localIndex) next() []catalog.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(batchSize, len(l.waiting))
	next := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	if len(l.waiting) == 0 {
		l.waiting = nil // releases the applied changes
	}
	return next
}

// search compares words; cause is the error of the shared index.
func (l *localIndex) search(ctx context.Context, q index.Query, cause error) (index.Result, error) {
	l.mu.Lock()
	queued := l.queued
	l.mu.Unlock()
	signal(l.searched)
	err := waitRevision(ctx, &l.feed.applied, queued, indexTimeout)
	if err != nil {
		return index.Result{}, fmt.Errorf("%w: %w; the local index of the worker is not ready yet",
			index.ErrUnavailable, cause)
	}
	q.By = index.Text
	result, err := l.feed.index.Search(ctx, q)
	result.Degraded = schemas.IndexUnavailable
	return result, err
}

// halfDeadline returns a context with half of the time until ctx's deadline.
func halfDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}

// signal sends on c without blocking.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
