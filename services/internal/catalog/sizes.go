package catalog

import (
	"bytes"
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// Size is a revision of the log without its record.
type Size struct {
	Key      Key
	Bytes    int64 // as SizeOf
	Revision uint64
	Removed  bool // a delete marker
}

// entryBytes is the size of a list entry in addition to its text: it may be a link with a node of the
// graph, or an example query with a vector. With it, the views of a worker take at most about 15 times
// the size of the records in memory, and without it 180 times (edge/docs/benchmarks.md, Memory of records).
const entryBytes = 256

// SizeOf returns the size of a record for quotas, in bytes: bucket.MessageSize, and entryBytes for each
// entry of its lists.
func SizeOf(key Key, record []byte) int64 {
	return bucket.MessageSize(subjects+key.String(), int64(len(record))) + entryBytes*entriesOf(record)
}

// OriginSize returns the bytes that the origin of a write with ctx adds to the size of the record.
func OriginSize(ctx context.Context) int64 { return int64(len(originOf(ctx))) }

// entriesOf returns the number of entries of all lists in a JSON value.
func entriesOf(record []byte) (n int64) {
	d := jsontext.NewDecoder(bytes.NewReader(record), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if d.PeekKind() == jsontext.KindEndArray {
			_, length := d.StackIndex(d.StackDepth())
			n += length
		}
		if _, err := d.ReadToken(); err != nil {
			return n
		}
	}
}

func sizeOf(msg jetstream.Msg) (Size, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Size{}, err
	}
	size := Size{Revision: meta.Sequence.Stream, Removed: bucket.Removes(msg.Headers())}
	encoded := strings.TrimPrefix(msg.Subject(), subjects)
	if key, err := parseKey(encoded); err == nil {
		size.Key = key
	}
	size.Bytes = SizeOf(size.Key, msg.Data()) + int64(len(msg.Headers().Get(headerOrigin)))
	return size, nil
}
