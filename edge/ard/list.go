package ard

import (
	"slices"
	"strings"

	"cairn/schemas"
)

// Listing is a position in the listing of all entries, which are ordered by kind, the tenant's
// before global ones.
type Listing struct {
	tenant string // empty: global entries alone
	kind   int    // in resources; len(resources): after the last entry
	scope  string
	cursor string
}

// NewListing returns the position of a page token, or the first position if it is empty. It returns
// schemas.ErrMalformed for an invalid token.
func NewListing(tenant, token string) (Listing, error) {
	l := Listing{tenant: tenant, scope: schemas.ScopeOf(tenant)}
	if token == "" {
		return l, nil
	}
	parts := strings.SplitN(token, ".", 3)
	if len(parts) == 3 {
		l.kind = slices.IndexFunc(resources, func(k resource) bool { return k.name == parts[0] })
		l.scope, l.cursor = parts[1], parts[2]
		if l.kind >= 0 && (l.scope == schemas.ScopeGlobal || l.scope == schemas.ScopeOf(tenant)) {
			return l, nil
		}
	}
	return l, schemas.ErrMalformed.With(schemas.FieldError{Field: "pageToken", Message: "expected the unmodified pageToken of a page"})
}

// Done reports whether the listing is complete.
func (l Listing) Done() bool { return l.kind == len(resources) }

// Token returns the page token of the position; empty when Done.
func (l Listing) Token() string {
	if l.Done() {
		return ""
	}
	return resources[l.kind].name + "." + l.scope + "." + l.cursor
}

// Query returns the listing of at most limit records from the position on.
func (l Listing) Query(limit int) schemas.RecordQuery {
	return schemas.RecordQuery{
		Kind: resources[l.kind].kind, TenantID: schemas.Optional(l.tenant), Scope: l.scope, Public: true, Limit: &limit, Cursor: l.cursor,
	}
}

// After returns the position after the page of the listing.
func (l Listing) After(page schemas.RecordList) Listing {
	switch {
	case page.NextCursor != nil:
		l.cursor = *page.NextCursor
		return l
	case l.scope == schemas.ScopeTenant:
		l.scope, l.cursor = schemas.ScopeGlobal, ""
	default:
		l.kind, l.scope, l.cursor = l.kind+1, schemas.ScopeOf(l.tenant), ""
	}
	return l
}
