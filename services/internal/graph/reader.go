package graph

import (
	"slices"

	"cairn/schemas"
)

// Reader reads a graph as a tenant sees it: an id means the tenant's record,
// or else the global one, and a link to no record is passed over. It may be
// used concurrently if Has may.
type Reader struct {
	Graph *Graph
	Has   func(Node) bool // whether there is a record
}

// Reach is a record that was reached, and the predicate that led there.
type Reach struct {
	Node
	Via string
}

// Find is the record that the id means to the tenant, and whether there is one.
func (r Reader) Find(kind, tenant, id string) (Node, bool) {
	for _, scope := range scopes(tenant) {
		if n := (Node{kind, scope, id}); r.Has(n) {
			return n, true
		}
	}
	return Node{}, false
}

// Named are the records that the record's links by the predicate mean to the
// tenant, in the record's order.
func (r Reader) Named(tenant string, from Node, predicate string) []Reach {
	var reached []Reach
	for _, id := range r.Graph.Links(from, predicate) {
		if n, ok := r.Find(kindOf(predicate), tenant, id); ok {
			reached = append(reached, Reach{n, predicate})
		}
	}
	return reached
}

// ContextBuilders are those that serve the skill in the eyes of the tenant,
// once each: those that the skill names, then those that name it, then those
// of its domain that neither name a skill nor are named by one.
func (r Reader) ContextBuilders(tenant string, skill Node, domain string) []Reach {
	const kind = schemas.KindContextBuilder
	reached := r.Named(tenant, skill, ContextBuilders)
	reached = append(reached, r.first(tenant, kind, Skills, skill)...)
	if domain != "" {
		unnamed := slices.DeleteFunc(
			r.candidates(tenant, kind, BuildsDomain, Node{Kind: KindDomain, ID: domain}),
			func(c Reach) bool { return r.namedBySkill(tenant, c.ID) })
		reached = append(reached, own(unnamed, tenant)...)
	}
	return once(reached)
}

// Guardrails are those that apply to the skill in the eyes of the tenant, once
// each: global and the tenant's own, whether the skill names them, they name
// it or its domain, or they apply to all. A tenant's guardrail does not hide
// the global one of the same id.
func (r Reader) Guardrails(tenant string, skill Node, domain string) []Reach {
	const kind = schemas.KindGuardrail
	global := scopes(tenant)
	slices.Reverse(global)
	var reached []Reach
	for _, id := range r.Graph.Links(skill, Guardrails) {
		for _, scope := range global {
			reached = append(reached, Reach{Node{kind, scope, id}, Guardrails})
		}
	}
	for _, rule := range []struct {
		predicate string
		to        Node
	}{
		{Skills, skill},
		{GuardsDomain, Node{Kind: KindDomain, ID: domain}},
		{GuardsAll, Node{Kind: KindDomain, ID: Everywhere}},
	} {
		for _, scope := range global {
			reached = append(reached, r.namers(scope, kind, rule.predicate, rule.to)...)
		}
	}
	return once(slices.DeleteFunc(reached, func(g Reach) bool { return !r.Has(g.Node) }))
}

// Template is the one that the skill names, or else the first by id that names
// the skill, and whether there is one.
func (r Reader) Template(tenant string, skill Node) (Reach, bool) {
	found := r.Named(tenant, skill, Template)
	if len(found) == 0 {
		found = r.first(tenant, schemas.KindTemplate, Skills, skill)
	}
	if len(found) == 0 {
		return Reach{}, false
	}
	return found[0], true
}

// first are the tenant's records that name the node, or else the global ones.
func (r Reader) first(tenant, kind, predicate string, to Node) []Reach {
	return own(r.candidates(tenant, kind, predicate, to), tenant)
}

// candidates are the records that name the node and that the tenant sees: a
// global one of an id for which the tenant has its own is hidden by that.
func (r Reader) candidates(tenant, kind, predicate string, to Node) []Reach {
	var seen []Reach
	for _, scope := range scopes(tenant) {
		for _, namer := range r.namers(scope, kind, predicate, to) {
			if n, ok := r.Find(kind, tenant, namer.ID); ok && n == namer.Node {
				seen = append(seen, namer)
			}
		}
	}
	return seen
}

// namers are one collection's records that name the node's id.
func (r Reader) namers(scope, kind, predicate string, to Node) []Reach {
	to.Tenant = scope
	var reached []Reach
	for _, id := range r.Graph.Namers(kind, predicate, to) {
		reached = append(reached, Reach{Node{kind, scope, id}, predicate})
	}
	return reached
}

// namedBySkill reports whether a skill that the tenant sees names the context
// builder: its own, or a global one that none of its own hides.
func (r Reader) namedBySkill(tenant, id string) bool {
	const kind = schemas.KindSkill
	for _, scope := range scopes(tenant) {
		to := Node{schemas.KindContextBuilder, scope, id}
		if r.Graph.named(kind, ContextBuilders, to, func(skill string) bool {
			n, ok := r.Find(kind, tenant, skill)
			return ok && n.Tenant == scope
		}) {
			return true
		}
	}
	return false
}

// own is the tenant's part of what was found, or else all of it.
func own(reached []Reach, tenant string) []Reach {
	var mine []Reach
	for _, r := range reached {
		if r.Tenant == tenant {
			mine = append(mine, r)
		}
	}
	if len(mine) > 0 {
		return mine
	}
	return reached
}

// once keeps the first of those that reached the same record.
func once(reached []Reach) []Reach {
	var kept []Reach
	seen := make(map[Node]bool, len(reached))
	for _, r := range reached {
		if !seen[r.Node] {
			kept = append(kept, r)
		}
		seen[r.Node] = true
	}
	return kept
}

// scopes are the collections a tenant sees, its own first.
func scopes(tenant string) []string {
	if tenant == "" {
		return []string{""}
	}
	return []string{tenant, ""}
}
