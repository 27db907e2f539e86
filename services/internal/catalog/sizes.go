package catalog

import (
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// Size is a revision of the log without its record.
type Size struct {
	Key      Key
	Bytes    int64 // length of key and record; 0 if Removed
	Revision uint64
	Removed  bool
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
		bytes, _ := strconv.ParseInt(msg.Headers().Get("Nats-Msg-Size"), 10, 64) // set by the server
		size.Bytes = bytes + int64(len(encoded))
	}
	return size, nil
}
