package catalog

import (
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// Size is a revision of the log without its record.
type Size struct {
	Key      Key
	Bytes    int64 // as bucket.MessageSize; 0 if Removed
	Revision uint64
	Removed  bool
}

// SizeOf returns the Size.Bytes of a record that is not stored yet.
func SizeOf(key Key, record []byte) int64 {
	return bucket.MessageSize(subjects+key.String(), int64(len(record)))
}

func sizeOf(msg jetstream.Msg) (Size, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Size{}, err
	}
	size := Size{Revision: meta.Sequence.Stream, Removed: bucket.Removes(msg.Headers())}
	encoded := strings.TrimPrefix(msg.Subject(), subjects)
	if key, err := ParseKey(encoded); err == nil {
		size.Key = key
	}
	if !size.Removed {
		payload, _ := strconv.ParseInt(msg.Headers().Get(nats.MsgSize), 10, 64) // set by the server
		size.Bytes = bucket.MessageSize(msg.Subject(), payload+int64(len(msg.Headers().Get(headerGenerated))))
	}
	return size, nil
}
