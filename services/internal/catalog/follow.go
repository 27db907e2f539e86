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
	// maxBatch is the maximum number of changes in one call of apply.
	maxBatch = 1024
	// Limits of the messages in flight: enough for full throughput, few enough to
	// bound memory with records of a megabyte.
	fetchMessages = 4096
	fetchBytes    = 32 << 20
	// heartbeat is the interval of consumer heartbeats. Two missed ones recreate the
	// consumer, which needs a leader.
	heartbeat = time.Second
	// idleTimeout is the time without a change after which Follow reads the log directly,
	// which any replica answers.
	idleTimeout = 500 * time.Millisecond
)

// Change is one revision of the log. A Change with a zero Key is a message that is
// not a record, such as a fence; it only advances the revision.
type Change struct {
	Key      Key    // zero: not a record
	Record   []byte // nil if Removed; must not be modified
	Revision uint64
	Removed  bool
}

// IsRecord reports whether the change belongs to a record.
func (c Change) IsRecord() bool { return c.Key != Key{} }

// Follow calls apply with the changes of the log, from its beginning and then as
// it grows, in batches of the available changes. Calls do not overlap; revisions
// ascend without duplicates. Of each record only the newest revision is replayed.
// Follow calls ready, if not nil, once after apply has received everything that the
// log contained at the start. It survives lost connections and leader elections.
// It returns nil when ctx ends, the error of apply, or an error when the connection
// is closed.
func (c *Catalog) Follow(ctx context.Context, apply func([]Change) error, ready func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	target, consumer, err := c.begin(ctx)
	if err != nil {
		return err
	}
	changes := make(chan Change, maxBatch)
	consuming, err := consumer.Consume(sendTo(ctx, changes), jetstream.PullHeartbeat(heartbeat),
		jetstream.PullMaxMessagesWithBytesLimit(fetchMessages, fetchBytes))
	if err != nil {
		return fmt.Errorf("follow the catalog: %w", err)
	}
	f := follower{changes: changes, closed: consuming.Closed(), apply: apply, log: c}
	err = f.run(ctx, target, ready)
	stop() // unblocks a handler that waits to send on changes
	consuming.Stop()
	<-f.closed
	return err
}

// begin creates a consumer that replays the log, and returns the current revision.
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

// sendTo returns a handler that sends the change of each message on changes. A
// message that is not a record has its revision and a zero key.
func sendTo(ctx context.Context, changes chan<- Change) jetstream.MessageHandler {
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

// follower passes changes from a consumer to apply.
type follower struct {
	changes   <-chan Change
	closed    <-chan struct{}
	apply     func([]Change) error
	log       *Catalog
	watermark uint64 // watermark: the newest revision passed to apply
}

func (f *follower) run(ctx context.Context, target uint64, ready func()) error {
	idle := time.NewTimer(idleTimeout)
	defer idle.Stop()
	for {
		if ready != nil && f.watermark >= target {
			ready()
			ready = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.closed:
			return fmt.Errorf("follow the catalog: %w", nats.ErrConnectionClosed)
		case change := <-f.changes:
			if err := f.deliver(f.gather([]Change{change})); err != nil {
				return err
			}
		case <-idle.C:
			if err := f.deliver(f.log.readAfter(ctx, f.watermark)); err != nil {
				return err
			}
		}
		idle.Reset(idleTimeout)
	}
}

// gather adds the changes that are available without waiting.
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

// deliver calls apply with the changes after the watermark.
func (f *follower) deliver(batch []Change) error {
	watermark := f.watermark
	if len(batch) == 0 || batch[len(batch)-1].Revision <= watermark {
		return nil
	}
	last := batch[len(batch)-1].Revision
	batch = slices.DeleteFunc(batch, func(c Change) bool { return c.Revision <= watermark })
	if err := f.apply(batch); err != nil {
		return fmt.Errorf("apply revisions %d to %d: %w", watermark+1, last, err)
	}
	f.watermark = last
	return nil
}

// readAfter returns the changes after the revision from any replica of the log. It
// returns none if no replica responds.
func (c *Catalog) readAfter(ctx context.Context, revision uint64) (list []Change) {
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	for len(list) < maxBatch {
		msg, err := c.stream.GetMsg(ctx, revision+1, jetstream.WithGetMsgSubject(subjects+">"))
		if err != nil {
			break
		}
		change, _ := changeOf(msg.Subject, msg.Header, msg.Data, msg.Sequence) // a message that is not a record has a zero key
		list = append(list, change)
		revision = msg.Sequence
	}
	return list
}

// ReadChange decodes a message of Stream, for callers with a consumer of their
// own. For a message that is not a record it returns the revision and ErrBadKey.
func ReadChange(msg jetstream.Msg) (Change, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Change{}, fmt.Errorf("read a change: %w", err)
	}
	return changeOf(msg.Subject(), msg.Headers(), msg.Data(), meta.Sequence.Stream)
}

func changeOf(subject string, header nats.Header, data []byte, revision uint64) (Change, error) {
	key, err := ParseKey(strings.TrimPrefix(subject, subjects))
	if err != nil {
		return Change{Revision: revision}, fmt.Errorf("read revision %d: %w", revision, err)
	}
	change := Change{Key: key, Revision: revision, Removed: bucket.Removes(header)}
	if !change.Removed {
		change.Record = data
	}
	return change, nil
}
