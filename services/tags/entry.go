package tags

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// entry is the newest message of a key; the zero entry means none.
type entry struct {
	id       string // Nats-Msg-Id
	record   []byte
	sequence uint64
	removed  bool
	deadline time.Time // by the clock of the server
}

// alive reports whether e is a tag. Only the server decides when a tag has expired, and removes it up
// to a second late, because clocks of workers may be wrong.
func (e entry) alive() bool { return e.sequence > 0 && !e.removed }

// encode returns tag as JSON. Reflection on the map would dominate the cost of a
// write; names and values were validated when they were decoded.
func encode(tag schemas.Tag) []byte {
	b := quoted([]byte(`{"request_id":`), tag.RequestID)
	b = quoted(append(b, `,"flow":`...), tag.Flow)
	b = append(b, `,"tags":{`...)
	for name, value := range tag.Tags {
		b = quoted(b, name)
		b = append(append(append(b, ':'), value...), ',')
	}
	return append(bytes.TrimSuffix(b, []byte(",")), "}}"...)
}

func quoted(b []byte, text string) []byte {
	b, _ = jsontext.AppendQuote(b, text) // fails only for invalid UTF-8
	return b
}
