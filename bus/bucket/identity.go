package bucket

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// identity is the metadata key of a stream with the ID of its bucket.
const identity = "cairn-id"

// Identify gives a new bucket a unique ID.
func Identify(c *jetstream.StreamConfig) { c.Metadata = map[string]string{identity: nuid.Next()} }

// ID returns the ID of the bucket, which differs between buckets that had the same name:
// their revisions are not comparable. The creation time does not identify a bucket: the
// replicas of a restored stream differ in it (nats-server, processStreamRestore).
func ID(info *jetstream.StreamInfo) string {
	if id := info.Config.Metadata[identity]; id != "" {
		return id
	}
	return info.Created.UTC().Format(time.RFC3339Nano) // not created by Setup
}
