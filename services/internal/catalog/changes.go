package catalog

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
)

// maxAhead is the number of messages that Changes receives ahead of apply.
const maxAhead = 64

// Changes calls apply with each change after the revision of the kind's records in the
// collections of the tenants, in order; an empty kind is every kind. Of changes before the
// call it has the newest one of each record. It does not receive more than a few changes
// ahead of apply. It returns the error of apply, or nil when ctx ends.
func (c *Catalog) Changes(ctx context.Context, kind string, tenants []string, after uint64, apply func(Change) error) error {
	kinds := []string{kind}
	if kind == "" {
		kinds = schemas.Kinds()
	}
	var filters []string
	for _, kind := range kinds {
		for _, tenant := range tenants {
			filters = append(filters, subjects+Key{Kind: kind, Tenant: tenant}.String()+">")
		}
	}
	var consumer jetstream.Consumer
	err := bucket.Await(ctx, c.js, "watch the catalog", func() (err error) {
		consumer, err = c.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
			NamePrefix: bucket.ConsumerPrefix(), FilterSubjects: filters,
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		})
		return err
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(maxAhead), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return fmt.Errorf("watch the catalog: %w", err)
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("watch the catalog: %w", err)
		}
		change, err := ReadChange(msg)
		if err != nil {
			continue // not a record
		}
		if err := apply(change); err != nil {
			return err
		}
	}
}
