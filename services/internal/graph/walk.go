package graph

import (
	"context"
	"strings"

	"github.com/cayleygraph/quad"
)

// separator separates the parts of a node name; no part contains it.
const separator = "\x00"

// name is a quad.Value that needs no escaping: the store formats values on each
// lookup.
type name string

// String implements quad.Value.
func (n name) String() string { return string(n) }

// Native implements quad.Value.
func (n name) Native() any { return string(n) }

func (n Node) name() name {
	return name(n.Kind + separator + n.Tenant + separator + n.ID)
}

// newQuad returns the quad of an edge. The target is a node of the record's tenant.
// Global quads have no label.
func newQuad(from Node, e Edge) quad.Quad {
	q := quad.Quad{
		Subject:   from.name(),
		Predicate: name(e.Predicate),
		Object:    Node{kindOf(e.Predicate), from.Tenant, e.To}.name(),
	}
	if from.Tenant != "" {
		q.Label = name(from.Tenant)
	}
	return q
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
