package client

import (
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

func recordPath(kind, id string) string {
	path := "/records/" + url.PathEscape(kind)
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

func aliasPath(key schemas.AliasKey) string {
	return recordPath(key.Kind, key.ID) + "/aliases/" + url.PathEscape(key.Name)
}

func tagPath(key schemas.TagKey) string { return "/tags/" + url.PathEscape(key.RequestID) }

// target validates a request and returns the path with the members of the request as parameters, except those that
// are elsewhere: in the path or in the body.
func target(path string, q any, invalid *schemas.Error, elsewhere ...string) (string, error) {
	if err := schemas.Validate(q, invalid); err != nil {
		return "", err
	}
	text, err := json.Marshal(q)
	if err != nil {
		return "", err
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return "", err
	}
	for _, name := range elsewhere {
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
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path, nil
}

// pages yields the items of all pages from the first cursor on.
func pages[T any](first string, read func(cursor string) ([]T, *string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := first; ; {
			items, next, err := read(cursor)
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
			cursor = *next
		}
	}
}

// Stored is the result of a Put.
type Stored struct {
	schemas.RecordStored
	ETag  string
	Token schemas.ConsistencyToken
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

// Change is the registration, replacement or deletion of a record.
type Change struct {
	Type string // schemas.EventRegistered, EventReplaced, EventDeleted or EventUnmatched
	schemas.RecordChange
}
