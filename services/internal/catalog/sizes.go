package catalog

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// Size is a revision of the log without its record.
type Size struct {
	Key      Key
	Bytes    int64 // as bucket.MessageSize
	Revision uint64
	Expires  time.Time // of the delete marker; zero: a record
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
	size := Size{Revision: meta.Sequence.Stream}
	encoded := strings.TrimPrefix(msg.Subject(), subjects)
	if key, err := ParseKey(encoded); err == nil {
		size.Key = key
	}
	payload, _ := strconv.ParseInt(msg.Headers().Get(nats.MsgSize), 10, 64) // set by the server
	size.Bytes = bucket.MessageSize(msg.Subject(), payload+int64(len(msg.Headers().Get(headerGenerated))))
	if bucket.Removes(msg.Headers()) {
		size.Expires = meta.Timestamp.Add(markerTTL)
	}
	return size, nil
}
