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

// healthTime is how long backends have to say how they are.
const healthTime = 650 * time.Millisecond

// most is how many records set aside the health names.
const most = 5

// health answers once records and index have reached the revision that the
// caller asks for, or refuses; that is how a registration is confirmed.
func (r *Resolver) health(ctx context.Context) (schemas.Health, error) {
	stuck, err := r.searchCurrent(ctx)
	if err != nil {
		return schemas.Health{}, err
	}
	h := schemas.Health{
		Service:  "resolve",
		Status:   schemas.StatusOK,
		Version:  bus.Version,
		Backends: r.deps.Backends,
		Revision: r.view.Revision(),
	}
	if r.feed != nil {
		reached, _ := r.feed.mark.get()
		h.Revision = min(h.Revision, reached)
	}
	if stuck && h.Revision < bus.MinRevision(ctx) {
		return schemas.Health{}, behind("index", bus.MinRevision(ctx), h.Revision)
	}
	h.Degraded = append(r.degraded(), r.backends(ctx, &h)...)
	if len(h.Degraded) > 0 {
		h.Status = schemas.StatusDegraded
	}
	return h, nil
}

// backends is what is wrong with the servers behind, one sentence each, and
// notes how the index is that others feed.
func (r *Resolver) backends(ctx context.Context, h *schemas.Health) []string {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	var wrong []string
	var asking sync.WaitGroup
	shared, ok := r.deps.Index.(index.Migrator)
	if ok {
		asking.Go(func() { h.Index, wrong = projection.Status(ctx, shared) })
	}
	var away error
	if r.deps.Embedder != nil {
		asking.Go(func() { away = r.deps.Embedder.Check(ctx) })
	}
	asking.Wait()
	if away != nil {
		wrong = append(wrong, "search goes by words alone: "+away.Error())
	}
	return wrong
}

// degraded is what is missing, one sentence each.
func (r *Resolver) degraded() []string {
	var said []string
	if r.feed != nil {
		if reached, stuck := r.feed.mark.get(); stuck != nil {
			said = append(said, fmt.Sprintf("search sees the catalog up to revision %d: %v", reached, stuck))
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.lost != nil {
		said = append(said, "the catalog is no longer followed: "+r.lost.Error())
	}
	if n := len(r.aside); n > 0 {
		said = append(said, fmt.Sprintf("%d records cannot be read and are set aside, such as %v", n, r.examples()))
	}
	return said
}

// examples are the keys of the first records set aside. The caller holds mu.
func (r *Resolver) examples() []string {
	type record struct {
		node     graph.Node
		revision uint64
	}
	var list []record
	for node, revision := range r.aside {
		list = append(list, record{node, revision})
	}
	slices.SortFunc(list, func(a, b record) int { return cmp.Compare(a.revision, b.revision) })
	var keys []string
	for _, a := range list[:min(most, len(list))] {
		keys = append(keys, fmt.Sprintf("%s at revision %d", keyOf(a.node), a.revision))
	}
	return keys
}
