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
	TTLSeconds *int `json:"ttl_seconds,omitzero" doc:"shortens the time to live; at least 1"`
}

// Validate names the fields that are wrong.
func (t *TagWrite) Validate() error {
	var c check
	c.length("request_id", t.RequestID, 1, maxID)
	c.length("flow", t.Flow, 0, maxID)
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
	RequestID string `json:"request_id"`
}

// Validate names the fields that are wrong.
func (k *TagKey) Validate() error {
	var c check
	c.length("request_id", k.RequestID, 1, maxID)
	return c.as(ErrMalformed)
}

// TagFound answers a TagKey.
type TagFound struct {
	Tags Tag `json:"tags"`
}
