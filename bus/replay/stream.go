package replay

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

const (
	// retention is the retention period of the events of a run.
	retention = 2 * time.Minute
	// maxBytes is the limit of the replay stream, in bytes; the oldest events are
	// removed first.
	maxBytes = 128 << 20
	// WorkerBytes bounds the events that the runs of one worker store within retention, in
	// bytes. It is divided among tenants, so that with up to four workers no event is removed
	// because of another tenant's.
	WorkerBytes = maxBytes / 4
)

// Setup creates the stream of the name for the events on the subject, which may have wildcards, or
// updates one that exists. It is in memory: a stand-alone server loses it on a restart,
// and until the next Setup no event is stored.
func Setup(ctx context.Context, js jetstream.JetStream, name, subject string, replication bucket.Replication) error {
	config := jetstream.StreamConfig{
		Name:        name,
		Subjects:    []string{subject},
		Storage:     jetstream.MemoryStorage,
		MaxAge:      retention,
		MaxBytes:    maxBytes,
		Discard:     jetstream.DiscardOld,
		Duplicates:  2 * storeTimeout,
		AllowDirect: true,
		DenyDelete:  true,
		DenyPurge:   true,
		Replicas:    max(1, replication.Replicas),
	}
	return bucket.Await(ctx, js, "set up stream "+config.Name, func() error {
		if replication.Replicas == 0 {
			existing, err := js.Stream(ctx, config.Name)
			if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			if err == nil {
				config.Replicas = existing.CachedInfo().Config.Replicas
			}
		}
		_, err := js.CreateOrUpdateStream(ctx, config)
		return err
	})
}
