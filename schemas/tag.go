package schemas

import "github.com/go-json-experiment/json/jsontext"

// Tag is the state of a request in flight: written once, never changed, and
// gone after its time to live.
type Tag struct {
	RequestID string                    `json:"request_id" doc:"1 to 256 characters, any"`
	Flow      string                    `json:"flow" doc:"flow label of the gateway's routing"`
	Tags      map[string]jsontext.Value `json:"tags" doc:"free key/value metadata"`
}

// TagWrite asks to store a tag.
type TagWrite struct {
	Tag
	TenantID   *string `json:"tenant_id,omitzero" doc:"the tag is this tenant's, and of nobody else to be seen; absent: nobody's"`
	TTLSeconds *int    `json:"ttl_seconds,omitzero" doc:"shortens the time to live; at least 1"`
}

// Validate names the fields that are wrong.
func (t *TagWrite) Validate() error {
	var c check
	c.length("request_id", t.RequestID, 1, maxID)
	c.length("flow", t.Flow, 0, maxID)
	c.atMost("tags", len(t.Tags), maxItems)
	for name := range t.Tags {
		c.length("tags."+cut(name), name, 0, maxID)
	}
	c.tenant("tenant_id", t.TenantID)
	if t.TTLSeconds != nil && *t.TTLSeconds < 1 {
		c.fail("ttl_seconds", "want an integer of at least 1, got %d", *t.TTLSeconds)
	}
	return c.as(ErrMalformed)
}

// TagWritten answers a TagWrite.
type TagWritten struct {
	RequestID string `json:"request_id"`
	Flow      string `json:"flow"`
}

// TagKey names a tag.
type TagKey struct {
	RequestID string  `json:"request_id"`
	TenantID  *string `json:"tenant_id,omitzero" doc:"of whom the tag is"`
}

// Validate names the fields that are wrong.
func (k *TagKey) Validate() error {
	var c check
	c.length("request_id", k.RequestID, 1, maxID)
	c.tenant("tenant_id", k.TenantID)
	return c.as(ErrMalformed)
}

// TagFound answers a TagKey.
type TagFound struct {
	Tags Tag `json:"tags"`
}
