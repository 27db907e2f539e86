package services

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/keys"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/projection"
	"cairn/services/tags"
)

// Setup creates every stream of Cairn, or upgrades the configuration of those that
// exist, as c says. Run needs them all and creates none, so that the NATS user of
// a worker need not be permitted to. The user of conn may set up the streams of the
// services, and that of keyConn the one of the API keys; on a server without
// accounts both are the same connection. While the servers of a cluster are too few,
// Setup waits, until ctx ends. It may run at any time, and several times at once.
//
// The catalog comes last: once it exists, so does what its readers use beside it.
func Setup(ctx context.Context, conn, keyConn *bus.Conn, c Config) error {
	js := conn.JetStream()
	keyCopies := c.Copies
	for _, of := range []struct {
		js     jetstream.JetStream
		copies *bucket.Copies
	}{{js, &c.Copies}, {keyConn.JetStream(), &keyCopies}} {
		if of.copies.Storage.Bytes > 0 {
			continue
		}
		err := bucket.Await(ctx, of.js, "find the storage limit", func() (err error) {
			of.copies.Storage, err = bucket.FindStorage(ctx, of.js, of.copies.Replicas)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, step := range []struct {
		stream string
		setup  func() error
	}{
		{bucket.Keys, func() error {
			_, err := keys.Setup(ctx, keyConn, keyCopies)
			return err
		}},
		{tags.Bucket, func() error {
			return tags.Setup(ctx, js, tags.Settings{Copies: c.Copies, Memory: c.TagMemory, Sync: c.TagSync})
		}},
		{bus.Analyze.Subject, func() error { return bus.Analyze.Setup(ctx, conn, c.Copies) }},
		{bucket.Quarantine, func() error { return projection.Setup(ctx, js, c.Copies) }},
		{embed.Bucket, func() error {
			if err := embed.Setup(ctx, js, c.Copies); err != nil && ctx.Err() == nil {
				c.Log.Warn("no cache of vectors", "err", err) // it reserves 1 GiB; everything works without
			}
			return ctx.Err()
		}},
		{catalog.Bucket, func() error {
			_, err := catalog.Setup(ctx, js, c.Copies)
			return err
		}},
	} {
		if err := step.setup(); err != nil {
			return fmt.Errorf("set up %s: %w", step.stream, err)
		}
	}
	return nil
}
