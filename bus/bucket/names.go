package bucket

import (
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The buckets.
const (
	Catalog    = "catalog"
	Tags       = "tags"
	Embeddings = "embeddings" // a cache: the oldest messages make room
	Quarantine = "aside"
	Keys       = "keys"
)

// What ADR-8 calls the parts of a bucket.
const (
	// StreamPrefix is before the name of a bucket in that of its stream.
	StreamPrefix = "KV_"
	// SubjectPrefix is before the name of a bucket, a dot and a key in the subject
	// of the key.
	SubjectPrefix = "$KV."
	// operation is the header that marks what is not a value.
	operation = "KV-Operation"
)

// Marker returns a message that deletes the key of the subject.
func Marker(subject string) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Header.Set(operation, "DEL")
	return msg
}

// Removes reports whether a message with the header is a marker: ours, or one
// of a purge by hand or by the server.
func Removes(h nats.Header) bool {
	op := h.Get(operation)
	return op == "DEL" || op == "PURGE" || h.Get(jetstream.MarkerReasonHeader) != ""
}
