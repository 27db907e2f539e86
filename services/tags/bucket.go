package tags

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/admission"
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
	var count *counter
	err = bucket.WaitReady(ctx, js, "count the tags", func() error {
		count, err = openCounter(ctx, conn, s, settings.Limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	writes := bus.MonitorWrites(conn, Bucket, "tag store")
	return &Store{js, s, bucket.NewReader(js, Bucket, s), count, writes, admission.NewPool(maxLists)}, nil
}

// Setup creates the bucket or upgrades an existing one. It replaces a bucket of an earlier release in persist
// mode "async"; a worker must not write tags meanwhile.
func Setup(ctx context.Context, js jetstream.JetStream, settings Settings) error {
	clustered := js.Conn().ConnectedClusterName() != "" // no release has used "async" there
	if !clustered {
		if err := bucket.WaitReady(ctx, js, "copy the tags", func() error { return saveAsync(ctx, js) }); err != nil {
			return err
		}
	}
	if _, err := bucket.Setup(ctx, js, Bucket, settings.Replication, settings.configure); err != nil {
		return err
	}
	if clustered {
		return nil
	}
	return bucket.WaitReady(ctx, js, "restore the tags", func() error { return restoreCopy(ctx, js) })
}

// configure sets the stream options that are specific to tags.
func (s Settings) configure(c *jetstream.StreamConfig) {
	c.Description = "tags of requests in flight, by base64url of the tenant, if any, and of the request_id"
	// ADR-43. Limit markers (SubjectDeleteMarkerTTL) would store a message for
	// watchers when a record expires; without them a key is free immediately, and an
	// expiry is one removal.
	c.AllowMsgTTL = true
	c.AllowDirect = true // required by bucket.Reader
	if s.Memory {
		c.Storage = jetstream.MemoryStorage
	}
}
