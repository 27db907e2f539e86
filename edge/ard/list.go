package ard

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

const (
	// catalogEntries and catalogBytes bound the catalog.
	catalogEntries = 1000
	catalogBytes   = 2 << 20

	defaultPageSize = 20
	maxListCalls    = 8 // of a page
)

// Lister lists published records.
type Lister func(schemas.RecordQuery) (schemas.RecordList, error)

// Catalog returns the catalog of global entries as JSON: at most catalogEntries and catalogBytes. After an error
// of list it has the entries before the error.
func (p Publisher) Catalog(list Lister) ([]byte, error) {
	var entries []schemas.ARDEntry
	size := 0
	l, err := NewListing("", "")
	for err == nil && !l.Done() && len(entries) < catalogEntries && size < catalogBytes {
		q := l.Query(min(schemas.DefaultLimit, catalogEntries-len(entries)))
		var page schemas.RecordList
		if page, err = list(q); err != nil {
			break
		}
		for _, entry := range p.Entries(q.Kind, page.Records) {
			text, err := json.Marshal(entry)
			if size += len(text); err != nil || size > catalogBytes {
				break
			}
			entries = append(entries, entry)
		}
		l = l.After(page)
	}
	body, encodeErr := json.Marshal(p.Manifest(entries), json.Deterministic(true))
	return body, errors.Join(err, encodeErr)
}

// List returns a page of the entries of the tenant and of global ones.
func (p Publisher) List(list Lister, tenant string, req schemas.ARDListQuery) (schemas.ARDList, error) {
	size := schemas.ValueOr(req.PageSize, defaultPageSize)
	page := schemas.ARDList{Items: []schemas.ARDEntry{}}
	l, err := NewListing(tenant, req.PageToken)
	if err != nil {
		return page, err
	}
	for calls := 0; len(page.Items) < size && !l.Done() && calls < maxListCalls; calls++ {
		q := l.Query(size - len(page.Items))
		records, err := list(q)
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, p.Entries(q.Kind, records.Records)...)
		l = l.After(records)
	}
	page.PageToken = l.Token()
	return page, nil
}

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
