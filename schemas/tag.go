package schemas

import "github.com/go-json-experiment/json/jsontext"

// Tag is the immutable state of a request in flight. It expires after its time to live.
type Tag struct {
	RequestID string                    `json:"request_id" doc:"1 to 256 arbitrary characters"`
	Flow      string                    `json:"flow" doc:"flow label assigned by the gateway"`
	Tags      map[string]jsontext.Value `json:"tags" doc:"arbitrary key/value metadata"`
}

// TagWrite stores a tag.
type TagWrite struct {
	Tag
	TenantID   *string `json:"tenant_id,omitzero" doc:"tenant of the tag; absent: global scope"`
	TTLSeconds *int    `json:"ttl_seconds,omitzero" doc:"shorter time to live than the default, in seconds; at least 1"`
}

func (t *TagWrite) tenantField() tenantField { return tenantField{"tenant_id", &t.TenantID, nil} }

// TagWritten is the response to a TagWrite.
type TagWritten struct {
	RequestID string `json:"request_id"`
	Flow      string `json:"flow"`
}

// TagKey identifies a tag.
type TagKey struct {
	RequestID string  `json:"request_id"`
	TenantID  *string `json:"tenant_id,omitzero" doc:"tenant of the tag; absent: global scope"`
}

func (k *TagKey) tenantField() tenantField { return tenantField{"tenant_id", &k.TenantID, nil} }

// TagFound is the response to a read of a tag.
type TagFound struct {
	Tags Tag `json:"tags"`
}

// TagQuery requests a page of the tags of a tenant, the earliest first.
type TagQuery struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"absent: global scope"`
	Limit    *int    `json:"limit,omitzero" doc:"page length, 1 to 1000; 100 by default"`
	Cursor   string  `json:"cursor,omitzero" doc:"next_cursor of the previous page"`
}

func (q *TagQuery) tenantField() tenantField { return tenantField{"tenant_id", &q.TenantID, nil} }

// TagList is a page of tags, without their values.
type TagList struct {
	Tags       []TagSummary `json:"tags" doc:"the earliest first"`
	NextCursor *string      `json:"next_cursor" doc:"null on the last page"`
}

// TagSummary is a tag in a list.
type TagSummary struct {
	RequestID string `json:"request_id"`
	CreatedAt string `json:"created_at" doc:"RFC 3339"`
	ExpiresAt string `json:"expires_at" doc:"RFC 3339"`
	Size      int64  `json:"size" doc:"of the tag as JSON, in bytes"`
}

// TagChanges reports the tags that a worker has written and deleted.
type TagChanges struct {
	Worker  string      `json:"worker"`
	Changes []TagChange `json:"changes"`
}

// TagChange is the difference of what a tenant stores by a write or delete of a tag.
type TagChange struct {
	Tenant   string    `json:"tenant" doc:"empty: global scope"`
	Ends     int64     `json:"ends" doc:"Unix second in which the tag expires"`
	Revision uint64    `json:"revision" doc:"of the tag; 0: unknown"`
	Use      TagAmount `json:"use"`
}

// TagAmount is the number and size of tags; negative if tags were deleted.
type TagAmount struct {
	Count int64 `json:"Count"`
	Bytes int64 `json:"Bytes"`
}
