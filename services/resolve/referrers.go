package resolve

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"cairn/schemas"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
)

// listReferrers returns a page of the records in the scope that link to an id, by kind, collection and id. A global
// record that a tenant's record replaces is omitted.
func listReferrers(ctx context.Context, r *Resolver, q schemas.ReferrerQuery) (list schemas.ReferrerList, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return list, err
	}
	s := scope.Scope(schemas.ValueOr(q.TenantID, ""))
	field, kinds := graph.Linking(q.Kind)
	var collections []graph.Node // without ids
	for _, kind := range kinds {
		for _, tenant := range s.Tenants() {
			collections = append(collections, graph.Node{Kind: kind, Tenant: tenant})
		}
	}
	after := "" // in the first collection
	if q.Cursor != "" {
		position, err := schemas.ParseCursor(q.Cursor)
		if err != nil {
			return list, err
		}
		kind, id, _ := strings.Cut(position.After, "/")
		first := slices.Index(collections, graph.Node{Kind: kind, Tenant: tenantAt(position, s)})
		if first < 0 {
			return list, schemas.ErrCursor
		}
		collections, after = collections[first:], id
	}
	limit := schemas.ValueOr(q.Limit, schemas.DefaultLimit)
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, c := range collections {
		target := graph.Node{Kind: q.Kind, Tenant: c.Tenant, ID: q.ID}
		ids := r.graph.Referrers(ctx, c.Kind, field, target)
		listed := func(id string) bool {
			return id > after && !replacedInScope(r, s, graph.Node{Kind: c.Kind, Tenant: c.Tenant, ID: id})
		}
		for _, id := range lowest(ids, listed, limit+1-len(list.Referrers)) {
			if len(list.Referrers) == limit {
				last := list.Referrers[limit-1]
				list.NextCursor = schemas.Cursor{Global: last.TenantID == scope.Global}.Next(last.Kind + "/" + last.ID)
				return list, nil
			}
			n := graph.Node{Kind: c.Kind, Tenant: c.Tenant, ID: id}
			list.Referrers = append(list.Referrers, schemas.Referrer{
				Kind: n.Kind, ID: id, TenantID: n.Tenant, Field: field, Status: cmp.Or(r.factsOf(n).status, schemas.StatusActive),
			})
		}
		after = ""
	}
	return list, ctx.Err()
}

// lowest returns the n lowest of the listed ids in order. It sorts at most 2n ids at a time, and looks up few of
// many referrers.
func lowest(ids iter.Seq[string], listed func(id string) bool, n int) []string {
	var list []string
	bound := "" // above the n lowest so far; empty: there are fewer
	for id := range ids {
		if bound != "" && id > bound || !listed(id) {
			continue
		}
		if list = append(list, id); len(list) == 2*n {
			slices.Sort(list)
			list, bound = list[:n], list[n-1]
		}
	}
	slices.Sort(list)
	return list[:min(n, len(list))]
}

// replacedInScope reports whether a record of the tenant, neither a draft nor retired, replaces the
// global one in the scope. The caller holds mu.
func replacedInScope(r *Resolver, s scope.Scope, n graph.Node) bool {
	own := graph.Node{Kind: n.Kind, Tenant: string(s), ID: n.ID}
	return n.Kind != schemas.KindGuardrail && own != n && r.linked(own)
}
