package tags

import (
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
)

// maxLists is the number of lists of a worker in progress, divided among tenants. Each has a consumer.
const maxLists = 16

// header is what the headers of a message say about a tag.
type header struct {
	key
	ttl  time.Duration
	size int64 // of its JSON, in bytes
}

// parseHeader returns the header of a message of a consumer without payloads; ok is false if it is no tag.
func parseHeader(msg jetstream.Msg) (h header, ok bool) {
	k, ok := parseKey(msg.Subject())
	ttl, err := time.ParseDuration(msg.Headers().Get(jetstream.MsgTTLHeader))
	if !ok || err != nil || bucket.Removes(msg.Headers()) {
		return header{}, false
	}
	size, err := strconv.ParseInt(msg.Headers().Get(nats.MsgSize), 10, 64)
	return header{k, ttl, size}, err == nil
}

// summarize returns the summary of a tag; ok is false for other messages.
func summarize(msg jetstream.Msg, meta *jetstream.MsgMetadata) (summary schemas.TagSummary, ok bool) {
	h, ok := parseHeader(msg)
	if !ok {
		return summary, false
	}
	return schemas.TagSummary{
		RequestID: h.id, CreatedAt: meta.Timestamp.UTC().Format(time.RFC3339Nano),
		ExpiresAt: meta.Timestamp.Add(h.ttl).UTC().Format(time.RFC3339Nano), Size: h.size,
	}, true
}
