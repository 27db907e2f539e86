package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

const (
	// maxBatch is the most changes Follow hands over at once.
	maxBatch = 1024
	// What the server may send ahead: enough to keep the wire busy, and few
	// enough that megabyte records do not fill the memory.
	fetchMessages = 4096
	fetchBytes    = 32 << 20
	// A consumer whose server is gone is missed after two heartbeats.
	heartbeat = time.Second
)

// Change is one revision of the log.
type Change struct {
	Key      Key
	Record   []byte // nil when Removed; not to be modified
	Revision uint64
	Removed  bool
}

// Follow hands the log to apply, from its beginning and then as it grows, in
// batches of what is available: one call at a time, revisions ascending, none
// twice. Of a record only the newest revision is replayed. ready, if not nil,
// is called once, after apply has had all that was in the log when Follow
// began. Lost connections and leaders are waited out. Follow returns nil when
// ctx ends, apply's error, or an error when the connection is closed.
func (c *Catalog) Follow(ctx context.Context, apply func([]Change) error, ready func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	target, consumer, err := c.begin(ctx)
	if err != nil {
		return err
	}
	changes := make(chan Change, maxBatch)
	consuming, err := consumer.Consume(into(ctx, changes), jetstream.PullHeartbeat(heartbeat),
		jetstream.PullMaxMessagesWithBytesLimit(fetchMessages, fetchBytes))
	if err != nil {
		return fmt.Errorf("follow the catalog: %w", err)
	}
	f := follower{changes: changes, closed: consuming.Closed(), apply: apply}
	err = f.run(ctx, target, ready)
	stop() // a handler that waits for room in changes goes on
	consuming.Stop()
	<-f.closed
	return err
}

// begin makes what reads the log from its beginning, and says how far it goes now.
func (c *Catalog) begin(ctx context.Context) (target uint64, consumer jetstream.Consumer, err error) {
	err = bucket.Await(ctx, c.js, "follow the catalog", func() error {
		if target, err = c.Revision(ctx); err != nil {
			return err
		}
		consumer, err = c.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{InactiveThreshold: time.Minute})
		return err
	})
	return target, consumer, err
}

// into puts what messages tell of into changes. What is none of the catalog's
// comes with its revision and no key, so that it counts as seen.
func into(ctx context.Context, changes chan<- Change) jetstream.MessageHandler {
	return func(msg jetstream.Msg) {
		change, err := ReadChange(msg)
		if err != nil && !errors.Is(err, ErrBadKey) {
			return
		}
		select {
		case changes <- change:
		case <-ctx.Done():
		}
	}
}

// follower hands on what a consumer puts into changes.
type follower struct {
	changes <-chan Change
	closed  <-chan struct{}
	apply   func([]Change) error
	reached uint64 // the newest revision handed on
}

func (f *follower) run(ctx context.Context, target uint64, ready func()) error {
	for {
		if ready != nil && f.reached >= target {
			ready()
			ready = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.closed:
			return fmt.Errorf("follow the catalog: %w", nats.ErrConnectionClosed)
		case change := <-f.changes:
			if err := f.hand(f.gather([]Change{change})); err != nil {
				return err
			}
		}
	}
}

// gather adds to the batch what is there already.
func (f *follower) gather(batch []Change) []Change {
	for len(batch) < maxBatch {
		select {
		case change := <-f.changes:
			batch = append(batch, change)
		default:
			return batch
		}
	}
	return batch
}

// hand gives the batch to apply, without what is none of the catalog's.
func (f *follower) hand(batch []Change) error {
	first, last := batch[0].Revision, batch[len(batch)-1].Revision
	batch = slices.DeleteFunc(batch, func(c Change) bool { return c.Key == Key{} })
	if len(batch) > 0 {
		if err := f.apply(batch); err != nil {
			return fmt.Errorf("apply revisions %d to %d: %w", first, last, err)
		}
	}
	f.reached = last
	return nil
}

// ReadChange is what a message of Stream tells of, for those who consume it
// themselves. It answers ErrBadKey, and only the revision, for one that is none
// of the catalog's.
func ReadChange(msg jetstream.Msg) (Change, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Change{}, fmt.Errorf("read a change: %w", err)
	}
	key, err := ParseKey(strings.TrimPrefix(msg.Subject(), subjects))
	if err != nil {
		return Change{Revision: meta.Sequence.Stream}, fmt.Errorf("read revision %d: %w", meta.Sequence.Stream, err)
	}
	change := Change{Key: key, Revision: meta.Sequence.Stream, Removed: bucket.Removes(msg.Headers())}
	if !change.Removed {
		change.Record = msg.Data()
	}
	return change, nil
}
