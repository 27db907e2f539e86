package graph

import (
	"context"
	"strings"

	"github.com/cayleygraph/quad"
)

// separator stands between the parts of a node's name; no part contains it.
const separator = "\x00"

// iri is the name of n in the store.
func (n Node) iri() quad.IRI {
	return quad.IRI(n.Kind + separator + n.Tenant + separator + n.ID)
}

// newQuad is the edge as the store has it. What a record of a tenant names is
// a node of that tenant.
func newQuad(from Node, e Edge) quad.Quad {
	return quad.Quad{
		Subject:   from.iri(),
		Predicate: quad.IRI(e.Predicate),
		Object:    Node{kindOf(e.Predicate), from.Tenant, e.To}.iri(),
		Label:     quad.IRI(from.Tenant),
	}
}

// walk is the ids of the nodes of the kind at the other end of the quads that
// have n at this end, by the predicate, in the order in which they were added:
// the store numbers quads as they come and keeps those of a node by number.
func (g *Graph) walk(n Node, end quad.Direction, predicate, kind string) []string {
	start, by := g.store.ValueOf(n.iri()), g.store.ValueOf(quad.IRI(predicate))
	if start == nil || by == nil {
		return nil
	}
	other := quad.Object
	if end == quad.Object {
		other = quad.Subject
	}
	var ids []string
	prefix := kind + separator + n.Tenant + separator
	quads := g.store.QuadIterator(end, start)
	defer quads.Close()
	for quads.Next(context.Background()) {
		q := quads.Result()
		if g.store.QuadDirection(q, quad.Predicate) != by || g.isRetired(q.Key()) {
			continue
		}
		name, _ := g.store.NameOf(g.store.QuadDirection(q, other)).(quad.IRI)
		if id, ok := strings.CutPrefix(string(name), prefix); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// isRetired reports whether the quad with the key no longer holds.
func (g *Graph) isRetired(key any) bool {
	id, ok := key.(int64)
	_, retired := g.retired[id]
	return ok && retired
}
