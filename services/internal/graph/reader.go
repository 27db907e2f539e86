package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/schemas"
	"cairn/services/internal/scope"
)

// maxLinks is the number of links that a Reader follows: a response contains fewer records, and requests
// wait for each other while one follows links. Links of drafts and retired records count, since they take as long.
const maxLinks = 20_000

var errTooManyLinks = schemas.ErrResponseTooLarge.Because(fmt.Sprintf("more than %d links have to be followed",
	maxLinks))

// Reader resolves the links of one request in a scope; links to missing records are skipped. If the context
// of a method ends, or there are too many links, results are incomplete, and Err returns the reason.
type Reader struct {
	Graph *Graph
	Has   func(Node) bool // whether the record exists and is linkable
	// Earlier are the links of another revision of one record, which replace those of the
	// graph; nil: none.
	Earlier *Revision

	followed int // links
	missing  []LinkedRecord
}

// Err returns an error if the results of earlier calls may be incomplete.
func (r *Reader) Err(ctx context.Context) error {
	if r.followed > maxLinks {
		return errTooManyLinks
	}
	return ctx.Err()
}

// follow counts links before they are followed, and reports whether they may be.
func (r *Reader) follow(links int) bool {
	r.followed += links
	return r.followed <= maxLinks
}

// Revision is a revision of a record with its links.
type Revision struct {
	Node  Node
	Edges []Edge
}

// LinkedRecord is a record with the predicate of the link to or from it.
type LinkedRecord struct {
	Node
	Via string
}

// Find returns the record with the id that is visible in the scope, and whether one exists.
func (r *Reader) Find(kind string, s scope.Scope, id string) (Node, bool) {
	tenant, ok := s.First(func(tenant string) bool { return r.Has(Node{kind, tenant, id}) })
	return Node{kind, tenant, id}, ok
}

// Linked returns the records that the record links to by the predicate, resolved in
// the scope, in the record's order.
func (r *Reader) Linked(s scope.Scope, from Node, predicate string) []LinkedRecord {
	var linked []LinkedRecord
	ids := r.links(from, predicate)
	if !r.follow(len(ids)) {
		return nil
	}
	for _, id := range ids {
		if n, ok := r.Find(kindOf(predicate), s, id); ok {
			linked = append(linked, LinkedRecord{n, predicate})
		} else {
			r.miss(predicate, id)
		}
	}
	return linked
}

// Missing returns the distinct records, without tenants, to which followed links lead by id and which Has does not
// have, in the order of the calls.
func (r *Reader) Missing() []LinkedRecord { return dedupe(r.missing) }

func (r *Reader) miss(predicate, id string) {
	r.missing = append(r.missing, LinkedRecord{Node{Kind: kindOf(predicate), ID: id}, predicate})
}

// links returns the ids that the record links to by the predicate.
func (r *Reader) links(from Node, predicate string) []string {
	if r.Earlier != nil && r.Earlier.Node == from {
		return linksOf(r.Earlier.Edges, predicate)
	}
	return r.Graph.Links(from, predicate)
}

// ContextBuilders returns the distinct context builders of the skill in the scope: first those that
// the skill links to, then its referrers, and then the builders of its domain without links to or
// from a skill.
func (r *Reader) ContextBuilders(ctx context.Context, s scope.Scope, skill Node, domain string) []LinkedRecord {
	const kind = schemas.KindContextBuilder
	linked := r.Linked(s, skill, ContextBuilders)
	linked = append(linked, r.referrersInScope(ctx, s, relation{kind, Skills}, skill)...)
	if domain != "" {
		linked = append(linked, r.referrersInScope(ctx, s, relation{kind, BuildsDomain},
			Node{Kind: KindDomain, ID: domain})...)
	}
	return dedupe(linked)
}

// Guardrails returns the distinct guardrails of the skill, global and the tenant's,
// by any link: from the skill, to the skill, to its domain, or to all skills. A
// tenant's guardrail does not shadow the global one with the same id.
func (r *Reader) Guardrails(ctx context.Context, s scope.Scope, skill Node, domain string) []LinkedRecord {
	const kind = schemas.KindGuardrail
	globalFirst := slices.Backward(s.Tenants())
	var linked []LinkedRecord
	for _, id := range r.links(skill, Guardrails) {
		if _, ok := r.Find(kind, s, id); !ok {
			r.miss(Guardrails, id)
		}
		for _, tenant := range globalFirst {
			linked = append(linked, LinkedRecord{Node{kind, tenant, id}, Guardrails})
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
			linked = append(linked, r.referrers(ctx, tenant, relation{kind, rule.predicate}, rule.to)...)
		}
	}
	return dedupe(slices.DeleteFunc(linked, func(g LinkedRecord) bool { return ctx.Err() != nil || !r.Has(g.Node) }))
}

// Template returns the template that the skill links to, or else the referrer with
// the lowest id, and whether there is one.
func (r *Reader) Template(ctx context.Context, s scope.Scope, skill Node) (LinkedRecord, bool) {
	templates := r.Linked(s, skill, Template)
	if len(templates) == 0 {
		templates = r.referrersInScope(ctx, s, relation{schemas.KindTemplate, Skills}, skill)
	}
	if len(templates) == 0 {
		return LinkedRecord{}, false
	}
	return templates[0], true
}

// Agents returns the agents that own the skill: the tenant's, or else the global ones.
func (r *Reader) Agents(ctx context.Context, s scope.Scope, skill Node) []LinkedRecord {
	return r.referrersInScope(ctx, s, relation{schemas.KindAgent, Skills}, skill)
}

// relation is the kind of the records that link to a node, and the predicate of the links.
type relation struct{ kind, predicate string }

// referrersInScope returns the tenant's referrers of the node, or else the global ones. A tenant's
// record shadows the global one with the same id. Context builders that a skill
// links to do not serve a domain.
func (r *Reader) referrersInScope(ctx context.Context, s scope.Scope, via relation, to Node) (linked []LinkedRecord) {
	s.First(func(tenant string) bool {
		linked = slices.DeleteFunc(r.referrers(ctx, tenant, via, to), func(c LinkedRecord) bool {
			n, ok := r.Find(via.kind, s, c.ID)
			return ctx.Err() != nil || !ok || n != c.Node || via.predicate == BuildsDomain && r.linkedBySkill(ctx, s, c.ID)
		})
		return len(linked) > 0
	})
	return linked
}

// referrers returns the tenant's linkable referrers of the node's id, sorted.
func (r *Reader) referrers(ctx context.Context, tenant string, via relation, to Node) (linked []LinkedRecord) {
	to.Tenant = tenant
	for id := range r.Graph.Referrers(ctx, via.kind, via.predicate, to) {
		if !r.follow(1) {
			return nil
		}
		if n := (Node{via.kind, tenant, id}); r.Has(n) {
			linked = append(linked, LinkedRecord{n, via.predicate})
		}
	}
	slices.SortFunc(linked, func(a, b LinkedRecord) int { return strings.Compare(a.ID, b.ID) })
	return linked
}

// linkedBySkill reports whether a skill in the scope links to the context builder.
func (r *Reader) linkedBySkill(ctx context.Context, s scope.Scope, id string) bool {
	const kind = schemas.KindSkill
	_, linked := s.First(func(tenant string) bool {
		for skill := range r.Graph.Referrers(ctx, kind, ContextBuilders, Node{schemas.KindContextBuilder, tenant, id}) {
			if !r.follow(1) {
				return false
			}
			if n, ok := r.Find(kind, s, skill); ok && n.Tenant == tenant {
				return true
			}
		}
		return false
	})
	return linked
}

// dedupe removes repeated records in place and keeps the first occurrence of each.
func dedupe(linked []LinkedRecord) []LinkedRecord {
	seen := make(map[Node]bool, len(linked))
	return slices.DeleteFunc(linked, func(r LinkedRecord) bool {
		repeated := seen[r.Node]
		seen[r.Node] = true
		return repeated
	})
}
