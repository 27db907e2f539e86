package resolve

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/scope"
)

// pageBytes ends a page before its limit. With one more record of at most 1 MiB, a
// page stays below the usual max_payload of NATS servers.
const pageBytes = 512 << 10

func listSkills(ctx context.Context, r *Resolver, q schemas.ListQuery) (schemas.SkillList, error) {
	// Skills have neither class nor provider.
	page, next, err := listActive(ctx, r, schemas.KindSkill, q)
	return schemas.SkillList{Skills: page, NextCursor: next}, err
}

func listTools(ctx context.Context, r *Resolver, q schemas.ListQuery) (schemas.ToolList, error) {
	page, next, err := listActive(ctx, r, schemas.KindTool, q)
	return schemas.ToolList{Tools: page, NextCursor: next}, err
}

// filter selects the records of a listing; empty fields match any value.
type filter struct {
	domain, class, provider string
	any                     bool     // of any status; by default those that search finds
	status                  string   // of this one only
	labels                  []string // terms
	prefix                  string   // of the id
	public                  bool     // published
}

func (f filter) matches(properties facts) bool {
	return (properties.public || !f.public) && (f.any || schemas.Searchable(properties.status)) &&
		(f.status == "" || f.status == cmp.Or(properties.status, schemas.StatusActive)) &&
		(f.domain == "" || f.domain == properties.domain) &&
		(f.class == "" || f.class == properties.class) &&
		(f.provider == "" || f.provider == properties.provider) &&
		!slices.ContainsFunc(f.labels, func(term string) bool { return !properties.labeled(term) })
}

// group returns a group of the view that has all records that match; "" if there is none.
func (f filter) group() string {
	if f.any || f.class == "" {
		return ""
	}
	return f.class + "\x00" + f.provider
}

// listActive returns a page of the kind's active records: records of the tenant, or global ones if no
// record of the tenant matches. The first page selects the tenant, which its cursor encodes.
func listActive(ctx context.Context, r *Resolver, kind string, q schemas.ListQuery) ([]jsontext.Value, *string, error) {
	s := scope.Scope(schemas.ValueOr(q.TenantID, ""))
	want := filter{domain: q.Domain, class: q.ToolClass, provider: q.Provider}
	page, next, err := listPage(ctx, r, listing{kind, s, s.Tenants(), want, q.Limit, q.Cursor})
	return summaries(page), next, err
}

func summaries(page []storedRecord) (list []jsontext.Value) {
	for _, k := range page {
		list = append(list, k.summary())
	}
	return list
}

// listing is a request for a page.
type listing struct {
	kind    string
	scope   scope.Scope
	tenants []string // whose records may be listed, in order of precedence
	want    filter
	limit   *int // nil: the default
	cursor  string
}

// listPage returns the page that the listing requests, and the cursor of the next one.
func listPage(ctx context.Context, r *Resolver, l listing) ([]storedRecord, *string, error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return nil, nil, err
	}
	if l.cursor != "" {
		position, err := schemas.ParseCursor(l.cursor)
		if err != nil {
			return nil, nil, err
		}
		page, next, err := fillPage(ctx, r, l, start{tenantAt(position, l.scope), position.After})
		return page, position.Next(next), err
	}
	for _, tenant := range l.tenants {
		if page, next, err := fillPage(ctx, r, l, start{tenant: tenant}); len(page) > 0 || err != nil {
			return page, schemas.Cursor{Global: tenant == scope.Global}.Next(next), err
		}
	}
	return nil, nil, nil
}

// tenantAt returns the tenant of the collection that the cursor is in.
func tenantAt(c schemas.Cursor, s scope.Scope) string {
	if c.Global {
		return scope.Global
	}
	return string(s)
}

// start is where a page begins.
type start struct{ tenant, after string }

// fillPage returns a page of records of a tenant, and the id of the last one if there are more.
func fillPage(ctx context.Context, r *Resolver, l listing, from start) (list []storedRecord, next string, err error) {
	size, last, limit := 0, "", schemas.ValueOr(l.limit, schemas.DefaultLimit)
	collection := catalog.Collection{Kind: l.kind, Tenant: from.tenant, Group: l.want.group()}
	for id, k := range r.scan(ctx, collection, from.after) {
		if !strings.HasPrefix(id, l.want.prefix) {
			if id > l.want.prefix { // ids ascend
				break
			}
			continue
		}
		if !l.want.matches(k.facts.Value()) {
			continue
		}
		if size += k.summarySize(); len(list) == limit || len(list) > 0 && size > pageBytes {
			return list, last, nil
		}
		list, last = append(list, k), id
	}
	return list, "", ctx.Err()
}
