// Package graph holds the links between records: forward links as lists in the
// order of the record, and backward links (from a target to its referrers) as quads
// in Cayley's memory store. A traversal takes microseconds.
//
// Each tenant's records form a separate graph, labelled with the tenant. A
// record links to ids, so the target is a node of the same tenant whether or not a
// record exists there; the Reader decides whether the id means the tenant's record
// or the global one.
package graph

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cayleygraph/cayley/graph/memstore"
	"github.com/cayleygraph/quad"
)

// Node identifies a record, which may not exist.
type Node struct {
	Kind   string
	Tenant string // empty: global
	ID     string
}

func (n Node) name() name {
	return name(n.Kind + separator + n.Tenant + separator + n.ID)
}

// Edge is one link of a record: a predicate and an id of the predicate's kind.
type Edge struct {
	Predicate string
	To        string
}

const (
	// minRetired is the number of retired quads below which no rebuild happens.
	minRetired = 1024
	// rebuildShare is the number of active quads for each retired one above which a rebuild starts. During
	// the rebuild there are two stores.
	rebuildShare = 2
	// rebuildStep is the minimum number of quads that a change copies during a rebuild.
	rebuildStep = 64
)

// Graph holds the links of records. It may be used concurrently.
type Graph struct {
	mu sync.RWMutex
	// edges are the links of each record, in its order.
	edges map[Node][]Edge
	store store
	quads int // number of active quads
	// rebuild is nil if none is in progress.
	rebuild *rebuild
}

// store has the links that are traversed backward. Each node of a quad, subject or
// object, takes more than 1 KiB in it.
type store struct {
	*memstore.QuadStore
	// retired are the IDs of inactive quads. Deleting a quad from the memory store scans all its
	// primitives, so quads are marked instead, and a new store replaces it when half as many are retired
	// as active.
	retired map[int64]struct{}
}

func newStore() store { return store{memstore.New(), map[int64]struct{}{}} }

// add activates the quad of the edge, which may exist and be retired.
func (s store) add(from Node, e Edge) {
	id, _ := s.AddQuad(newQuad(from, e))
	delete(s.retired, id)
}

func (s store) retire(from Node, e Edge) {
	id, _ := s.AddQuad(newQuad(from, e)) // the ID of an existing quad if it exists
	s.retired[id] = struct{}{}
}

// isRetired reports whether the quad with the key is inactive.
func (s store) isRetired(key any) bool {
	id, ok := key.(int64)
	_, retired := s.retired[id]
	return ok && retired
}

// rebuild copies the active quads into a store without retired ones. Each change is applied to both
// stores, and copies the quads of some more records, so that no change waits for the whole rebuild.
type rebuild struct {
	store
	remaining []Node // records whose quads are not copied yet
}

// New returns an empty graph.
func New() *Graph {
	g := &Graph{}
	g.clear()
	return g
}

// clear replaces the maps and stores of a graph without edges: a map does not shrink.
func (g *Graph) clear() {
	g.edges, g.store, g.rebuild = map[Node][]Edge{}, newStore(), nil
}

// Links returns the ids that the record links to by the predicate, in the order of
// the record. The targets may not exist.
func (g *Graph) Links(from Node, predicate string) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return linksOf(g.edges[from], predicate)
}

// linksOf returns the targets of the edges with the predicate, in order.
func linksOf(edges []Edge, predicate string) (ids []string) {
	for _, e := range edges {
		if e.Predicate == predicate {
			ids = append(ids, e.To)
		}
	}
	return ids
}

// Referrers returns the ids of the records of the kind that link to the node by the predicate, in any order. They
// belong to the node's tenant. If ctx ends, some may be missing. The loop body does not change the graph.
func (g *Graph) Referrers(ctx context.Context, kind, predicate string, to Node) iter.Seq[string] {
	return func(yield func(string) bool) {
		g.mu.RLock()
		defer g.mu.RUnlock()
		object, predicateID := g.store.ValueOf(to.name()), g.store.ValueOf(name(predicate))
		if object == nil || predicateID == nil {
			return
		}
		prefix := kind + separator + to.Tenant + separator
		quads := g.store.QuadIterator(quad.Object, object)
		defer func() { _ = quads.Close() }() // in memory
		for ctx.Err() == nil && quads.Next(ctx) {
			q := quads.Result()
			if g.store.QuadDirection(q, quad.Predicate) != predicateID || g.store.isRetired(q.Key()) {
				continue
			}
			from, _ := g.store.NameOf(g.store.QuadDirection(q, quad.Subject)).(name)
			if id, ok := strings.CutPrefix(string(from), prefix); ok && !yield(id) {
				return
			}
		}
	}
}

// Apply replaces the links of the record with edges, which are distinct. Readers see the old or the new links, never
// a mixture.
func (g *Graph) Apply(from Node, edges []Edge) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.edges[from]
	if slices.Equal(before, edges) {
		return
	}
	retired := without(before, edges)
	for _, e := range retired {
		g.retire(from, e)
	}
	for _, e := range without(edges, before) {
		g.add(from, e)
	}
	if len(edges) > 0 {
		g.edges[from] = slices.Clone(edges)
	} else if delete(g.edges, from); len(g.edges) == 0 {
		g.clear()
	}
	g.continueRebuild(max(rebuildStep, 2*len(retired)))
}

func (g *Graph) add(from Node, e Edge) {
	g.store.add(from, e)
	if g.rebuild != nil {
		g.rebuild.add(from, e)
	}
	g.quads++
}

func (g *Graph) retire(from Node, e Edge) {
	g.store.retire(from, e)
	if g.rebuild != nil {
		g.rebuild.retire(from, e)
	}
	g.quads--
}

// continueRebuild copies at least n quads, starts a rebuild if it is due, and ends one when all quads are
// copied. A rebuild takes time in proportion to the retired quads, so the amortized cost of a retirement
// is constant. The caller holds mu.
func (g *Graph) continueRebuild(n int) {
	if g.rebuild == nil {
		if len(g.store.retired) <= max(minRetired, g.quads/rebuildShare) {
			return
		}
		g.rebuild = &rebuild{newStore(), slices.Collect(maps.Keys(g.edges))}
	}
	r := g.rebuild
	for n > 0 && len(r.remaining) > 0 {
		last := len(r.remaining) - 1
		from := r.remaining[last]
		r.remaining = r.remaining[:last]
		for _, e := range g.edges[from] {
			r.add(from, e)
			n--
		}
		n--
	}
	if len(r.remaining) == 0 {
		g.store, g.rebuild = r.store, nil
	}
}

// without returns the edges of list that are absent from other.
func without(list, other []Edge) (rest []Edge) {
	set := make(map[Edge]bool, len(other))
	for _, e := range other {
		set[e] = true
	}
	for _, e := range list {
		if !set[e] {
			rest = append(rest, e)
		}
	}
	return rest
}
