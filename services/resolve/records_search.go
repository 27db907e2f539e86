package resolve

import (
	"cmp"
	"context"
	"slices"

	"cairn/schemas"
	"cairn/services/internal/index"
	"cairn/services/internal/scope"
)

// searchDepth is the number of records of a kind and scope that a search of several kinds
// ranks: as many as the index fuses. It is constant, so that all pages have the same order.
const searchDepth = 100

// searchRecords returns a page of the records of several kinds that match a query.
func searchRecords(ctx context.Context, r *Resolver, q schemas.RecordSearch) (answer schemas.RecordHits, err error) {
	var hits []match
	kinds := q.Kinds
	if len(kinds) == 0 {
		kinds = schemas.PublishableKinds()
	}
	for _, kind := range schemas.SearchableKinds() {
		if !slices.Contains(kinds, kind) {
			continue
		}
		some, degraded, err := searchScopes(ctx, r, scope.Scope(q.Tenant()).Named(q.Scope), index.Query{
			Kind: kind, Text: q.Query, TopK: searchDepth, By: index.Method(q.Search), Filter: withAny(filterOf(q.Filter), q.Any),
		})
		if err != nil {
			return answer, err
		}
		hits = append(hits, some...)
		answer.Degraded = cmp.Or(answer.Degraded, degraded)
	}
	slices.SortStableFunc(hits, func(a, b match) int { return cmp.Compare(b.hit.Score, a.hit.Score) })
	page := hits[min(q.Offset, len(hits)):]
	answer.Hits = recordHits(page[:min(schemas.ValueOr(q.Limit, schemas.DefaultSearchLimit), len(page))])
	page = page[:len(answer.Hits)]
	answer.Explained = explanations(q.QueryOptions, page)
	countFound(r, q.Tenant(), page)
	if next := q.Offset + len(answer.Hits); next < len(hits) {
		answer.NextOffset = &next
	}
	return answer, nil
}

func withAny(f index.Filter, a schemas.AnyOf) index.Filter {
	f.Any = index.Any{
		IDs: a.IDs, Names: a.DisplayNames, Versions: a.Versions, Domains: a.Domains, Statuses: a.Statuses,
		Capabilities: a.Capabilities, Labels: a.Labels,
	}
	return f
}

// searchScopes returns the hits of each of the tenants. Records of the first tenant shadow global ones with the
// same id.
func searchScopes(ctx context.Context, r *Resolver, tenants []string,
	q index.Query) (hits []match, degraded string, err error) {
	for _, q.Tenant = range tenants {
		some, reason, err := searchTenant(ctx, r, scope.Scope(tenants[0]), q)
		if err != nil {
			return nil, "", err
		}
		hits, degraded = append(hits, some...), cmp.Or(degraded, reason)
	}
	// The index may have an outdated record that was published.
	return slices.DeleteFunc(hits, func(h match) bool { return q.Public && !h.facts.Value().public }), degraded, nil
}

// recordHits returns the hits as in the response, fewer if they exceed pageBytes.
func recordHits(page []match) (list []schemas.RecordHit) {
	size := 0
	for _, h := range page {
		record := h.summary()
		if size += len(record); len(list) > 0 && size > pageBytes {
			break
		}
		list = append(list, schemas.RecordHit{Kind: h.node.Kind, Score: h.hit.Score, Record: record})
	}
	return list
}
