package graph

import (
	"slices"

	"github.com/cayleygraph/cayley/graph/memstore"
	"github.com/cayleygraph/quad"
)

// leastWaste is how many retirements are always put up with.
const leastWaste = 1024

// Apply makes edges all the links of the record. Only what differs from its
// links before is touched, and readers see all of it or nothing.
func (g *Graph) Apply(from Node, edges []Edge) {
	g.writing.Lock()
	defer g.writing.Unlock()
	g.change(from, byPredicate(g.edges[from]), byPredicate(edges))
	g.keep(from, edges)
	if g.waste > max(leastWaste, g.quads) {
		g.rebuild()
	}
}

func (g *Graph) change(from Node, before, after map[string][]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for predicate, old := range before {
		gone, _ := difference(old, after[predicate])
		for _, to := range gone {
			g.retire(newQuad(from, Edge{predicate, to}))
		}
	}
	for predicate, now := range after {
		_, come := difference(before[predicate], now)
		for _, to := range come {
			g.add(newQuad(from, Edge{predicate, to}))
		}
	}
}

// keep remembers the edges of the record, or forgets a record that has none.
func (g *Graph) keep(from Node, edges []Edge) {
	if len(edges) == 0 {
		delete(g.edges, from)
		return
	}
	g.edges[from] = slices.Clone(edges)
}

func byPredicate(edges []Edge) map[string][]string {
	if len(edges) == 0 {
		return nil
	}
	lists := make(map[string][]string, 4)
	for _, e := range edges {
		if !slices.Contains(lists[e.Predicate], e.To) {
			lists[e.Predicate] = append(lists[e.Predicate], e.To)
		}
	}
	return lists
}

// difference is what to take from old, and then to put behind what is left of
// it, to make it now, in the same order.
func difference(old, now []string) (remove, add []string) {
	if slices.Equal(old, now) {
		return nil, nil
	}
	kept := 0 // so many of now are in old, in this order
	for _, to := range old {
		if kept < len(now) && to == now[kept] {
			kept++
			continue
		}
		remove = append(remove, to)
	}
	return remove, now[kept:]
}

// add writes a quad behind all others of its record.
func (g *Graph) add(q quad.Quad) {
	g.quads++
	id, isNew := g.store.AddQuad(q)
	if isNew {
		return
	}
	// It was retired, and still has its old place in the order. Coming back is
	// rare enough to pay for a real deletion.
	delete(g.retired, id)
	g.store.Delete(id)
	g.store.AddQuad(q)
}

func (g *Graph) retire(q quad.Quad) {
	id, _ := g.store.AddQuad(q) // finds the one that is there
	g.retired[id] = struct{}{}
	g.waste++
	g.quads--
}

// rebuild makes a store without what is retired, while readers use the old
// one. It comes once in as many retirements as there are quads, so that a
// retirement costs next to nothing.
func (g *Graph) rebuild() {
	store := memstore.New()
	for from, edges := range g.edges {
		for _, e := range edges {
			store.AddQuad(newQuad(from, e))
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.store, g.waste = store, 0
	clear(g.retired)
}
