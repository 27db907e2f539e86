package bucket

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// identity is where a stream's settings have the ID of its bucket.
const identity = "cairn-id"

// Identify gives a bucket that is about to be made an ID of its own.
func Identify(c *jetstream.StreamConfig) { c.Metadata = map[string]string{identity: nuid.Next()} }

// ID tells a bucket from every other of its name, such as one made anew: their
// revisions cannot be compared. The time at which the stream was made does not:
// once a node has brought a stream into a cluster, its copies differ in it
// (nats-server, processStreamRestore).
func ID(info *jetstream.StreamInfo) string {
	if id := info.Config.Metadata[identity]; id != "" {
		return id
	}
	return info.Created.UTC().Format(time.RFC3339Nano) // not created by Setup
}
