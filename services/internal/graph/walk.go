package graph

import (
	"context"
	"strings"

	"github.com/cayleygraph/quad"
)

// separator stands between the parts of a node's name; no part contains it.
const separator = "\x00"

// name is what the store has of a node, a predicate or a tenant. It is spelled
// as it is: the store spells it anew whenever it looks for it.
type name string

// String implements quad.Value.
func (n name) String() string { return string(n) }

// Native implements quad.Value.
func (n name) Native() any { return string(n) }

func (n Node) name() name {
	return name(n.Kind + separator + n.Tenant + separator + n.ID)
}

// newQuad is the edge as the store has it. What a record of a tenant names is
// a node of that tenant. Global ones have no label.
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

// back calls yield with the id of each record of the kind that names n by the
// predicate, in no order. It ends when yield returns false; yield must not call
// the graph.
func (g *Graph) back(n Node, predicate, kind string, yield func(id string) bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	start, by := g.store.ValueOf(n.name()), g.store.ValueOf(name(predicate))
	if start == nil || by == nil {
		return
	}
	prefix := kind + separator + n.Tenant + separator
	quads := g.store.QuadIterator(quad.Object, start)
	defer quads.Close()
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

// isRetired reports whether the quad with the key no longer holds.
func (g *Graph) isRetired(key any) bool {
	id, ok := key.(int64)
	_, retired := g.retired[id]
	return ok && retired
}
