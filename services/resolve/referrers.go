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

// listReferrers returns a page of the records in the scope that link to an id, by kind, collection and id, and the
// number of all of them. A global record that a tenant's record replaces is omitted.
func listReferrers(ctx context.Context, r *Resolver, q schemas.ReferrerQuery) (list schemas.ReferrerList, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return list, err
	}
	s := scope.Scope(schemas.ValueOr(q.TenantID, ""))
	field, collections := linkingCollections(r, s, q)
	onePage := q.Dangling && s == scope.Global
	first, after := 0, "" // the page begins after an id of a collection
	if q.Cursor != "" {
		position, err := schemas.ParseCursor(q.Cursor)
		if err != nil {
			return list, err
		}
		kind, id, _ := strings.Cut(position.After, "/")
		first = slices.Index(collections, graph.Node{Kind: kind, Tenant: tenantAt(position, s)})
		if first < 0 || onePage {
			return list, schemas.ErrCursor
		}
		after = id
	}
	limit := schemas.ValueOr(q.Limit, schemas.DefaultLimit)
	r.mu.RLock()
	defer r.mu.RUnlock()
	if q.Dangling && s != scope.Global && r.linked(graph.Node{Kind: q.Kind, ID: q.ID}) {
		return list, nil // the links lead to the global record then
	}
	for i, c := range collections {
		listed := func(id string) bool { return i > first || i == first && id > after }
		ids, count := lowest(referrersIn(ctx, r, q, c), listed, limit+1-len(list.Referrers))
		list.Count += count
		for _, id := range ids {
			if len(list.Referrers) == limit {
				if last := list.Referrers[limit-1]; !onePage {
					list.NextCursor = schemas.Cursor{Global: last.TenantID == scope.Global}.Next(last.Kind + "/" + last.ID)
				}
				break
			}
			n := graph.Node{Kind: c.Kind, Tenant: c.Tenant, ID: id}
			list.Referrers = append(list.Referrers, schemas.Referrer{
				Kind: n.Kind, ID: id, TenantID: n.Tenant, Field: field, Status: cmp.Or(r.factsOf(n).status, schemas.StatusActive),
			})
		}
	}
	return list, ctx.Err()
}

// linkingCollections returns the field that links to records of the kind, and the collections, as nodes without ids,
// whose records may link to the id.
func linkingCollections(r *Resolver, s scope.Scope, q schemas.ReferrerQuery) (field string, list []graph.Node) {
	field, kinds := graph.Linking(q.Kind)
	if q.Dangling && s == scope.Global {
		for _, c := range r.view.Collections() {
			if slices.Contains(kinds, c.Kind) {
				list = append(list, graph.Node{Kind: c.Kind, Tenant: c.Tenant})
			}
		}
		return field, list
	}
	for _, kind := range kinds {
		for _, tenant := range s.Tenants() {
			list = append(list, graph.Node{Kind: kind, Tenant: tenant})
		}
	}
	return field, list
}

// referrersIn yields the ids of the records of a collection, a node without an id, that link to the id of the query
// in its scope. The caller holds mu.
func referrersIn(ctx context.Context, r *Resolver, q schemas.ReferrerQuery, c graph.Node) iter.Seq[string] {
	return func(yield func(string) bool) {
		s := scope.Scope(schemas.ValueOr(q.TenantID, ""))
		target := graph.Node{Kind: q.Kind, Tenant: c.Tenant, ID: q.ID}
		if s == scope.Global && target.Kind != schemas.KindGuardrail && target.Tenant != scope.Global && r.linked(target) {
			return // the links of the tenant lead to its own record
		}
		field, _ := graph.Linking(q.Kind)
		for id := range r.graph.Referrers(ctx, c.Kind, field, target) {
			c.ID = id
			if !replacedInScope(r, s, c) && !yield(id) {
				return
			}
		}
	}
}

// lowest returns the n lowest of the listed ids in order, and the number of all ids. It sorts at most 2n ids at a
// time, and looks up few of many referrers.
func lowest(ids iter.Seq[string], listed func(id string) bool, n int) (list []string, count int) {
	bound := "" // above the n lowest so far; empty: there are fewer
	for id := range ids {
		count++
		if bound != "" && id > bound || !listed(id) {
			continue
		}
		if list = append(list, id); len(list) == 2*n {
			slices.Sort(list)
			list, bound = list[:n], list[n-1]
		}
	}
	slices.Sort(list)
	return list[:min(n, len(list))], count
}

// replacedInScope reports whether a record of the tenant, neither a draft nor retired, replaces the
// global one in the scope. The caller holds mu.
func replacedInScope(r *Resolver, s scope.Scope, n graph.Node) bool {
	own := graph.Node{Kind: n.Kind, Tenant: string(s), ID: n.ID}
	return n.Kind != schemas.KindGuardrail && n.Tenant == scope.Global && own != n && r.linked(own)
}
