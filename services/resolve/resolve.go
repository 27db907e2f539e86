// Package resolve answers runtime queries for skills, agents and tools. A worker
// holds the whole catalog in memory, as a view and a graph that follow its log.
// Responses lag the log by moments, and include the minimum revision of the
// request.
package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"
	"unique"

	"golang.org/x/sync/singleflight"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/graph"
	"cairn/services/internal/index"
	"cairn/services/internal/projection"
	"cairn/services/internal/scope"
	"cairn/services/internal/usage"
)

// Deps are the dependencies of a resolver.
type Deps struct {
	Catalog *catalog.Catalog
	Index   index.Index // closed by the caller, after the resolver
	// Feed means that the index is empty and private to this worker, so that the
	// resolver fills it from the log. A shared index may become unavailable, so the
	// resolver keeps a local index of words.
	Feed     bool
	Usage    *usage.Recorder   // counts the records of responses
	Backends map[string]string // URLs for the health
	// Embedder is checked by the health; nil if there is none.
	Embedder embed.Embedder
	Log      *slog.Logger
}

// Resolver is a projection of the catalog. It is safe for concurrent use. Its methods follow
// the log, wait for revisions and read records; the handlers of the endpoints are functions,
// one file per group.
type Resolver struct {
	deps  Deps
	feed  *feed       // fills the worker's own index; nil if the index is shared
	local *localIndex // for a shared index; else nil

	// mu is held for writing while changes are applied, so that readers see a
	// record and its links at one revision.
	mu            sync.RWMutex
	view          *view
	graph         *graph.Graph
	reader        graph.Reader          // of the graph; requires mu
	quarantined   map[graph.Node]uint64 // records that cannot be decoded, with their revisions; served as absent
	packages      packages
	revisionReads singleflight.Group // shared reads of the log's revision
	longScans     *admission.Pool
	dangling      danglingReferences

	stop   context.CancelFunc
	follow sync.WaitGroup
	lost   error // reason for which the resolver stopped following the log; guarded by mu
}

// newResolver returns a resolver of an empty log.
func newResolver(deps Deps) *Resolver {
	r := &Resolver{
		deps:        deps,
		view:        newView(),
		graph:       graph.New(),
		quarantined: map[graph.Node]uint64{},
		longScans:   admission.NewLongPool(),
	}
	r.reader = graph.Reader{Graph: r.graph, Has: r.linked}
	return r
}

// Open returns when the view has applied the current log, and the worker's own index
// has also applied it or has stalled because of its embedder. The resolver follows the
// log until the caller closes it.
func Open(ctx context.Context, deps Deps) (*Resolver, error) {
	r := newResolver(deps)
	following, stop := context.WithCancel(context.Background())
	r.stop = stop
	if !deps.Feed {
		r.local = newLocalIndex(deps.Log)
		r.follow.Go(func() { r.local.run(following) })
	}
	read := r.start(following, r.apply)
	fed := read
	if deps.Feed {
		r.feed = newFeed(deps.Index, r.view, deps.Log)
		fed = r.start(following, func(changes []catalog.Change) error {
			return r.feed.apply(following, changes)
		})
	}
	if err := r.waitReady(ctx, read, fed); err != nil {
		r.Close()
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	if deps.Feed { // otherwise the local index is filled last
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

// waitReady waits until the view has caught up and the index has caught up or stalled.
func (r *Resolver) waitReady(ctx context.Context, read, fed <-chan struct{}) error {
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

// maxApply is the time after which apply lets waiting requests run before the next change.
const maxApply = 2 * time.Millisecond

// apply applies changes of the log to the view and the graph, each atomically. It
// quarantines unreadable records: they are treated as absent and reported by the
// health.
func (r *Resolver) apply(changes []catalog.Change) error {
	r.local.enqueue(changes) // before a search can wait for these changes
	read := make([]decoded, len(changes))
	stored := make([]storedRecord, len(changes))
	visible := slices.Clone(changes)
	for i, c := range changes {
		if c.Removed || !c.IsRecord() {
			continue
		}
		var err error
		if read[i], err = decode(c); err != nil {
			r.deps.Log.Warn("quarantined unreadable record", "key", c.Key, "revision", c.Revision, "err", err)
			read[i].unreadable, visible[i].Removed = true, true
			continue
		}
		stored[i] = storedRecord{read[i].record, unique.Make(read[i].facts), read[i].instructions, c.Stored.UnixMilli()}
	}
	for next := 0; next < len(changes); {
		next += r.applyDecoded(visible[next:], read[next:], stored[next:])
	}
	return nil
}

// applyDecoded applies decoded changes for at most about maxApply, and returns how many.
func (r *Resolver) applyDecoded(changes []catalog.Change, read []decoded, stored []storedRecord) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for began := time.Now(); n < len(changes) && (n == 0 || time.Since(began) < maxApply); n++ {
		c := changes[n]
		if !c.IsRecord() {
			continue
		}
		node := nodeOf(c.Key)
		r.graph.Apply(node, read[n].edges)
		delete(r.quarantined, node)
		if read[n].unreadable {
			r.quarantined[node] = c.Revision
		}
	}
	if slices.ContainsFunc(changes[:n], func(c catalog.Change) bool { return c.IsRecord() || c.Alias }) {
		r.packages.reset()
	}
	r.view.Apply(changes[:n], stored[:n])
	telemetry.CatalogRevision.WithLabelValues("resolve").Set(float64(r.view.Applied.Revision()))
	telemetry.RecordsQuarantined.WithLabelValues("resolve").Set(float64(len(r.quarantined)))
	return n
}

// has reports whether the record exists. The caller holds mu.
func (r *Resolver) has(n graph.Node) bool {
	_, ok := r.view.Get(keyOf(n))
	return ok
}

// linked reports whether the record exists and is neither a draft nor retired. The
// caller holds mu.
func (r *Resolver) linked(n graph.Node) bool {
	k, ok := r.view.Get(keyOf(n))
	return ok && schemas.Linkable(k.facts.Value().status)
}

// findByID returns the record that a request names by id: a record that links reach, or else a draft or
// retired one. The caller holds mu.
func (r *Resolver) findByID(kind string, s scope.Scope, id string) (graph.Node, bool) {
	if n, ok := r.reader.Find(kind, s, id); ok {
		return n, true
	}
	all := graph.Reader{Graph: r.graph, Has: r.has}
	return all.Find(kind, s, id)
}

// record returns the record of an existing node. The caller holds mu.
func (r *Resolver) record(n graph.Node) []byte {
	k, _ := r.view.Get(keyOf(n))
	return k.record
}

// factsOf returns the facts of an existing node. The caller holds mu.
func (r *Resolver) factsOf(n graph.Node) facts {
	k, _ := r.view.Get(keyOf(n))
	return k.facts.Value()
}

// waitMinRevision waits until the view has applied the minimum revision of the request.
func (r *Resolver) waitMinRevision(ctx context.Context) error {
	revision := r.minRevision(ctx)
	if r.view.Applied.Revision() >= revision {
		return nil // the common case needs neither a request nor a timer
	}
	if err := waitRevision(ctx, &r.view.Applied, revision, usualLag); !isTimeout(err) {
		return err
	}
	if err := r.checkRevision(ctx, revision); err != nil {
		return err
	}
	return r.waitApplied(ctx, revision)
}

// minRevision returns the minimum revision of the request in this worker's catalog.
func (r *Resolver) minRevision(ctx context.Context) uint64 {
	return bus.MinRevisionOf(ctx, r.deps.Catalog.ID())
}

// checkRevision returns ErrMalformed for a revision beyond the end of the log. The state of the leader
// suffices to accept a revision. To reject one, it writes a fence, since a deposed leader may lack the
// newest writes.
func (r *Resolver) checkRevision(ctx context.Context, revision uint64) error {
	return bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) error {
		last, err := r.latestRevision(ctx)
		if err != nil || last < revision {
			last, err = r.deps.Catalog.Fence(ctx)
		}
		if err != nil {
			return fmt.Errorf("read the last revision: %w", err)
		}
		if last < revision {
			return schemas.ErrMalformed.With(schemas.FieldError{
				Field:   bus.HeaderMinRevision,
				Message: fmt.Sprintf("expected a revision of the catalog, whose last one is %d, got %d", last, revision),
			})
		}
		return nil
	})
}

// latestRevision returns the catalog's revision. Concurrent calls share one read.
func (r *Resolver) latestRevision(ctx context.Context) (uint64, error) {
	last, err, _ := r.revisionReads.Do("", func() (any, error) {
		return r.deps.Catalog.Revision(context.WithoutCancel(ctx))
	})
	return last.(uint64), err
}

// waitApplied waits until the view has applied the revision.
func (r *Resolver) waitApplied(ctx context.Context, revision uint64) error {
	err := waitRevision(ctx, &r.view.Applied, revision, catchUpTimeout)
	if isTimeout(err) {
		return errBehind("records", revision, r.view.Applied.Revision())
	}
	return err
}

// waitSearchable waits until the index has applied the minimum revision of the
// request. It does not wait for a blocked index, which degrades the response. It
// does not wait for a shared index either: registration updates it before it
// returns the revision.
func (r *Resolver) waitSearchable(ctx context.Context) (blocked bool, err error) {
	if err := r.waitMinRevision(ctx); err != nil || r.feed == nil {
		return false, err
	}
	return r.feed.waitRevision(ctx, r.minRevision(ctx))
}

// waitAbsent waits until the view includes every write before the request, if it lacks one
// of the records: an id that is missing afterwards had no record when the request arrived. It writes
// one fence for all ids.
func (r *Resolver) waitAbsent(ctx context.Context, kind string, s scope.Scope, ids ...string) error {
	if !r.anyMissing(kind, s, ids) {
		return nil
	}
	var fence uint64
	err := bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
		fence, err = r.deps.Catalog.Fence(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("find records of kind %s: %w", kind, err)
	}
	return r.waitApplied(ctx, fence)
}

// anyMissing reports whether any of the ids has no record in the scope.
func (r *Resolver) anyMissing(kind string, s scope.Scope, ids []string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range ids {
		if _, ok := r.findByID(kind, s, id); !ok {
			return true
		}
	}
	return false
}

// query searches the index, or the local index if the shared one is unavailable. A hanging
// index uses at most half of the time until the deadline.
func (r *Resolver) query(ctx context.Context, q index.Query) (index.Result, error) {
	if r.local == nil || q.By == index.Vector {
		return r.deps.Index.Search(ctx, q)
	}
	bounded, cancel := halfDeadline(ctx)
	defer cancel()
	result, err := r.deps.Index.Search(bounded, q)
	slow := bounded.Err() != nil && ctx.Err() == nil
	if err == nil || !slow && !errors.Is(err, index.ErrUnavailable) {
		return result, err
	}
	return r.local.search(ctx, q, err)
}

// confirm waits until view and index have applied the minimum revision of the request, and returns the
// applied revision. Register workers call it through the health endpoint.
func (r *Resolver) confirm(ctx context.Context) (uint64, error) {
	blocked, err := r.waitSearchable(ctx)
	if err != nil {
		return 0, err
	}
	if ignored := bus.IgnoredTokens(ctx); ignored != "" {
		return 0, schemas.ErrUnavailable.Because(
			"catalog mismatch: the worker has catalog " + r.deps.Catalog.ID() + ", the request has revision " + ignored)
	}
	applied := r.applied()
	if required := r.minRevision(ctx); blocked && applied < required {
		return 0, errBehind("index", required, applied)
	}
	return applied, nil
}

// applied returns the revision that view and index have applied.
func (r *Resolver) applied() uint64 {
	if r.feed == nil {
		return r.view.Applied.Revision()
	}
	return min(r.view.Applied.Revision(), r.feed.applied.Revision())
}

func (r *Resolver) health(ctx context.Context) (schemas.Health, error) {
	h := schemas.Health{
		Service:  "resolve",
		Status:   schemas.StatusOK,
		Version:  bus.Version,
		Backends: r.deps.Backends,
		Catalog:  r.deps.Catalog.ID(),
		Revision: r.applied(),
	}
	h.Degraded = append(r.degraded(), r.backends(ctx, &h)...)
	h.Dangling = r.dangling.current(ctx, r)
	if len(h.Degraded) > 0 {
		h.Status = schemas.StatusDegraded
	}
	return h, nil
}

// backends returns the problems of the backends and sets the state of the shared
// index.
func (r *Resolver) backends(ctx context.Context, h *schemas.Health) []string {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var problems []string
	var running sync.WaitGroup
	shared, ok := r.deps.Index.(index.Migrator)
	if ok {
		running.Go(func() { h.Index, problems = projection.Status(ctx, shared) })
	}
	var embedderErr error
	if r.deps.Embedder != nil {
		running.Go(func() { embedderErr = r.deps.Embedder.Check(ctx) })
	}
	running.Wait()
	if embedderErr != nil {
		problems = append(problems, "search compares words only: "+embedderErr.Error())
	}
	return problems
}

// degraded returns the reasons for a degraded status.
func (r *Resolver) degraded() []string {
	var reasons []string
	if r.feed != nil {
		if applied, blocked := r.feed.applied.State(); blocked != nil {
			reasons = append(reasons,
				fmt.Sprintf("the index has applied the catalog up to revision %d only: %v", applied, blocked))
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.lost != nil {
		reasons = append(reasons, "stopped following the catalog: "+r.lost.Error())
	}
	if n := len(r.quarantined); n > 0 {
		reasons = append(reasons, fmt.Sprintf("%d records are unreadable and quarantined, such as %v", n, r.examples()))
	}
	return reasons
}

// examples returns the keys of the oldest quarantined records. The caller holds mu.
func (r *Resolver) examples() []string {
	type record struct {
		node     graph.Node
		revision uint64
	}
	var list []record
	for node, revision := range r.quarantined {
		list = append(list, record{node, revision})
	}
	slices.SortFunc(list, func(a, b record) int { return cmp.Compare(a.revision, b.revision) })
	var keys []string
	for _, a := range list[:min(maxExamples, len(list))] {
		keys = append(keys, fmt.Sprintf("%s at revision %d", keyOf(a.node), a.revision))
	}
	return keys
}

func (r *Resolver) token(revision uint64) schemas.ConsistencyToken {
	return schemas.ConsistencyToken{Catalog: r.deps.Catalog.ID(), Revision: revision}
}

// healthTimeout bounds the health checks of the backends.
const healthTimeout = 650 * time.Millisecond

// maxExamples is the maximum number of quarantined records named in the health.
const maxExamples = 5

const (
	// scanBatch is the number of records that a scan visits before it releases the lock.
	scanBatch = 1000
	// longScan is the number of batches after which a scan waits until it may run in longScans.
	longScan = 10
)

// scan returns the records of the collection after the id, in order, until ctx ends. The loop
// body holds mu for reading; between batches it is released.
func (r *Resolver) scan(ctx context.Context, c catalog.Collection, after string) iter.Seq2[string, storedRecord] {
	return func(yield func(string, storedRecord) bool) {
		end := false
		for batch := 0; !end && ctx.Err() == nil; batch++ {
			if batch == longScan {
				release, err := admission.Acquire(ctx, r.longScans, 1)
				defer release()
				if err != nil {
					return
				}
			}
			after, end = r.scanNext(c, after, yield)
		}
	}
}

// scanNext scans a batch, and returns the id of its last record, and whether the scan ends.
func (r *Resolver) scanNext(c catalog.Collection, after string,
	yield func(string, storedRecord) bool) (last string, end bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	visited := 0
	for id, k := range r.view.After(c, after) {
		if visited == scanBatch {
			return last, false
		}
		visited, last = visited+1, id
		if !yield(id, k) {
			break
		}
	}
	return last, true
}
