package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"cairn/bus/admission"
	"cairn/services/internal/embed"
)

// batch is the number of documents prepared at a time: their dense vectors take
// 16 KB each.
const batch = 64

// embedded is an exact index in memory. It is empty at every start.
type embedded struct {
	embedder embed.Embedder
	searches *admission.Pool // of large pools

	mu    sync.RWMutex
	pools map[poolKey]*pool // without empty ones
}

// poolKey identifies a pool: kinds and tenants are separate.
type poolKey struct{ kind, tenant string }

func newEmbedded(e embed.Embedder) *embedded {
	return &embedded{embedder: e, searches: admission.NewLongPool(), pools: map[poolKey]*pool{}}
}

// NewWords returns an empty index in memory without vectors; search it by Text.
func NewWords() Index { return newEmbedded(vectorless{}) }

// vectorless is an embedder that returns no vectors.
type vectorless struct{}

func (vectorless) Embed(_ context.Context, _ embed.Purpose, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), nil
}

func (vectorless) Space() embed.Space { return embed.Space{} }

func (vectorless) Check(context.Context) error { return nil }

func (e *embedded) Close() {}

func (e *embedded) Apply(ctx context.Context, changes []Change) error {
	for len(changes) > 0 {
		next := changes[:min(batch, len(changes))]
		if err := e.apply(ctx, next); err != nil {
			return fmt.Errorf("index %d documents: %w", len(changes), err)
		}
		changes = changes[len(next):]
	}
	return nil
}

// apply embeds the changes and commits them. A document whose text the embedder rejects is
// found by its words only. An embedder whose space is unknown rejects its settings.
func (e *embedded) apply(ctx context.Context, changes []Change) error {
	vectors, err := embedChanges(ctx, e.embedder, changes)
	switch {
	case err == nil:
	case !errors.Is(err, embed.ErrRejected) || e.embedder.Space().Name == "":
		return err
	case len(changes) > 1:
		return bisect(changes, func(some []Change) error { return e.apply(ctx, some) })
	default:
		c := changes[0]
		slog.Warn("a record is found by its words only: the embedder rejected it", "kind", c.Kind, "tenant", c.Tenant, "id",
			c.ID, "err", err)
		vectors = [][][]float32{nil}
	}
	e.commit(changes, e.contents(changes, vectors))
	return nil
}

// contents tokenizes the documents outside the lock. Those that searches do not match have no
// content.
func (e *embedded) contents(changes []Change, vectors [][][]float32) []*content {
	static := e.embedder.Space().Static
	contents := make([]*content, len(changes))
	for i, c := range changes {
		if c.searchable() {
			contents[i] = &content{
				title: embed.Words(c.Title), body: embed.Words(c.body()), instructions: embed.Words(c.Instructions),
				vectors: vectors[i], attributes: c.attributes(), labels: c.Labels, capabilities: c.Capabilities,
			}
			if static {
				contents[i].grams = embed.Hashed(c.Title + "\n" + c.body())
			}
		}
	}
	return contents
}

func (e *embedded) commit(changes []Change, contents []*content) {
	e.mu.Lock()
	defer e.mu.Unlock()
	changed := map[poolKey]*pool{}
	for i, c := range changes {
		key := poolKey{c.Kind, c.Tenant}
		p := e.pools[key]
		switch {
		case p == nil && contents[i] == nil:
			continue
		case p == nil:
			p = newPool(e.embedder.Space())
			e.pools[key] = p
		}
		if changed[key] = p; contents[i] != nil {
			p.put(c.ID, *contents[i])
		} else {
			p.remove(c.ID)
		}
	}
	for key, p := range changed {
		if len(p.rows) > 0 {
			p.prepareSearch()
		} else {
			delete(e.pools, key)
		}
	}
	if len(e.pools) == 0 {
		e.pools = map[poolKey]*pool{} // a map does not shrink
	}
}

func (e *embedded) Search(ctx context.Context, q Query) (Result, error) {
	prepared, err := newQuestion(ctx, e.embedder, q)
	if err != nil {
		return Result{}, fmt.Errorf("search %s documents: %w", q.Kind, err)
	}
	key := poolKey{q.Kind, q.Tenant}
	if e.isLarge(key) {
		release, err := admission.Acquire(ctx, e.searches, 1)
		defer release()
		if err != nil {
			return Result{}, fmt.Errorf("search %s documents: %w", q.Kind, err)
		}
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	results, err := e.pools[key].search(ctx, prepared, q.Filter)
	if err != nil {
		return Result{}, fmt.Errorf("search %s documents: %w", q.Kind, err)
	}
	return Result{Hits: relevant(prepared, results, q.TopK), Degraded: prepared.degraded}, nil
}

// largePool is the number of documents above which a search takes a CPU for milliseconds.
const largePool = 20_000

// isLarge reports whether the pool is large.
func (e *embedded) isLarge(key poolKey) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	p := e.pools[key]
	return p != nil && len(p.ids) > largePool
}
