// Package resolve answers what agents ask at runtime: which skill, with all
// that serves it, which agent, which tools. A worker holds the whole catalog
// in memory, as records and as a graph, and reads along with its log; what it
// answers is at most a moment old, and as new as the caller asks for.
package resolve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/singleflight"

	"cairn/bus"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/graph"
	"cairn/services/internal/index"
)

// Deps are what a resolver works with.
type Deps struct {
	Catalog *catalog.Catalog
	Index   index.Index // closed by the caller, after the resolver
	// Feed says that the index is this worker's own and begins empty, so that
	// the resolver fills it from the log. Any other may be away: the resolver
	// keeps a spare.
	Feed     bool
	Backends map[string]string // the URLs in use, for the health
	// Embedder is asked how it is, for the health; nil when there is none to ask.
	Embedder embed.Embedder
	Log      *slog.Logger
}

// Resolver is a view of the catalog that follows its log. It may be used
// concurrently.
type Resolver struct {
	deps  Deps
	feed  *feed  // of the worker's own index; nil when others feed it
	spare *spare // for an index that others feed; else nil

	// mu is held for writing while changes are taken in, so that who reads
	// sees a record and its links at one revision.
	mu     sync.RWMutex
	view   *view
	graph  *graph.Graph
	reader graph.Reader          // of the graph; to be used while mu is held
	aside  map[graph.Node]uint64 // unreadable records, and their revisions
	packed packages
	lasts  singleflight.Group // reads of the log's last revision

	stop   context.CancelFunc
	follow sync.WaitGroup
	lost   error // why the log is no longer followed; guarded by mu
}

// Open reads the catalog and returns when all that it holds now has been taken
// in: records and links, and the index as far as its embedder lets it. The
// caller closes the resolver, which follows the log until then.
func Open(ctx context.Context, deps Deps) (*Resolver, error) {
	r := &Resolver{
		deps:  deps,
		view:  catalog.NewView[kept](),
		graph: graph.New(),
		aside: map[graph.Node]uint64{},
	}
	r.reader = graph.Reader{Graph: r.graph, Has: r.has}
	following, stop := context.WithCancel(context.Background())
	r.stop = stop
	if !deps.Feed {
		r.spare = newSpare(r)
		r.follow.Go(func() { r.spare.run(following) })
	}
	read := r.start(following, r.apply)
	fed := closed()
	if deps.Feed {
		r.feed = newFeed(deps.Index, r.view, deps.Log)
		fed = r.start(following, func(changes []catalog.Change) error {
			return r.feed.apply(following, changes)
		})
	}
	if err := r.opened(ctx, read, fed); err != nil {
		r.Close()
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	if deps.Feed { // else it is the spare that is filled last
		r.follow.Go(debug.FreeOSMemory) // what it took is not needed again
	}
	return r, nil
}

// start follows the log in a goroutine that Close waits for, until ctx ends,
// and notes when it could not. The channel it answers with closes when all that
// is in the log now was applied, or when it is no longer followed.
func (r *Resolver) start(ctx context.Context, apply func([]catalog.Change) error) <-chan struct{} {
	ready := make(chan struct{})
	once := sync.OnceFunc(func() { close(ready) })
	r.follow.Go(func() {
		defer once()
		if err := r.deps.Catalog.Follow(ctx, apply, once); err != nil {
			r.mu.Lock()
			r.lost = errors.Join(r.lost, err)
			r.mu.Unlock()
			r.deps.Log.Error("the catalog is no longer followed", "err", err)
		}
	})
	return ready
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// opened waits until the records are read, and the index is as far as it gets.
func (r *Resolver) opened(ctx context.Context, read, fed <-chan struct{}) error {
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

// Close ends the reading of the log and returns when nothing runs any more.
// What is served goes on with what was read.
func (r *Resolver) Close() {
	r.stop()
	r.follow.Wait()
}

// Serve answers the resolve and listing endpoints, and the service's health,
// on s.
func (r *Resolver) Serve(s *bus.Service) error {
	return errors.Join(
		bus.ResolveSkill.Serve(s, r.skill),
		bus.ResolveAgent.Serve(s, r.agent),
		bus.ResolveContext.Serve(s, r.context),
		bus.ResolveContextBuilders.Serve(s, r.context),
		bus.ResolveTools.Serve(s, r.tools),
		bus.ResolveToolClass.Serve(s, r.toolClass),
		bus.ResolveTemplate.Serve(s, r.template),
		bus.ResolveGuardrail.Serve(s, r.guardrail),
		bus.ListSkills.Serve(s, r.listSkills),
		bus.ListTools.Serve(s, r.listTools),
		bus.ServeHealth(s, "resolve", r.health),
	)
}
