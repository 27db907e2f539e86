package graph

import (
	"slices"

	"github.com/cayleygraph/cayley/graph/memstore"
	"github.com/cayleygraph/quad"
)

// leastWaste is how many retirements are always put up with.
const leastWaste = 1024

// Apply makes edges, each once, all the links of the record. Readers see all
// of the change or nothing.
func (g *Graph) Apply(from Node, edges []Edge) {
	g.writing.Lock()
	defer g.writing.Unlock()
	g.change(from, edges)
	if len(g.retired) > max(leastWaste, g.quads) {
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
		return
	}
	g.edges[from] = slices.Clone(edges)
}

// without are the edges of list that are followed back and are none of other.
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

// add makes the quad hold; it may be there and retired.
func (g *Graph) add(q quad.Quad) {
	id, _ := g.store.AddQuad(q)
	delete(g.retired, id)
	g.quads++
}

func (g *Graph) retire(q quad.Quad) {
	id, _ := g.store.AddQuad(q) // finds the one that is there
	g.retired[id] = struct{}{}
	g.quads--
}

// rebuild makes a store without what is retired, while readers use the old
// one. It comes once in as many retirements as there are quads, so that a
// retirement costs next to nothing.
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
