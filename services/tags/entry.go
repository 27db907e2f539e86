package tags

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
)

// entry is the newest message of a key; the zero entry means none.
type entry struct {
	id       string // Nats-Msg-Id
	record   []byte
	sequence uint64
	removed  bool
	deadline time.Time // by the clock of the server, for the usage of the tenant
}

// last returns the newest entry of the key, including every acknowledged write.
func (s *Store) last(ctx context.Context, k key) (entry, error) {
	msg, err := s.reader.Last(ctx, k.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, wrap(err, "read", k)
	}
	ttl, _ := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader)) // set by every write of this package
	return entry{
		id:       msg.Header.Get(jetstream.MsgIDHeader),
		record:   msg.Data,
		sequence: msg.Sequence,
		removed:  bucket.Removes(msg.Header),
		deadline: msg.Time.Add(ttl),
	}, nil
}

// alive reports whether e is a tag. The server alone decides when a tag has expired, and
// removes it up to a second late: clocks of workers may be wrong.
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
