package services

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/keys"
	"cairn/services/analyze"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/projection"
	"cairn/services/internal/usage"
	"cairn/services/tags"
)

// Setup creates all streams of Cairn, or upgrades the configuration of existing ones. Run
// requires them and creates none, so that the NATS user of a worker needs no permission to
// create one. The user of conn sets up the streams of the services, and the user of keyConn
// the stream of the API keys; on a server without accounts both are the same connection.
// While the cluster has too few servers, Setup waits until ctx ends. It is idempotent and
// may run concurrently.
//
// The catalog is last: when it exists, so do the streams that its readers need.
func Setup(ctx context.Context, conn, keyConn *bus.Conn, c Config) error {
	js := conn.JetStream()
	keyReplication := c.Replication
	for _, row := range []struct {
		js          jetstream.JetStream
		replication *bucket.Replication
	}{{js, &c.Replication}, {keyConn.JetStream(), &keyReplication}} {
		if row.replication.Storage.Bytes > 0 {
			continue
		}
		err := bucket.WaitReady(ctx, row.js, "find the storage limit", func() (err error) {
			row.replication.Storage, err = bucket.FindStorage(ctx, row.js, row.replication.Replicas)
			return err
		})
		if err != nil {
			return err
		}
	}
	optional := func(consequence string, err error) error {
		if err != nil && ctx.Err() == nil {
			c.Log.Warn(consequence+" was not created; see --storage-limit", "err", err)
		}
		return ctx.Err()
	}
	for _, step := range []struct {
		stream string
		setup  func() error
	}{
		{bucket.Keys, func() error { return keys.Setup(ctx, keyConn, keyReplication) }},
		{tags.Bucket, func() error {
			return tags.Setup(ctx, js, tags.Settings{Replication: c.Replication, Memory: c.TagMemory})
		}},
		{bucket.Audit, func() error { return audit.Setup(ctx, js, c.Replication, c.AuditRetention) }},
		{bus.Analyze.Subject, func() error { return bus.Analyze.Setup(ctx, conn, c.Replication) }},
		{bucket.Quarantine, func() error { return projection.Setup(ctx, js, c.Replication) }},
		{usage.Stream, func() error {
			return optional("usage counting is disabled: its stream", usage.Setup(ctx, js, c.Replication))
		}},
		{analyze.SummaryStream, func() error {
			return optional("analyses have no summaries: their stream",
				analyze.SetupSummaries(ctx, js, c.Replication, c.RunRetention))
		}},
		{embed.Bucket, func() error {
			// it reserves 1 GiB
			return optional("vectors are computed at each start: the cache", embed.Setup(ctx, js, c.Replication))
		}},
		{catalog.Bucket, func() error {
			log, err := catalog.Setup(ctx, js, c.Replication)
			if err != nil {
				return err
			}
			return optional("the history of records is disabled: its stream", log.SetupHistory(ctx, c.Replication))
		}},
	} {
		if err := step.setup(); err != nil {
			return fmt.Errorf("set up %s: %w", step.stream, err)
		}
	}
	return nil
}
