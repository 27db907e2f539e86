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
	"golang.org/x/sync/errgroup"

	"cairn/bus/bucket"
	"cairn/schemas"
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
	// which any replica answers, and stallInterval the interval at which it does while the
	// consumer has stalled: its server may be lost, and another consumer needs the election
	// of a leader and attempts of the client library that take up to 10 s each.
	idleTimeout   = 500 * time.Millisecond
	stallInterval = 100 * time.Millisecond
	// checkTimeout bounds the comparison of the log with the applied positions.
	checkTimeout = 2 * time.Second
	// readBytes bounds one direct read, see idleTimeout.
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
	// Generated are example queries that a language model wrote for the record, see
	// [Catalog.AddGenerated].
	Generated []string
	First     bool // of a consumer

	pending uint64 // number of messages that its consumer had after it
	behind  uint64 // number of revisions by which the watermark is lower than Revision
}

// Watermark returns the revision up to which a view includes every write, once it has
// applied c and the changes before it. The log has only the newest revision of each record.
// So a follower that lags skips a revision whose successor it has not received: until then
// it has an older value of the record, and the watermark does not pass the skipped revision.
func (c Change) Watermark() uint64 { return c.Revision - c.behind }

// IsRecord reports whether the change belongs to a record.
func (c Change) IsRecord() bool { return c.Key != Key{} }

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
	changes  <-chan Change
	closed   <-chan struct{}
	apply    func([]Change) error
	log      *Catalog
	checks   errgroup.Group // at most one, see checkResumed
	epoch    int            // of log.applied
	newest   uint64         // revision passed to apply
	complete uint64         // watermark of the newest revision, see Change.Watermark
	skipped
}

func (f *follower) run(ctx context.Context, target uint64, ready func()) error {
	idle := time.NewTimer(idleTimeout)
	defer idle.Stop()
	ctx, stop := context.WithCancel(ctx)
	f.checks.SetLimit(1)
	defer func() {
		stop()
		_ = f.checks.Wait() // see checkResumed
	}()
	for {
		interval := idleTimeout
		if ready != nil && f.complete >= target {
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
			if f.newest > 0 && slices.ContainsFunc(batch, func(c Change) bool { return c.First }) {
				f.checkResumed(ctx)
			}
			if err := f.deliver(batch, f.fromConsumer); err != nil {
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
		if err := f.resolve(ctx); err != nil {
			return err
		}
		idle.Reset(interval)
	}
}

// checkResumed ends the session when f continues with another consumer, and compares the log with
// the applied positions: later writes may replace the revisions that show a rollback. Watch
// reports it.
func (f *follower) checkResumed(ctx context.Context) {
	f.log.applied.endSession()
	f.checks.TryGo(func() error {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		now, err := f.log.js.Stream(ctx, Stream)
		if err != nil {
			return err
		}
		return f.log.compare(ctx, now)
	})
}

// readFromReplicas reads the changes that the consumer has not delivered, and reports whether
// there are any.
func (f *follower) readFromReplicas(ctx context.Context) (stalled bool, err error) {
	if f.awaited > 0 {
		f.unfence()
	}
	batch, _ := f.log.readAfter(ctx, f.newest)
	if stalled = len(batch) > 0 || f.unfenced; f.newest > 0 && len(batch) > 0 {
		f.checkResumed(ctx)
	}
	if err := f.deliver(batch, f.fromReplica); err != nil || !f.unfenced {
		return stalled, err
	}
	fence, ok := f.writeFence(ctx)
	if !ok {
		return stalled, nil
	}
	batch, complete := f.log.readAfter(ctx, f.newest)
	if err := f.deliver(batch, f.fromReplica); err != nil || !complete || f.newest < fence {
		return stalled, err
	}
	return stalled, f.markCaughtUp() // the replica has the fence, and no other change after the newest one
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

// deliver calls apply with the changes after the newest revision. It calls observe
// with each change, to find those that were skipped.
func (f *follower) deliver(batch []Change, observe func(Change)) error {
	var changes []Change
	for _, c := range batch {
		observe(c)
		if f.passed(c.Revision) {
			f.complete = max(f.complete, c.Revision)
		}
		if c.Revision > f.newest {
			f.newest = c.Revision
			c.behind = c.Revision - f.complete
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	if err := f.apply(changes); err != nil {
		return fmt.Errorf("apply revisions %d to %d: %w", changes[0].Revision, f.newest, err)
	}
	f.log.applied.recordApplied(changes[len(changes)-1], f.epoch)
	return nil
}

// skipped determines when a follower has received the successors of the revisions that it
// has skipped.
type skipped struct {
	consumed uint64    // last revision from the consumer
	awaited  uint64    // number of next messages of the consumer that include the successors
	unfenced bool      // successors may be in any replica: a fence shows that all were received
	fence    uint64    // written after the last revision of which unfenced is true; 0: not yet
	fenced   time.Time // time of the last attempt to write one
}

// fromConsumer records a change from the consumer. Its replica has the later revisions of
// skipped keys among the pending messages; that of another consumer may lag.
func (f *follower) fromConsumer(c Change) {
	if c.First && f.awaited > 0 {
		f.unfence()
	}
	if c.Revision > max(f.consumed, f.complete)+1 {
		f.awaited = c.pending
	} else if f.awaited > 0 {
		f.awaited--
	}
	f.consumed = c.Revision
}

// fromReplica records a change that was read from any replica.
func (f *follower) fromReplica(c Change) {
	if c.Revision > f.newest+1 {
		f.unfence()
	}
}

func (s *skipped) unfence() { s.unfenced, s.fence, s.awaited = true, 0, 0 }

// passed reports whether all changes up to a received revision were received.
func (s *skipped) passed(revision uint64) bool {
	if s.fence > 0 && revision >= s.fence {
		s.unfenced, s.fence = false, 0
	}
	return s.awaited == 0 && !s.unfenced
}

// resolve writes a fence if one is needed, at most once in idleTimeout.
func (f *follower) resolve(ctx context.Context) error {
	if !f.unfenced || f.fence > 0 || time.Since(f.fenced) < idleTimeout {
		return nil
	}
	fence, ok := f.writeFence(ctx)
	if !ok {
		return nil // a later call repeats it
	}
	if f.fence = fence; !f.passed(f.newest) { // the fence is still to be received
		return nil
	}
	return f.markCaughtUp()
}

// writeFence writes a fence; false if that has failed.
func (f *follower) writeFence(ctx context.Context) (fence uint64, ok bool) {
	f.fenced = time.Now()
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	fence, err := f.log.Fence(ctx)
	return fence, err == nil
}

// markCaughtUp records that all changes up to the newest one were received.
func (f *follower) markCaughtUp() error {
	f.skipped = skipped{consumed: f.consumed, fenced: f.fenced}
	f.complete = f.newest
	return f.apply([]Change{{Revision: f.newest}})
}

// ReadChange decodes a message of Stream, for callers with a consumer of their
// own. For a message that is not a record it returns the revision and ErrBadKey.
func ReadChange(msg jetstream.Msg) (Change, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Change{}, fmt.Errorf("read a change: %w", err)
	}
	change, err := changeOf(msg.Subject(), msg.Headers(), msg.Data(), meta.Sequence.Stream, meta.Timestamp)
	change.First, change.pending = meta.Sequence.Consumer == 1, meta.NumPending
	return change, err
}

func changeOf(subject string, header nats.Header, data []byte, revision uint64, stored time.Time) (Change, error) {
	key, err := ParseKey(strings.TrimPrefix(subject, subjects))
	if err != nil {
		return Change{Revision: revision, Stored: stored}, fmt.Errorf("read revision %d: %w", revision, err)
	}
	change := Change{Key: key, Revision: revision, Stored: stored, Removed: bucket.Removes(header), Replaces: header.Get(headerReplaces) != ""}
	if !change.Removed {
		change.Record, change.Generated = schemas.NormalizeRecord(key.Kind, data), generated(header)
	}
	return change, nil
}
