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
)

const (
	// maxBatch is the maximum number of changes in one call of apply.
	maxBatch = 1024
	// Limits of the messages in flight: high enough for full throughput, low enough to bound memory
	// with records of a megabyte.
	fetchMessages = 4096
	fetchBytes    = 32 << 20
	// heartbeat is the interval of consumer heartbeats. Two missed ones recreate the
	// consumer, which needs a leader.
	heartbeat = time.Second
	// idleTimeout is the time without a change after which Follow reads the log from any replica,
	// and stallInterval the interval of these reads while the consumer has stalled. Its server may
	// be lost, and another consumer needs the election of a leader and attempts of the client
	// library that take up to 10 s each.
	idleTimeout   = 500 * time.Millisecond
	stallInterval = 100 * time.Millisecond
	// readBytes bounds one read from a replica, in bytes.
	readBytes = 8 << 20
)

// Change is one revision of the log. A Change with a zero Key is a message that is
// not a record, such as a fence; it only advances the revision.
type Change struct {
	Key      Key    // zero: not a record
	Record   []byte // nil if Removed; must not be modified
	Revision uint64
	Stored   time.Time
	Removed  bool
	Replaces bool // its writer replaced an existing record
	First    bool // first message of a consumer
	// Alias is true for an alias that was written or deleted. The change has a zero Key, since it is not a record.
	Alias bool
	origin

	pending uint64 // NumPending of the consumer at delivery
	behind  uint64 // number of revisions by which the watermark is lower than Revision
}

// Watermark returns the revision up to which a view includes every write, once it has
// applied c and the changes before it. The log has only the newest revision of each record. So a
// follower that lags may skip a revision before it receives the newer one. Until then the view has
// an older value of the record, and the watermark stays below the skipped revision.
func (c Change) Watermark() uint64 { return c.Revision - c.behind }

// IsRecord reports whether the change belongs to a record.
func (c Change) IsRecord() bool { return c.Key != Key{} }

// sendTo returns a handler that sends each message on changes. The change of a message that is not a
// record has a zero key.
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
	changes  <-chan Change
	closed   <-chan struct{}
	apply    func([]Change) error
	log      *Catalog
	received received
}

func (f *follower) run(ctx context.Context, target uint64, ready func()) error {
	idle := time.NewTimer(idleTimeout)
	defer idle.Stop()
	for {
		interval := idleTimeout
		if ready != nil && f.received.complete >= target {
			ready()
			ready = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.closed:
			return fmt.Errorf("follow the catalog: %w", nats.ErrConnectionClosed)
		case change := <-f.changes:
			batch := f.collect([]Change{change})
			if f.received.newest > 0 && slices.ContainsFunc(batch, func(c Change) bool { return c.First }) {
				f.log.applied.endSession()
			}
			if err := f.deliver(batch, f.received.fromConsumer); err != nil {
				return err
			}
		case <-idle.C:
			stalled, err := f.readFromReplicas(ctx)
			if err != nil {
				return err
			}
			if stalled {
				interval = stallInterval
			}
		}
		if err := f.fence(ctx); err != nil {
			return err
		}
		idle.Reset(interval)
	}
}

// readFromReplicas reads the changes that the consumer has not delivered, and reports whether the
// consumer has stalled: there are such changes, or some may be missing.
func (f *follower) readFromReplicas(ctx context.Context) (stalled bool, err error) {
	r := &f.received
	r.loseConsumer()
	batch, _ := f.log.readAfter(ctx, r.newest)
	if stalled = len(batch) > 0 || r.unfenced; r.newest > 0 && len(batch) > 0 {
		f.log.applied.endSession()
	}
	if err := f.deliver(batch, r.fromReplica); err != nil || !r.unfenced {
		return stalled, err
	}
	fence, ok := f.writeFence(ctx)
	if !ok {
		return stalled, nil
	}
	batch, complete := f.log.readAfter(ctx, r.newest)
	if err := f.deliver(batch, r.fromReplica); err != nil || !complete || r.newest < fence {
		return stalled, err
	}
	return stalled, f.markComplete() // the replica has applied the fence and has no further change
}

// collect adds the changes that are available without waiting.
func (f *follower) collect(batch []Change) []Change {
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

// deliver calls observe with each change, and apply with those after the newest revision.
func (f *follower) deliver(batch []Change, observe func(Change)) error {
	var changes []Change
	for _, c := range batch {
		observe(c)
		if f.received.add(c.Revision) {
			c.behind = c.Revision - f.received.complete
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	if err := f.apply(changes); err != nil {
		return fmt.Errorf("apply revisions %d to %d: %w", changes[0].Revision, f.received.newest, err)
	}
	f.log.applied.record(changes[len(changes)-1])
	return nil
}

// fence writes a fence if one is due. If that fails, a later call retries it.
func (f *follower) fence(ctx context.Context) error {
	if !f.received.needsFence() {
		return nil
	}
	fence, ok := f.writeFence(ctx)
	if !ok || !f.received.setFence(fence) {
		return nil
	}
	return f.markComplete()
}

// writeFence writes a fence, or returns false if that fails.
func (f *follower) writeFence(ctx context.Context) (fence uint64, ok bool) {
	f.received.fencedAt = time.Now()
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	fence, err := f.log.Fence(ctx)
	return fence, err == nil
}

// markComplete records that no change up to the newest one is missing, and passes the new watermark
// to apply.
func (f *follower) markComplete() error {
	f.received.setComplete()
	return f.apply([]Change{{Revision: f.received.newest}})
}

// ReadChange decodes a message of Stream, for callers that have their own consumer. For a message
// that is not a record it returns the revision and ErrBadKey.
func ReadChange(msg jetstream.Msg) (Change, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Change{}, fmt.Errorf("read a change: %w", err)
	}
	change, err := changeOf(&jetstream.RawStreamMsg{
		Subject: msg.Subject(), Sequence: meta.Sequence.Stream, Header: msg.Headers(), Data: msg.Data(), Time: meta.Timestamp,
	})
	change.First, change.pending = meta.Sequence.Consumer == 1, meta.NumPending
	return change, err
}

func changeOf(msg *jetstream.RawStreamMsg) (Change, error) {
	key, err := ParseKey(strings.TrimPrefix(msg.Subject, subjects))
	if err != nil {
		alias := strings.HasPrefix(msg.Subject, subjects+aliases+".")
		return Change{Revision: msg.Sequence, Stored: msg.Time, Alias: alias},
			fmt.Errorf("read revision %d: %w", msg.Sequence, err)
	}
	r := revisionOf(key, msg)
	return Change{Key: key, Record: r.Record, Revision: r.Revision, Stored: r.Stored, Removed: r.Removed,
		Replaces: msg.Header.Get(headerReplaces) != "", origin: r.origin}, nil
}
