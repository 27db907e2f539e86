package graph

import (
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
