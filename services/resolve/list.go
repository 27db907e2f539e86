package resolve

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/scope"
)

// pageBytes ends a page before its limit. With one more record of at most 1 MiB, a
// page stays below the usual max_payload of NATS servers.
const pageBytes = 512 << 10

func (r *Resolver) listSkills(ctx context.Context, q schemas.ListQuery) (schemas.SkillList, error) {
	// Skills have neither class nor provider.
	page, next, err := r.list(ctx, schemas.KindSkill, q)
	return schemas.SkillList{Skills: page, NextCursor: next}, err
}

func (r *Resolver) listTools(ctx context.Context, q schemas.ListQuery) (schemas.ToolList, error) {
	page, next, err := r.list(ctx, schemas.KindTool, q)
	return schemas.ToolList{Tools: page, NextCursor: next}, err
}

// filter selects the records of a listing; empty fields match any value.
type filter struct{ domain, class, provider string }

func (f filter) fits(of facts) bool {
	return schemas.Active(of.status) &&
		(f.domain == "" || f.domain == of.domain) &&
		(f.class == "" || f.class == of.class) &&
		(f.provider == "" || f.provider == of.provider)
}

// list returns a page of the kind's active records: those of the tenant, or the
// global ones if no record of the tenant matches. The first page decides, and its
// cursor encodes the tenant.
func (r *Resolver) list(ctx context.Context, kind string, q schemas.ListQuery) ([]jsontext.Value, *string, error) {
	if err := r.current(ctx); err != nil {
		return nil, nil, err
	}
	want := filter{q.Domain, q.ToolClass, q.Provider}
	limit := schemas.DefaultLimit
	if q.Limit != nil {
		limit = *q.Limit
	}
	s := scope.Scope(schemas.QueryOptions{TenantID: q.TenantID}.Tenant())
	if q.Cursor != "" {
		at, err := parseCursor(q.Cursor)
		if err != nil {
			return nil, nil, err
		}
		page, next := r.page(kind, at.tenant(s), at.after, want, limit)
		return page, at.next(next), nil
	}
	for _, tenant := range s.Tenants() {
		if page, next := r.page(kind, tenant, "", want, limit); len(page) > 0 {
			return page, cursor{global: tenant == scope.Global}.next(next), nil
		}
	}
	return nil, nil, nil
}

// page returns up to limit records of the tenant after the id, and the id of the last
// one if there are more.
func (r *Resolver) page(kind, tenant, after string, want filter, limit int) (page []jsontext.Value, next string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	size, last := 0, ""
	for id, k := range r.view.After(kind, tenant, after) {
		if !want.fits(k.facts.Value()) {
			continue
		}
		size += len(k.record)
		if len(page) == limit || len(page) > 0 && size > pageBytes {
			return page, last
		}
		page = append(page, k.record)
		last = id
	}
	return page, ""
}
