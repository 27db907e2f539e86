package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/graph"
	"cairn/services/internal/index"
	"cairn/services/internal/projection"
)

// healthTime bounds the health checks of the backends.
const healthTime = 650 * time.Millisecond

// maxExamples is the maximum number of quarantined records named in the health.
const maxExamples = 5

// await returns the applied revision once view and index have applied the minimum revision of
// the request, or an error. Registrations are confirmed by it.
func (r *Resolver) await(ctx context.Context) (uint64, error) {
	stuck, err := r.waitSearchable(ctx)
	if err != nil {
		return 0, err
	}
	if ignored := bus.IgnoredTokens(ctx); ignored != "" {
		return 0, schemas.ErrUnavailable.Because(
			"the worker reads another catalog, " + r.deps.Catalog.ID() + ", than that of " + ignored)
	}
	applied := r.applied()
	if least := r.minRevision(ctx); stuck && applied < least {
		return 0, errBehind("index", least, applied)
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

func (r *Resolver) health(ctx context.Context) schemas.Health {
	h := schemas.Health{
		Service:  "resolve",
		Status:   schemas.StatusOK,
		Version:  bus.Version,
		Backends: r.deps.Backends,
		Catalog:  r.deps.Catalog.ID(),
		Revision: r.applied(),
	}
	h.Degraded = append(r.degraded(), r.backends(ctx, &h)...)
	if len(h.Degraded) > 0 {
		h.Status = schemas.StatusDegraded
	}
	return h
}

// backends returns the problems of the backends and sets the state of the shared
// index.
func (r *Resolver) backends(ctx context.Context, h *schemas.Health) []string {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	var wrong []string
	var running sync.WaitGroup
	shared, ok := r.deps.Index.(index.Migrator)
	if ok {
		running.Go(func() { h.Index, wrong = projection.Status(ctx, shared) })
	}
	var away error
	if r.deps.Embedder != nil {
		running.Go(func() { away = r.deps.Embedder.Check(ctx) })
	}
	running.Wait()
	if away != nil {
		wrong = append(wrong, "search compares words only: "+away.Error())
	}
	return wrong
}

// degraded returns the reasons for a degraded status.
func (r *Resolver) degraded() []string {
	var reasons []string
	if r.feed != nil {
		if applied, stuck := r.feed.applied.State(); stuck != nil {
			reasons = append(reasons, fmt.Sprintf("the index has applied the catalog up to revision %d only: %v", applied, stuck))
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
