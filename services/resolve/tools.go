package resolve

import (
	"context"
	"fmt"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
	"cairn/services/internal/usage"
)

// resolveTools answers in the order of the ids, ignoring duplicates.
func resolveTools(ctx context.Context, r *Resolver, q schemas.ToolsQuery) (a schemas.ToolsAnswer, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return a, err
	}
	s := scope.Scope(q.Tenant())
	if err := r.waitAbsent(ctx, schemas.KindTool, s, q.ToolIDs...); err != nil {
		return a, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	why := reasons{wanted: q.Explain}
	seen := make(map[string]bool, len(q.ToolIDs))
	for _, id := range q.ToolIDs {
		if seen[id] {
			continue
		}
		seen[id] = true
		n, ok := r.findByID(schemas.KindTool, s, id)
		if !ok {
			a.Missing = append(a.Missing, id)
			continue
		}
		record := r.record(n)
		a.Tools = append(a.Tools, record)
		why.add(n, "tool_ids", record)
	}
	if len(a.Tools) == 0 {
		return a, schemas.ErrToolNotFound.Because(fmt.Sprintf("none of the tool_ids is registered in %s: %q", s,
			a.Missing[:min(len(a.Missing), 5)]))
	}
	if err := bus.FitsReply(ctx, why.size); err != nil {
		return a, err
	}
	a.Explain = why.list
	r.deps.Usage.Add(usage.NewUses(q.Tenant(), usage.Resolved, why.records...))
	return a, nil
}

// resolveToolClass returns the active tools of the class: the tenant's, or the global ones if the tenant
// has none. The contract does not specify inactive tools; a class is a
// listing, and listings contain active records only.
func resolveToolClass(ctx context.Context, r *Resolver,
	q schemas.ToolClassQuery) (a schemas.ToolClassAnswer, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return a, err
	}
	accepted := filter{class: q.ToolClass, provider: q.Provider}
	why := reasons{wanted: q.Explain}
	for _, tenant := range scope.Scope(q.Tenant()).Tenants() {
		collection := catalog.Collection{Kind: schemas.KindTool, Tenant: tenant, Group: accepted.group()}
		for id, k := range r.scan(ctx, collection, "") {
			if !accepted.matches(k.facts.Value()) {
				continue
			}
			a.Tools = append(a.Tools, k.record)
			why.add(graph.Node{Kind: schemas.KindTool, Tenant: tenant, ID: id}, "tool_class", k.record)
			if err := bus.FitsReply(ctx, why.size); err != nil {
				return a, err
			}
		}
		if err := ctx.Err(); err != nil {
			return a, err
		}
		if len(a.Tools) > 0 {
			a.Explain = why.list
			r.deps.Usage.Add(usage.NewUses(q.Tenant(), usage.Found, why.records...))
			return a, nil
		}
	}
	return a, schemas.ErrToolNotFound.Because(missingClass(q))
}

func missingClass(q schemas.ToolClassQuery) string {
	if q.Provider == "" {
		return fmt.Sprintf("no active tool has the tool_class %q in %s", q.ToolClass, scope.Scope(q.Tenant()))
	}
	return fmt.Sprintf("no active tool of the provider %q has the tool_class %q in %s", q.Provider, q.ToolClass,
		scope.Scope(q.Tenant()))
}
