package tags

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/services/internal/quota"
)

const (
	// Bucket is the name of the KV bucket of the tags.
	Bucket   = bucket.Tags
	subjects = bucket.SubjectPrefix + Bucket + "."
)

// Settings configures the storage of the bucket.
type Settings struct {
	bucket.Replication
	// Memory selects memory storage: tags are lost when the server stops. The
	// storage of an existing bucket cannot be changed.
	Memory bool
	// Sync makes the server call fsync before each acknowledgement, so that tags
	// survive a power loss as well as a crash of the server. The mode is fixed when
	// the bucket is created. A bucket created in a cluster follows the sync setting
	// of its servers.
	Sync bool
	// Limit is the storage quota of each tenant; the zero value is unlimited.
	Limit quota.Limit
}

// Open opens the bucket. It waits for the bucket to exist until ctx ends. It uses
// only the limit of settings; Setup applies the others. The caller closes the store.
func Open(ctx context.Context, conn *bus.Conn, settings Settings) (*Store, error) {
	js := conn.JetStream()
	s, err := bucket.Bind(ctx, js, bucket.StreamPrefix+Bucket)
	if err != nil {
		return nil, err
	}
	flush, err := bucket.NewFlusher(ctx, js, Bucket, s)
	if err != nil {
		return nil, err
	}
	var count *counter
	err = bucket.WaitReady(ctx, js, "count the tags", func() error {
		count, err = openCounter(ctx, conn, s, settings.Limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Store{js, s, bucket.NewReader(js, Bucket, s), flush, count}, nil
}

// Setup creates the bucket or upgrades an existing one.
func Setup(ctx context.Context, js jetstream.JetStream, settings Settings) error {
	s, err := bucket.Setup(ctx, js, Bucket, settings.Replication, settings.configure)
	if err != nil {
		return err
	}
	if settings.Sync && s.CachedInfo().Config.PersistMode == jetstream.AsyncPersistMode {
		return errors.New("the persist mode of an existing bucket cannot be changed: delete the stream " + bucket.StreamPrefix + Bucket + " with all tags, or do not require synced tags")
	}
	return nil
}

// configure sets the stream options that are specific to tags.
func (s Settings) configure(c *jetstream.StreamConfig) {
	c.Description = "tags of requests in flight, by base64url of the tenant, if any, and of the request_id"
	// ADR-43. Limit markers (SubjectDeleteMarkerTTL) would store a message for
	// watchers when a record expires; without them a key is free immediately, and an
	// expiry is one removal.
	c.AllowMsgTTL = true
	c.AllowDirect = true // required by bucket.Reader
	switch {
	case s.Memory:
		c.Storage = jetstream.MemoryStorage
	case !s.Sync:
		// A tag may be lost if the machine fails, but not if the server's process
		// crashes: the store flushes its writes. The server then does not sync each
		// tag although it syncs the catalog (nats-server, filestore.go, UpdateConfig).
		c.PersistMode = jetstream.AsyncPersistMode
	}
}
