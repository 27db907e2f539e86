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

// entry is the newest message of a key; the zero entry: there is none.
type entry struct {
	record   []byte
	sequence uint64
	removed  bool
	deadline time.Time
}

// last knows of every acknowledged write.
func (s *Store) last(ctx context.Context, k key) (entry, error) {
	msg, err := s.reader.Last(ctx, k.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, wrap(err, "read", k)
	}
	ttl, _ := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader)) // ours always has one
	return entry{
		record:   msg.Data,
		sequence: msg.Sequence,
		removed:  bucket.Removes(msg.Header),
		deadline: msg.Time.Add(ttl),
	}, nil
}

// alive reports whether e is a record whose time has not come. The server
// sweeps up to a second late, so the deadline counts, not the record's being
// there. The clocks of hosts are taken to agree to within that second.
func (e entry) alive() bool {
	return e.sequence > 0 && !e.removed && time.Now().Before(e.deadline)
}

// encode is tag as JSON. Reflection on a map takes longer than all else that a
// write does here; names and values were checked when they were decoded.
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
	b, _ = jsontext.AppendQuote(b, text) // only text that is not UTF-8 has an error
	return b
}
