package graph

import (
	"slices"

	"github.com/cayleygraph/cayley/graph/memstore"
	"github.com/cayleygraph/quad"
)

// minRetired is the number of retired quads below which no rebuild happens.
const minRetired = 1024

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

// rebuild creates a store without retired quads while readers use the old one. It
// runs once per as many retirements as there are active quads, so the amortized
// cost of a retirement is constant.
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
