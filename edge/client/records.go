package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// Record is a stored record.
type Record struct {
	Kind string
	ID   string
	// Tenant is the tenant of the record; empty: global.
	Tenant string
	// JSON is the record as it was registered. A page of List has no instructions and no
	// content of resources.
	JSON jsontext.Value
	// ETag is the entity tag for Precondition.IfMatch; List returns none.
	ETag string
	// Token identifies the registration; zero in a page of List.
	Token schemas.ConsistencyToken
}

// newRecord returns the record of the text.
func newRecord(kind string, text jsontext.Value) (Record, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return Record{}, fmt.Errorf("invalid record: %w", err)
	}
	r := Record{Kind: kind, JSON: text}
	_ = json.Unmarshal(members[kind+"_id"], &r.ID) // a stored record has an id
	_ = json.Unmarshal(members["tenant_id"], &r.Tenant)
	return r, nil
}

func recordPath(kind, id string, query url.Values) string {
	path := "/records/" + url.PathEscape(kind)
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// query returns the members of a request that are not part of the path.
func query(v any, path ...string) (url.Values, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	for _, name := range path {
		delete(members, name)
	}
	values := url.Values{}
	for name, value := range members {
		switch v := value.(type) {
		case string:
			values.Set(name, v)
		case float64:
			values.Set(name, strconv.FormatInt(int64(v), 10))
		case bool:
			values.Set(name, strconv.FormatBool(v))
		}
	}
	return values, nil
}

// Get returns a record, or schemas.ErrRecordNotFound.
func (c *Client) Get(ctx context.Context, key schemas.RecordKey) (Record, error) {
	return c.GetRevision(ctx, schemas.RecordAt{RecordKey: key})
}

// GetRevision returns the revision of a record, the newest one if at.Revision is empty, or
// schemas.ErrRecordNotFound if it is not retained or is a deletion.
func (c *Client) GetRevision(ctx context.Context, at schemas.RecordAt) (Record, error) {
	if err := at.Validate(); err != nil {
		return Record{}, err
	}
	values, err := query(at, "kind", "id")
	if err != nil {
		return Record{}, err
	}
	key := at.RecordKey
	var text jsontext.Value
	read := request{method: http.MethodGet, path: recordPath(key.Kind, key.ID, values), read: true, idempotent: true}
	header, err := c.call(ctx, read, nil, &text)
	if err != nil {
		return Record{}, err
	}
	r, err := newRecord(key.Kind, text)
	r.ETag = header.Get("ETag")
	r.Token, _ = schemas.ParseConsistencyToken(header.Get(headerRevision)) // zero if absent
	return r, err
}

// History returns the retained revisions of a record, newest first, or
// schemas.ErrRecordNotFound if it has none.
func (c *Client) History(ctx context.Context, key schemas.RecordKey) ([]schemas.RecordRevision, error) {
	var h schemas.RecordHistory
	err := c.about(ctx, key, "history", &h)
	return h.Revisions, err
}

// Usage returns how often the tenant of the key has used a record, or
// schemas.ErrRecordNotFound.
func (c *Client) Usage(ctx context.Context, key schemas.RecordKey) (u schemas.RecordUsage, err error) {
	err = c.about(ctx, key, "usage", &u)
	return u, err
}

// about reads the resource at the path below the record.
func (c *Client) about(ctx context.Context, key schemas.RecordKey, below string, into any) error {
	return c.read(ctx, recordPath(key.Kind, key.ID, nil)+"/"+below, &key, into, "kind", "id")
}

// List returns the records of a kind, ordered by id, of all pages from q.Cursor on.
func (c *Client) List(ctx context.Context, q schemas.RecordQuery) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for text, err := range pages(&q.Cursor, func() ([]jsontext.Value, *string, error) {
			var page schemas.RecordList
			err := c.read(ctx, recordPath(q.Kind, "", nil), &q, &page, "kind")
			return page.Records, page.NextCursor, err
		}) {
			var r Record
			if err == nil {
				r, err = newRecord(q.Kind, text)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Referrers returns the records of the tenant and global ones that link to an id, of all pages
// from q.Cursor on.
func (c *Client) Referrers(ctx context.Context, q schemas.ReferrerQuery) iter.Seq2[schemas.Referrer, error] {
	return pages(&q.Cursor, func() ([]schemas.Referrer, *string, error) {
		var page schemas.ReferrerList
		err := c.read(ctx, recordPath(q.Kind, q.ID, nil)+"/referrers", &q, &page, "kind", "id")
		return page.Referrers, page.NextCursor, err
	})
}

// pages returns the items of the pages that read returns, the first one for cursor, which it sets
// to that of each further page.
func pages[T any](cursor *string, read func() ([]T, *string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			items, next, err := read()
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			*cursor = *next
		}
	}
}

// read validates a request and reads its response at the path, with the members of the request
// that the path does not have as parameters.
func (c *Client) read(ctx context.Context, path string, q interface{ Validate() error }, into any, inPath ...string) error {
	if err := q.Validate(); err != nil {
		return err
	}
	values, err := query(q, inPath...)
	if err != nil {
		return err
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	_, err = c.call(ctx, request{method: http.MethodGet, path: path, read: true, idempotent: true}, nil, into)
	return err
}

// Stored is the result of a Put.
type Stored struct {
	schemas.RecordStored
	ETag  string
	Token schemas.ConsistencyToken
}

// Put registers or replaces a record. It returns schemas.ErrInvalidRegistration for an
// invalid record, and schemas.ErrPreconditionFailed if the precondition does not hold.
func (c *Client) Put(ctx context.Context, r schemas.PutRecord, p schemas.Precondition) (Stored, error) {
	if err := r.Validate(); err != nil {
		return Stored{}, err
	}
	values := url.Values{}
	if r.TenantID != nil {
		values.Set("tenant_id", *r.TenantID)
	}
	if r.Strict {
		values.Set("strict", "true")
	}
	var s Stored
	write := conditional(request{method: http.MethodPut, path: recordPath(r.Kind, r.ID, values)}, p)
	header, err := c.call(ctx, write, r.Record, &s.RecordStored)
	if err != nil {
		return Stored{}, err
	}
	s.ETag = header.Get("ETag")
	s.Token, _ = schemas.ParseConsistencyToken(header.Get(headerRevision)) // zero if absent
	return s, nil
}

// Delete deletes the record of the tenant, or the global one without a tenant. It succeeds
// if there is none, unless the precondition requires one: with IfMatch "*", it returns
// schemas.ErrPreconditionFailed.
func (c *Client) Delete(ctx context.Context, key schemas.RecordKey, p schemas.Precondition) error {
	if err := key.Validate(); err != nil {
		return err
	}
	values := url.Values{}
	if key.TenantID != nil {
		values.Set("tenant_id", *key.TenantID)
	}
	_, err := c.call(ctx, conditional(request{method: http.MethodDelete, path: recordPath(key.Kind, key.ID, values)}, p), nil, nil)
	return err
}

// conditional returns a write with the precondition. Without one, the write is idempotent.
func conditional(r request, p schemas.Precondition) request {
	r.header = http.Header{}
	if p.IfMatch != "" {
		r.header.Set("If-Match", p.IfMatch)
	}
	if p.IfNoneMatch != "" {
		r.header.Set("If-None-Match", p.IfNoneMatch)
	}
	r.idempotent = len(r.header) == 0
	return r
}
