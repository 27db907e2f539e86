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
	// A consumer whose server is gone is missed after two heartbeats, and made anew
	// by its cluster's leader, which may have to be elected first.
	heartbeat = time.Second
	// idleTimeout is after how long without a change the log itself is asked for one: any
	// copy of it answers, at once.
	idleTimeout = 500 * time.Millisecond
)

// Change is one revision of the log. One without a Key is of a message that is no
// record, such as a fence: it only advances the revision.
type Change struct {
	Key      Key    // zero: no record
	Record   []byte // nil when Removed; not to be modified
	Revision uint64
	Removed  bool
}

// IsRecord reports whether the change is of a record.
func (c Change) IsRecord() bool { return c.Key != Key{} }

// Follow hands the log to apply, from its beginning and then as it grows, in
// batches of what is available: one call at a time, revisions ascending, none
// twice. Of a record only the newest revision is replayed. ready, if not nil,
// is called once, after apply has watermark all that was in the log when Follow
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
	consuming, err := consumer.Consume(sendTo(ctx, changes), jetstream.PullHeartbeat(heartbeat),
		jetstream.PullMaxMessagesWithBytesLimit(fetchMessages, fetchBytes))
	if err != nil {
		return fmt.Errorf("follow the catalog: %w", err)
	}
	f := follower{changes: changes, closed: consuming.Closed(), apply: apply, log: c}
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

// sendTo puts what messages tell of into changes. What is none of the catalog's
// comes with its revision and no key, so that it counts as seen.
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

// follower hands on what a consumer puts into changes.
type follower struct {
	changes   <-chan Change
	closed    <-chan struct{}
	apply     func([]Change) error
	log       *Catalog
	watermark uint64 // the newest revision handed on
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

// deliver gives apply the changes of the batch that it has not watermark.
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

// readAfter are changes after the revision, as any copy of the log has them; none
// also when none can be asked.
func (c *Catalog) readAfter(ctx context.Context, revision uint64) (list []Change) {
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	for len(list) < maxBatch {
		msg, err := c.stream.GetMsg(ctx, revision+1, jetstream.WithGetMsgSubject(subjects+">"))
		if err != nil {
			break
		}
		change, _ := changeOf(msg.Subject, msg.Header, msg.Data, msg.Sequence) // what is none of the catalog's has no key
		list = append(list, change)
		revision = msg.Sequence
	}
	return list
}

// ReadChange is what a message of Stream tells of, for those who consume it
// themselves. It answers ErrBadKey, and only the revision, for one that is none
// of the catalog's.
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
