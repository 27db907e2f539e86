package resolve

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"cairn/schemas"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
)

// listReferrers returns a page of the records in the scope that link to an id. A global record
// that a tenant's record replaces is omitted. It visits the records of the kinds that may link
// to the id, as a listing does.
func listReferrers(ctx context.Context, r *Resolver, q schemas.ReferrerQuery) (list schemas.ReferrerList, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return list, err
	}
	p := referrers{
		kind: q.Kind, id: q.ID, scope: scope.Scope(schemas.ValueOr(q.TenantID, "")), limit: schemas.ValueOr(q.Limit, schemas.DefaultLimit),
	}
	visiting, err := p.collections(q.Cursor)
	if err != nil {
		return list, err
	}
	for _, at := range visiting {
		for id, k := range r.scan(ctx, at.Kind, at.Tenant, "", at.ID) {
			if p.add(r, graph.Node{Kind: at.Kind, Tenant: at.Tenant, ID: id}, k.facts.Value().status); p.more {
				break
			}
		}
		if err := ctx.Err(); err != nil {
			return list, err
		}
		if p.more {
			break
		}
	}
	list.Referrers = p.found
	if p.more {
		list.NextCursor = p.next()
	}
	return list, nil
}

// referrers collects a page of referrers.
type referrers struct {
	kind, id string // to which they link
	scope    scope.Scope
	limit    int
	found    []schemas.Referrer
	more     bool // there are further ones
}

// collections returns the collections from the one of the cursor on, or from the first one, each
// as the record after which its referrers follow.
func (p *referrers) collections(text string) (all []graph.Node, err error) {
	for _, kind := range graph.Linking(p.kind) {
		for _, tenant := range p.scope.Tenants() {
			all = append(all, graph.Node{Kind: kind, Tenant: tenant})
		}
	}
	if text == "" {
		return all, nil
	}
	at, err := schemas.ParseCursor(text)
	if err != nil {
		return nil, err
	}
	kind, id, _ := strings.Cut(at.After, "/")
	first := slices.Index(all, graph.Node{Kind: kind, Tenant: tenantAt(at, p.scope)})
	if first < 0 {
		return nil, schemas.ErrCursor
	}
	all[first].ID = id
	return all[first:], nil
}

// next returns the cursor after the last referrer.
func (p *referrers) next() *string {
	last := p.found[len(p.found)-1]
	return schemas.Cursor{Global: last.TenantID == scope.Global}.Next(last.Kind + "/" + last.ID)
}

// add adds the record if it links to the id, unless the page is complete. The caller holds mu.
func (p *referrers) add(r *Resolver, n graph.Node, status string) {
	field, ok := r.graph.Field(n, p.kind, p.id)
	if !ok || replacedInScope(r, p.scope, n) {
		return
	}
	if p.more = len(p.found) == p.limit; p.more {
		return
	}
	p.found = append(p.found, schemas.Referrer{
		Kind: n.Kind, ID: n.ID, TenantID: n.Tenant, Field: field, Status: cmp.Or(status, schemas.StatusActive),
	})
}

// replacedInScope reports whether a record of the tenant, neither a draft nor retired, replaces the
// global one in the scope. The caller holds mu.
func replacedInScope(r *Resolver, s scope.Scope, n graph.Node) bool {
	own := graph.Node{Kind: n.Kind, Tenant: string(s), ID: n.ID}
	return n.Kind != schemas.KindGuardrail && own != n && r.linked(own)
}
