// Package resolve answers runtime queries for skills, agents and tools. A worker
// holds the whole catalog in memory, as a view and a graph that follow its log.
// Responses lag the log by moments, and include the minimum revision of the
// request.
package resolve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/singleflight"

	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/graph"
	"cairn/services/internal/index"
	"cairn/services/internal/usage"
)

// Deps are the dependencies of a resolver.
type Deps struct {
	Catalog *catalog.Catalog
	Index   index.Index // closed by the caller, after the resolver
	// Feed means that the index is empty and private to this worker, so that the
	// resolver fills it from the log. A shared index may become unavailable, so the
	// resolver keeps a fallback index of words.
	Feed     bool
	Usage    *usage.Recorder   // counts the records of responses
	Backends map[string]string // URLs for the health
	// Embedder is checked by the health; nil if there is none.
	Embedder embed.Embedder
	Log      *slog.Logger
}

// Resolver is a projection of the catalog. It is safe for concurrent use. Its handlers are
// grouped by endpoint, one file per group; apply.go and catchup.go follow the log.
type Resolver struct {
	deps     Deps
	feed     *feed     // fills the worker's own index; nil if the index is shared
	fallback *fallback // fallback for a shared index; else nil

	// mu is held for writing while changes are applied, so that readers see a
	// record and its links at one revision.
	mu            sync.RWMutex
	view          *view
	graph         *graph.Graph
	reader        graph.Reader          // of the graph; requires mu
	quarantined   map[graph.Node]uint64 // records that cannot be decoded, with their revisions; served as absent
	packages      packages
	revisionReads singleflight.Group // shared reads of the log's revision

	stop   context.CancelFunc
	follow sync.WaitGroup
	lost   error // reason for which the resolver stopped following the log; guarded by mu
}

// Open returns when the view has applied the current log, and the worker's own index
// has also applied it or has stalled because of its embedder. The resolver follows the
// log until the caller closes it.
func Open(ctx context.Context, deps Deps) (*Resolver, error) {
	r := &Resolver{
		deps:        deps,
		view:        catalog.NewView[storedRecord](),
		graph:       graph.New(),
		quarantined: map[graph.Node]uint64{},
	}
	r.reader = graph.Reader{Graph: r.graph, Has: r.linked}
	following, stop := context.WithCancel(context.Background())
	r.stop = stop
	if !deps.Feed {
		r.fallback = newFallback(deps.Log)
		r.follow.Go(func() { r.fallback.run(following) })
	}
	read := r.start(following, r.apply)
	fed := closed()
	if deps.Feed {
		r.feed = newFeed(deps.Index, r.view, deps.Log)
		fed = r.start(following, func(changes []catalog.Change) error {
			return r.feed.apply(following, changes)
		})
	}
	if err := r.awaitReady(ctx, read, fed); err != nil {
		r.Close()
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	if deps.Feed { // otherwise the fallback is filled last
		r.follow.Go(debug.FreeOSMemory) // releases the memory used by the replay
	}
	return r, nil
}

// start follows the log in a goroutine until ctx ends, and records its failure. Close
// waits for the goroutine. The returned channel is closed when the current log has been
// applied or following has failed.
func (r *Resolver) start(ctx context.Context, apply func([]catalog.Change) error) <-chan struct{} {
	ready := make(chan struct{})
	once := sync.OnceFunc(func() { close(ready) })
	r.follow.Go(func() {
		defer once()
		if err := r.deps.Catalog.Follow(ctx, apply, once); err != nil && ctx.Err() == nil {
			r.mu.Lock()
			r.lost = errors.Join(r.lost, err)
			r.mu.Unlock()
			r.deps.Log.Error("stopped following the catalog", "err", err)
		}
	})
	return ready
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// awaitReady waits until the view has caught up and the index has caught up or stalled.
func (r *Resolver) awaitReady(ctx context.Context, read, fed <-chan struct{}) error {
	select {
	case <-read:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-fed:
	case <-r.feed.stalled():
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.lost
}

// Close stops following the log and waits for all goroutines. Requests are still
// answered from the view.
func (r *Resolver) Close() {
	r.stop()
	r.follow.Wait()
}
