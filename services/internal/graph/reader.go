package graph

import (
	"slices"

	"cairn/schemas"
	"cairn/services/internal/scope"
)

// Reader resolves links in a scope; links to missing records are skipped. It may be
// used concurrently if Has may.
type Reader struct {
	Graph *Graph
	Has   func(Node) bool // whether the record exists
}

// Reach is a record with the predicate by which it was reached.
type Reach struct {
	Node
	Via string
}

// Find returns the record that the id means in the scope, and whether one exists.
func (r Reader) Find(kind string, s scope.Scope, id string) (Node, bool) {
	tenant, ok := s.First(func(tenant string) bool { return r.Has(Node{kind, tenant, id}) })
	return Node{kind, tenant, id}, ok
}

// Named returns the records that the record links to by the predicate, resolved in
// the scope, in the record's order.
func (r Reader) Named(s scope.Scope, from Node, predicate string) []Reach {
	var reached []Reach
	for _, id := range r.Graph.Links(from, predicate) {
		if n, ok := r.Find(kindOf(predicate), s, id); ok {
			reached = append(reached, Reach{n, predicate})
		}
	}
	return reached
}

// ContextBuilders returns the distinct context builders of the skill in the scope:
// those that the skill links to, then its referrers, then those of its domain that no
// link binds to a skill.
func (r Reader) ContextBuilders(s scope.Scope, skill Node, domain string) []Reach {
	const kind = schemas.KindContextBuilder
	reached := r.Named(s, skill, ContextBuilders)
	reached = append(reached, r.first(s, kind, Skills, skill)...)
	if domain != "" {
		reached = append(reached, r.first(s, kind, BuildsDomain, Node{Kind: KindDomain, ID: domain})...)
	}
	return once(reached)
}

// Guardrails returns the distinct guardrails of the skill, global and the tenant's,
// by any link: from the skill, to the skill, to its domain, or to all skills. A
// tenant's guardrail does not hide the global one with the same id.
func (r Reader) Guardrails(s scope.Scope, skill Node, domain string) []Reach {
	const kind = schemas.KindGuardrail
	globalFirst := slices.Backward(s.Tenants())
	var reached []Reach
	for _, id := range r.Graph.Links(skill, Guardrails) {
		for _, tenant := range globalFirst {
			reached = append(reached, Reach{Node{kind, tenant, id}, Guardrails})
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
		for _, tenant := range globalFirst {
			reached = append(reached, r.referrers(tenant, kind, rule.predicate, rule.to)...)
		}
	}
	return once(slices.DeleteFunc(reached, func(g Reach) bool { return !r.Has(g.Node) }))
}

// Template returns the template that the skill links to, or else the referrer with
// the lowest id, and whether there is one.
func (r Reader) Template(s scope.Scope, skill Node) (Reach, bool) {
	found := r.Named(s, skill, Template)
	if len(found) == 0 {
		found = r.first(s, schemas.KindTemplate, Skills, skill)
	}
	if len(found) == 0 {
		return Reach{}, false
	}
	return found[0], true
}

// first returns the tenant's referrers of the node, or else the global ones. A global
// one is hidden by a tenant's record with the same id. Context builders that a skill
// links to do not serve a domain.
func (r Reader) first(s scope.Scope, kind, predicate string, to Node) (reached []Reach) {
	s.First(func(tenant string) bool {
		reached = slices.DeleteFunc(r.referrers(tenant, kind, predicate, to), func(c Reach) bool {
			n, ok := r.Find(kind, s, c.ID)
			return !ok || n != c.Node || predicate == BuildsDomain && r.linkedBySkill(s, c.ID)
		})
		return len(reached) > 0
	})
	return reached
}

// referrers returns the tenant's referrers of the node's id.
func (r Reader) referrers(tenant, kind, predicate string, to Node) []Reach {
	to.Tenant = tenant
	var reached []Reach
	for _, id := range r.Graph.Referrers(kind, predicate, to) {
		reached = append(reached, Reach{Node{kind, tenant, id}, predicate})
	}
	return reached
}

// linkedBySkill reports whether a skill in the scope links to the context builder.
func (r Reader) linkedBySkill(s scope.Scope, id string) bool {
	const kind = schemas.KindSkill
	_, linked := s.First(func(tenant string) bool {
		to := Node{schemas.KindContextBuilder, tenant, id}
		return r.Graph.named(kind, ContextBuilders, to, func(skill string) bool {
			n, ok := r.Find(kind, s, skill)
			return ok && n.Tenant == tenant
		})
	})
	return linked
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
