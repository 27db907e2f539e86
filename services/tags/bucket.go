package tags

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/services/internal/quota"
)

const (
	// Bucket is the name of the KV bucket of the records.
	Bucket   = bucket.Tags
	subjects = bucket.SubjectPrefix + Bucket + "."
)

// Settings say how safely records are kept.
type Settings struct {
	bucket.Copies
	// Memory keeps records off the disk: they end with the server. It is
	// decided once; a server does not move a bucket.
	Memory bool
	// Sync has the server call fsync before each acknowledgement, so that a record
	// outlives a power loss as well as the server's process. The mode of a bucket is
	// fixed when it is created. One that is created in a cluster always syncs as its
	// servers do.
	Sync bool
	// Limit is what each tenant may store; the zero value is no limit.
	Limit quota.Limit
}

// Open opens the bucket, and waits for it until ctx ends. Of settings it applies the
// limit alone, since Setup has applied the others. The caller closes the store.
func Open(ctx context.Context, js jetstream.JetStream, settings Settings) (*Store, error) {
	s, err := bucket.Bind(ctx, js, Bucket)
	if err != nil {
		return nil, err
	}
	flush, err := bucket.NewFlusher(ctx, js, Bucket, s)
	if err != nil {
		return nil, err
	}
	count, err := openUsage(ctx, js, s, settings.Limit)
	if err != nil {
		return nil, err
	}
	return &Store{js, s, bucket.NewReader(js, Bucket, s), flush, count}, nil
}

// Setup creates the bucket, or upgrades one that exists.
func Setup(ctx context.Context, js jetstream.JetStream, settings Settings) error {
	s, err := bucket.Setup(ctx, js, Bucket, settings.Copies, settings.shape)
	if err != nil {
		return err
	}
	if settings.Sync && s.CachedInfo().Config.PersistMode == jetstream.AsyncPersistMode {
		return errors.New("tags were kept without a sync of each, which a NATS server does not change: remove the stream " + bucket.StreamPrefix + Bucket + ", and the tags with it, or do without")
	}
	return nil
}

// shape is what the bucket has of its own.
func (s Settings) shape(c *jetstream.StreamConfig) {
	c.Description = "tags of requests in flight, by base64url of the tenant, if any, and of the request_id"
	// ADR-43. Limit markers (SubjectDeleteMarkerTTL) would leave a message for
	// watchers behind each record that expires; without them a key is free at
	// once, and an expiry is one removal.
	c.AllowMsgTTL = true
	c.AllowDirect = true // for the reader
	switch {
	case s.Memory:
		c.Storage = jetstream.MemoryStorage
	case !s.Sync:
		// A record of a request in flight may be lost with the machine, but not with
		// the server's process: the store flushes what it writes. The server then
		// need not sync each record although it syncs the catalog's (nats-server,
		// filestore.go, UpdateConfig).
		c.PersistMode = jetstream.AsyncPersistMode
	}
}
