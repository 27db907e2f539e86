package index

import (
	"context"
	"fmt"
	"sync"

	"cairn/services/internal/embed"
)

// batch is the number of documents prepared at a time: their dense vectors take
// 16 KB each.
const batch = 64

// embedded is an exact index in memory. It is empty at every start.
type embedded struct {
	embedder embed.Embedder

	mu    sync.RWMutex
	pools map[place]*pool
}

// place identifies a pool: kinds and tenants are separate.
type place struct{ kind, tenant string }

func newEmbedded(e embed.Embedder) *embedded {
	return &embedded{embedder: e, pools: map[place]*pool{}}
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

func (e *embedded) Close() error { return nil }

func (e *embedded) Apply(ctx context.Context, changes []Change) error {
	for len(changes) > 0 {
		next := changes[:min(batch, len(changes))]
		contents, err := e.prepare(ctx, next)
		if err != nil {
			return fmt.Errorf("index %d documents: %w", len(changes), err)
		}
		e.commit(next, contents)
		changes = changes[len(next):]
	}
	return nil
}

// prepare tokenizes and embeds outside the lock. Documents that searches do not
// match have no content.
func (e *embedded) prepare(ctx context.Context, changes []Change) ([]*content, error) {
	vectors, err := embedChanges(ctx, e.embedder, changes)
	if err != nil {
		return nil, err
	}
	contents := make([]*content, len(changes))
	for i, c := range changes {
		if c.found() {
			contents[i] = &content{embed.Words(c.Title), embed.Words(c.body()), vectors[i]}
		}
	}
	return contents, nil
}

func (e *embedded) commit(changes []Change, contents []*content) {
	e.mu.Lock()
	defer e.mu.Unlock()
	changed := map[*pool]bool{}
	for i, c := range changes {
		p := e.pool(place{c.Kind, c.Tenant})
		if seen, ok := p.revisions[c.ID]; ok && c.Revision <= seen {
			continue
		}
		p.revisions[c.ID] = c.Revision
		changed[p] = true
		p.remove(c.ID)
		if contents[i] != nil {
			p.put(c.ID, *contents[i])
		}
	}
	for p := range changed {
		p.settle()
	}
}

func (e *embedded) pool(at place) *pool {
	p := e.pools[at]
	if p == nil {
		p = newPool(e.embedder.Space())
		e.pools[at] = p
	}
	return p
}

func (e *embedded) Search(ctx context.Context, q Query) (Result, error) {
	asked, err := newQuestion(ctx, e.embedder, q)
	if err != nil {
		return Result{}, fmt.Errorf("search %s documents: %w", q.Kind, err)
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, tenant := range q.Scope.Tenants() {
		found := e.pools[place{q.Kind, tenant}].search(asked.texts, asked.vectors)
		if hits := relevant(found, asked.space, q.TopK); len(hits) > 0 {
			return Result{Hits: hits, Tenant: tenant, Degraded: asked.degraded}, nil
		}
	}
	return Result{Degraded: asked.degraded}, nil
}
