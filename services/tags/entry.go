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
	record   []byte
	sequence uint64
	removed  bool
	deadline time.Time
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
		record:   msg.Data,
		sequence: msg.Sequence,
		removed:  bucket.Removes(msg.Header),
		deadline: msg.Time.Add(ttl),
	}, nil
}

// alive reports whether e is a tag that has not expired. The server removes expired
// messages up to a second late, so the deadline decides. Clocks of hosts are
// assumed to agree within that second.
func (e entry) alive() bool {
	return e.sequence > 0 && !e.removed && time.Now().Before(e.deadline)
}

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
