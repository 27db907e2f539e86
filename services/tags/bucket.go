package tags

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// Bucket is the name of the KV bucket of the records.
	Bucket     = "tags"
	streamName = "KV_" + Bucket
	subjects   = "$KV." + Bucket + "."
)

// Settings say how safely records are kept.
type Settings struct {
	// Replicas is the number of servers that keep each record; 0 leaves that of
	// an existing bucket alone, and a new one gets 1.
	Replicas int
	// Memory keeps records off the disk: they end with the server. It is
	// decided once; a server does not move a bucket.
	Memory bool
}

// Open creates the bucket, or brings one that exists up to date.
func Open(ctx context.Context, js jetstream.JetStream, settings Settings) (*Store, error) {
	replicas, err := wantReplicas(ctx, js, settings.Replicas)
	if err != nil {
		return nil, err
	}
	s, err := js.CreateOrUpdateStream(ctx, config(replicas, settings.Memory))
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", Bucket, err)
	}
	return &Store{js, s}, nil
}

func wantReplicas(ctx context.Context, js jetstream.JetStream, replicas int) (int, error) {
	if replicas > 0 {
		return replicas, nil
	}
	s, err := js.Stream(ctx, streamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for bucket %s: %w", Bucket, err)
	}
	return s.CachedInfo().Config.Replicas, nil
}

// config is the stream of a KV bucket (ADR-8) with these departures.
func config(replicas int, memory bool) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:              streamName,
		Description:       "tags of requests in flight, by base64url of the request_id",
		Subjects:          []string{subjects + ">"},
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgSize:        -1,
		MaxConsumers:      -1,
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		Discard:           jetstream.DiscardNew,
		Duplicates:        2 * time.Minute,
		AllowRollup:       true,
		DenyDelete:        true,
		// ADR-43. Limit markers (SubjectDeleteMarkerTTL) would leave a message
		// for watchers behind each record that expires; without them a key is
		// free at once, and an expiry is one removal.
		AllowMsgTTL: true,
		// A direct get may be answered by a replica that has not yet applied
		// an acknowledged write. Without it nats.go (jetstream/stream.go,
		// getMsg) asks $JS.API.STREAM.MSG.GET, which only the stream's leader
		// answers (nats-server, jetstream_api.go, jsMsgGetRequest).
		AllowDirect: false,
	}
	switch {
	case memory:
		c.Storage = jetstream.MemoryStorage
	case replicas == 1:
		// A record of a request in flight may be lost with the machine, so the
		// server need not sync each one although it syncs the catalog's
		// (nats-server, filestore.go, UpdateConfig). It takes this mode for a
		// stream of one replica only; more replicas are the safety otherwise.
		c.PersistMode = jetstream.AsyncPersistMode
	}
	return c
}
