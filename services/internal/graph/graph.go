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

// minRetired is the number of retired quads below which no rebuild happens.
const minRetired = 1024

// Graph holds the links of records. It may be used concurrently.
type Graph struct {
	writing sync.Mutex   // serializes changes
	mu      sync.RWMutex // guards the fields below
	// edges are the links of each record, in its order.
	edges map[Node][]Edge
	// store has the links that are traversed backward. Each node of a quad, subject or
	// object, takes more than 1 KiB in it.
	store *memstore.QuadStore
	quads int // number of active quads
	// retired are the IDs of inactive quads in the store. Deleting a quad from the
	// memory store scans all its primitives, so quads are marked instead, and the
	// store is rebuilt when as many are retired as active.
	retired map[int64]struct{}
}

// New returns an empty graph.
func New() *Graph {
	return &Graph{store: memstore.New(), edges: map[Node][]Edge{}, retired: map[int64]struct{}{}}
}

// Links returns the ids that the record links to by the predicate, in the order of
// the record. The targets may not exist.
func (g *Graph) Links(from Node, predicate string) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return linksOf(g.edges[from], predicate)
}

// Field returns the field of the record with a link to the id of the kind; false: there is none.
func (g *Graph) Field(from Node, kind, id string) (field string, ok bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, e := range g.edges[from] {
		if e.To == id && kindOf(e.Predicate) == kind {
			return e.Predicate, true
		}
	}
	return "", false
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

// Referrers returns the ids of the records of the kind that link to the node by the
// predicate, which must have a reverse index, sorted. They belong to the node's tenant.
func (g *Graph) Referrers(kind, predicate string, to Node) []string {
	var ids []string
	g.referrersOf(to, predicate, kind, func(id string) bool {
		ids = append(ids, id)
		return true
	})
	slices.Sort(ids)
	return ids
}

// hasReferrer reports whether the node has a referrer that satisfies match.
func (g *Graph) hasReferrer(kind, predicate string, to Node, match func(id string) bool) bool {
	found := false
	g.referrersOf(to, predicate, kind, func(id string) bool {
		found = match(id)
		return !found
	})
	return found
}

// Apply replaces the links of the record with edges, which are distinct. Readers
// see the old or the new links, never a mixture.
func (g *Graph) Apply(from Node, edges []Edge) {
	g.writing.Lock()
	defer g.writing.Unlock()
	g.change(from, edges)
	if len(g.retired) > max(minRetired, g.quads) || g.quads == 0 && len(g.retired) > 0 {
		g.rebuild()
	}
}

func (g *Graph) change(from Node, edges []Edge) {
	before := g.edges[from]
	if slices.Equal(before, edges) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range without(before, edges) {
		g.retire(newQuad(from, e))
	}
	for _, e := range without(edges, before) {
		g.add(newQuad(from, e))
	}
	if len(edges) == 0 {
		delete(g.edges, from)
		if len(g.edges) == 0 {
			g.edges = map[Node][]Edge{} // a map does not shrink
		}
		return
	}
	g.edges[from] = slices.Clone(edges)
}

// add activates the quad, which may exist and be retired.
func (g *Graph) add(q quad.Quad) {
	id, _ := g.store.AddQuad(q)
	delete(g.retired, id)
	g.quads++
}

func (g *Graph) retire(q quad.Quad) {
	id, _ := g.store.AddQuad(q) // the ID of an existing quad if it exists
	g.retired[id] = struct{}{}
	g.quads--
}

// rebuild creates a store without retired quads while readers use the old one. It runs when as many
// quads are retired as active, so the amortized cost of a retirement is constant.
func (g *Graph) rebuild() {
	store := memstore.New()
	for from, edges := range g.edges {
		for _, e := range without(edges, nil) {
			store.AddQuad(newQuad(from, e))
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.store, g.retired = store, map[int64]struct{}{}
}

// referrersOf calls yield with the id of each record of the kind that links to n by the
// predicate, unordered, until yield returns false. yield must not call the graph.
func (g *Graph) referrersOf(n Node, predicate, kind string, yield func(id string) bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	start, by := g.store.ValueOf(n.name()), g.store.ValueOf(name(predicate))
	if start == nil || by == nil {
		return
	}
	prefix := kind + separator + n.Tenant + separator
	quads := g.store.QuadIterator(quad.Object, start)
	defer func() { _ = quads.Close() }() // in memory
	for quads.Next(context.Background()) {
		q := quads.Result()
		if g.store.QuadDirection(q, quad.Predicate) != by || g.isRetired(q.Key()) {
			continue
		}
		from, _ := g.store.NameOf(g.store.QuadDirection(q, quad.Subject)).(name)
		id, ok := strings.CutPrefix(string(from), prefix)
		if ok && !yield(id) {
			return
		}
	}
}

// isRetired reports whether the quad with the key is inactive.
func (g *Graph) isRetired(key any) bool {
	id, ok := key.(int64)
	_, retired := g.retired[id]
	return ok && retired
}

// without returns the edges of list whose predicate has a reverse index and that are absent from other.
func without(list, other []Edge) (rest []Edge) {
	has := make(map[Edge]bool, len(other))
	for _, e := range other {
		has[e] = true
	}
	for _, e := range list {
		if followedBack(e.Predicate) && !has[e] {
			rest = append(rest, e)
		}
	}
	return rest
}
