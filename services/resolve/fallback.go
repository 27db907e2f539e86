package resolve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

const (
	// The fallback indexes changes once none has arrived for idleTimeout, and after maxDelay
	// at the latest: bulk registrations take precedence over indexing.
	idleTimeout = time.Second
	maxDelay    = 30 * time.Second
	// batchSize is the maximum number of changes indexed at once.
	batchSize = 256
)

// fallback is a text index of this worker's records, searched while the shared
// index is unavailable or incomplete.
type fallback struct {
	feed     *feed
	pending  chan struct{} // signals pending changes
	searched chan struct{} // signals a search

	mu      sync.Mutex
	waiting []catalog.Change // pending changes in the order of the log
	queued  uint64           // the watermark of the last change that was queued
}

func newFallback(log *slog.Logger) *fallback {
	return &fallback{
		feed:     newFeed(index.NewWords(), nil, log),
		pending:  make(chan struct{}, 1),
		searched: make(chan struct{}, 1),
	}
}

// enqueue queues changes. It does nothing on a nil fallback.
func (f *fallback) enqueue(changes []catalog.Change) {
	if f == nil || len(changes) == 0 {
		return
	}
	f.mu.Lock()
	f.waiting = append(f.waiting, changes...)
	f.queued = changes[len(changes)-1].Watermark()
	f.mu.Unlock()
	signal(f.pending)
}

// run indexes queued changes until ctx ends.
func (f *fallback) run(ctx context.Context) {
	for filled := false; ; {
		select {
		case <-f.pending:
		case <-ctx.Done():
			return
		}
		f.awaitIdle(ctx)
		for next := f.next(); len(next) > 0 && ctx.Err() == nil; next = f.next() {
			_ = f.feed.apply(ctx, next) // retries until it succeeds or ctx ends
		}
		if !filled {
			debug.FreeOSMemory() // releases the memory used by the replay
			filled = true
		}
	}
}

// awaitIdle waits until the log is idle or a search needs the pending changes.
func (f *fallback) awaitIdle(ctx context.Context) {
	idle, end := time.NewTimer(idleTimeout), time.NewTimer(maxDelay)
	defer idle.Stop()
	defer end.Stop()
	for {
		select {
		case <-f.pending:
			idle.Reset(idleTimeout)
			continue
		case <-idle.C:
		case <-end.C:
		case <-f.searched:
		case <-ctx.Done():
		}
		return
	}
}

func (f *fallback) next() []catalog.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(batchSize, len(f.waiting))
	next := f.waiting[:n:n]
	f.waiting = f.waiting[n:]
	if len(f.waiting) == 0 {
		f.waiting = nil // releases the applied changes
	}
	return next
}

// search compares words; cause is the error of the shared index.
func (f *fallback) search(ctx context.Context, q index.Query, cause error) (index.Result, error) {
	f.mu.Lock()
	queued := f.queued
	f.mu.Unlock()
	signal(f.searched)
	err := waitWithoutSlot(ctx, &f.feed.applied, queued, catchUpTimeout)
	if errors.Is(err, bus.ErrNoSlot) {
		return index.Result{}, err
	}
	if err != nil {
		return index.Result{}, fmt.Errorf("%w: %w; the fallback index of the worker is not ready yet",
			index.ErrUnavailable, cause)
	}
	q.By = index.Text
	result, err := f.feed.index.Search(ctx, q)
	result.Degraded = schemas.IndexUnavailable
	return result, err
}

// query searches the index, or the fallback if the index is unavailable. A hanging
// index uses at most half of the time until the deadline.
func (r *Resolver) query(ctx context.Context, q index.Query) (index.Result, error) {
	if r.fallback == nil || q.By == index.Vector {
		return r.deps.Index.Search(ctx, q)
	}
	bounded, cancel := halfDeadline(ctx)
	defer cancel()
	result, err := r.deps.Index.Search(bounded, q)
	slow := bounded.Err() != nil && ctx.Err() == nil
	if err == nil || !slow && !errors.Is(err, index.ErrUnavailable) {
		return result, err
	}
	return r.fallback.search(ctx, q, err)
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
