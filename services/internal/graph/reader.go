package graph

import (
	"slices"

	"cairn/schemas"
)

// Reader resolves links in a tenant's scope: an id means the tenant's record, or
// else the global one; links to missing records are skipped. It may be used
// concurrently if Has may.
type Reader struct {
	Graph *Graph
	Has   func(Node) bool // whether the record exists
}

// Reach is a record with the predicate by which it was reached.
type Reach struct {
	Node
	Via string
}

// Find returns the record of the id in the tenant's scope, and whether one exists.
func (r Reader) Find(kind, tenant, id string) (Node, bool) {
	for _, scope := range scopes(tenant) {
		if n := (Node{kind, scope, id}); r.Has(n) {
			return n, true
		}
	}
	return Node{}, false
}

// Named returns the records that the record links to by the predicate, resolved in
// the tenant's scope, in the record's order.
func (r Reader) Named(tenant string, from Node, predicate string) []Reach {
	var reached []Reach
	for _, id := range r.Graph.Links(from, predicate) {
		if n, ok := r.Find(kindOf(predicate), tenant, id); ok {
			reached = append(reached, Reach{n, predicate})
		}
	}
	return reached
}

// ContextBuilders returns the distinct context builders of the skill in the tenant's
// scope: those that the skill links to, then its referrers, then those of its
// domain that no link binds to a skill.
func (r Reader) ContextBuilders(tenant string, skill Node, domain string) []Reach {
	const kind = schemas.KindContextBuilder
	reached := r.Named(tenant, skill, ContextBuilders)
	reached = append(reached, r.first(tenant, kind, Skills, skill)...)
	if domain != "" {
		unnamed := slices.DeleteFunc(
			r.candidates(tenant, kind, BuildsDomain, Node{Kind: KindDomain, ID: domain}),
			func(c Reach) bool { return r.linkedBySkill(tenant, c.ID) })
		reached = append(reached, own(unnamed, tenant)...)
	}
	return once(reached)
}

// Guardrails returns the distinct guardrails of the skill, global and the tenant's,
// by any link: from the skill, to the skill, to its domain, or to all skills. A
// tenant's guardrail does not hide the global one with the same id.
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
			reached = append(reached, r.referrers(scope, kind, rule.predicate, rule.to)...)
		}
	}
	return once(slices.DeleteFunc(reached, func(g Reach) bool { return !r.Has(g.Node) }))
}

// Template returns the template that the skill links to, or else the referrer with
// the lowest id, and whether there is one.
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

// first returns the tenant's referrers of the node, or else the global ones.
func (r Reader) first(tenant, kind, predicate string, to Node) []Reach {
	return own(r.candidates(tenant, kind, predicate, to), tenant)
}

// candidates returns the referrers of the node in the tenant's scope; a global one is
// hidden by a tenant's record with the same id.
func (r Reader) candidates(tenant, kind, predicate string, to Node) []Reach {
	var seen []Reach
	for _, scope := range scopes(tenant) {
		for _, namer := range r.referrers(scope, kind, predicate, to) {
			if n, ok := r.Find(kind, tenant, namer.ID); ok && n == namer.Node {
				seen = append(seen, namer)
			}
		}
	}
	return seen
}

// referrers returns the referrers of the node's id in one scope.
func (r Reader) referrers(scope, kind, predicate string, to Node) []Reach {
	to.Tenant = scope
	var reached []Reach
	for _, id := range r.Graph.Referrers(kind, predicate, to) {
		reached = append(reached, Reach{Node{kind, scope, id}, predicate})
	}
	return reached
}

// linkedBySkill reports whether a skill in the tenant's scope links to the context
// builder.
func (r Reader) linkedBySkill(tenant, id string) bool {
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

// own returns the tenant's part of a result, or else all of it.
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

// once removes records reached repeatedly; the first occurrence stays.
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

// scopes returns the scopes a tenant reads, its own first.
func scopes(tenant string) []string {
	if tenant == "" {
		return []string{""}
	}
	return []string{tenant, ""}
}
