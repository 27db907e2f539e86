package bucket

import (
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Names of the buckets. The prefix lets Cairn share a NATS account.
const (
	Catalog    = "cairn_catalog"
	Tags       = "cairn_tags"
	Embeddings = "cairn_embeddings" // a cache: the oldest messages are discarded
	Quarantine = "cairn_quarantine"
	Keys       = "cairn_keys"
)

// Naming scheme of KV buckets (ADR-8).
const (
	// StreamPrefix precedes the name of a bucket in the name of its stream.
	StreamPrefix = "KV_"
	// SubjectPrefix precedes the name of a bucket, a dot and a key in the subject of the key.
	SubjectPrefix = "$KV."
	// operation is the header of a delete or purge marker.
	operation = "KV-Operation"
)

// Marker returns a message that deletes the key of the subject.
func Marker(subject string) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Header.Set(operation, "DEL")
	return msg
}

// Removes reports whether the header is that of a delete marker: from Marker, a manual
// purge or the server.
func Removes(h nats.Header) bool {
	op := h.Get(operation)
	return op == "DEL" || op == "PURGE" || h.Get(jetstream.MarkerReasonHeader) != ""
}

// ConsumerPrefix returns a new prefix for the names of an ordered consumer, which lets Cairn
// share a NATS account.
func ConsumerPrefix() string { return "cairn_" + nuid.Next() }
