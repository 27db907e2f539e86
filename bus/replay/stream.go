// Package replay stores the events of runs in a JetStream stream and reads them for a resume.
//
// A [Writer] stores the events of one run in order and once: in batches, each a message of
// server-sent events that is published until JetStream acknowledges it. A [Reader] reads them
// from any replica. The stream is in memory and retains messages for two minutes, in at most
// 128 MiB, which are divided among the workers and at each worker among tenants. The first
// message of a run has no event: it records that the run has started. Headers contain the start time
// and the outcome of a run, so that a [Lister] reads only one message of each.
package replay

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

const (
	retention = 2 * time.Minute // of the events of a run
	// maxBytes is the limit of the replay stream, in bytes; the oldest events are removed first.
	maxBytes = 128 << 20
	// WorkerBytes bounds the events that the runs of one worker store within retention, in
	// bytes. It is divided among tenants, so that with up to four workers no tenant displaces the
	// events of another.
	WorkerBytes = maxBytes / 4
)

// Location is where the events of runs are stored: a subject of a JetStream stream. A wildcard stands
// for the name of the run.
type Location struct{ Stream, Subject string }

// Setup creates or updates the stream of the events.
func Setup(ctx context.Context, js jetstream.JetStream, events Location, replication bucket.Replication) error {
	_, err := bucket.SetupStream(ctx, js, jetstream.StreamConfig{
		Name:        events.Stream,
		Subjects:    []string{events.Subject},
		Storage:     jetstream.MemoryStorage,
		MaxAge:      retention,
		MaxBytes:    maxBytes,
		Discard:     jetstream.DiscardOld,
		Duplicates:  2 * storeTimeout,
		AllowDirect: true,
		DenyDelete:  true,
		DenyPurge:   true,
	}, replication)
	return err
}
