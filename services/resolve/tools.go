package resolve

import (
	"context"
	"fmt"
	"slices"

	"cairn/schemas"
	"cairn/services/internal/graph"
)

// tools answers in the order of the ids, ignoring duplicates.
func (r *Resolver) tools(ctx context.Context, q schemas.ToolsQuery) (a schemas.ToolsAnswer, err error) {
	if err := r.current(ctx); err != nil {
		return a, err
	}
	if err := r.find(ctx, schemas.KindTool, q.Tenant(), q.ToolIDs...); err != nil {
		return a, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	why := reasons{wanted: q.Explain}
	asked := make(map[string]bool, len(q.ToolIDs))
	for _, id := range q.ToolIDs {
		if asked[id] {
			continue
		}
		asked[id] = true
		n, ok := r.reader.Find(schemas.KindTool, q.Tenant(), id)
		if !ok {
			a.Missing = append(a.Missing, id)
			continue
		}
		a.Tools = append(a.Tools, r.record(n))
		why.add(n, "tool_ids")
	}
	if len(a.Tools) == 0 {
		return a, schemas.ErrToolNotFound.Because(fmt.Sprintf("none of the tool_ids is registered %s: %q", within(q.Tenant()), a.Missing[:min(len(a.Missing), 5)]))
	}
	a.Explain = why.list
	return a, nil
}

// toolClass returns the active tools of the class, those of the tenant or, if it has
// none, the global ones. The contract does not specify inactive tools; a class is a
// listing, and listings contain active records only.
func (r *Resolver) toolClass(ctx context.Context, q schemas.ToolClassQuery) (a schemas.ToolClassAnswer, err error) {
	if err := r.current(ctx); err != nil {
		return a, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	want := filter{class: q.ToolClass, provider: q.Provider}
	why := reasons{wanted: q.Explain}
	for _, scope := range slices.Compact([]string{q.Tenant(), ""}) {
		for id, k := range r.view.After(schemas.KindTool, scope, "") {
			if want.fits(k.facts.Value()) {
				a.Tools = append(a.Tools, k.record)
				why.add(graph.Node{Kind: schemas.KindTool, Tenant: scope, ID: id}, "tool_class")
			}
		}
		if len(a.Tools) > 0 {
			a.Explain = why.list
			return a, nil
		}
	}
	return a, schemas.ErrToolNotFound.Because(missingClass(q))
}

func missingClass(q schemas.ToolClassQuery) string {
	if q.Provider == "" {
		return fmt.Sprintf("no active tool has the tool_class %q %s", q.ToolClass, within(q.Tenant()))
	}
	return fmt.Sprintf("no active tool of the provider %q has the tool_class %q %s", q.Provider, q.ToolClass, within(q.Tenant()))
}
