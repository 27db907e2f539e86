package tags

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/quota"
)

const (
	// announceInterval is the interval of announcements that are not urgent.
	announceInterval = 100 * time.Millisecond
	// settleTime is the time after a scan in which tags that were deleted before it may be announced.
	settleTime = 10 * time.Second
)

// counter counts the tags of each tenant, so that a write needs no request for it. A worker counts the
// bucket at its start, and then its own writes and deletes. It announces these to the other workers
// every announceInterval, or immediately for a tenant that stores more than half of its limit. So
// several workers together exceed a limit at most by their concurrent writes or, if a tenant writes half of
// its limit within announceInterval, by the writes of that interval. A lost announcement is corrected when
// its tags expire, and so is a tag that two workers have counted because its request was retried.
type counter struct {
	*quota.Counter
	conn    *bus.Conn
	worker  string
	stop    func() // ends the subscription
	end     chan struct{}
	running sync.WaitGroup

	receiving sync.Mutex // held during the scan
	scanned   uint64     // revision up to which the scan counted tags
	revisions []uint64   // of the tags that the scan counted, ascending; nil after settleTime

	announcing  sync.Mutex
	unannounced []schemas.TagChange
}

// openCounter counts the bucket and follows the other workers until close.
func openCounter(ctx context.Context, conn *bus.Conn, s jetstream.Stream, limit quota.Limit) (*counter, error) {
	limit.Storage = func() int64 { return s.CachedInfo().Config.MaxBytes }
	c := &counter{Counter: quota.NewCounter(limit), conn: conn, worker: nuid.Next(), end: make(chan struct{})}
	c.receiving.Lock()
	var err error
	if c.stop, err = bus.TagChanges.Subscribe(conn, c.receive); err != nil {
		return nil, err
	}
	err = c.scan(ctx, s)
	if c.receiving.Unlock(); err != nil {
		c.stop()
		return nil, err
	}
	c.running.Go(c.run)
	return c, nil
}

func (c *counter) close() {
	c.stop()
	close(c.end)
	c.running.Wait()
}

// run sends the announcements that are not urgent.
func (c *counter) run() {
	settled := time.After(settleTime)
	tick := time.NewTicker(announceInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.announce()
		case <-settled:
			c.receiving.Lock()
			c.revisions = nil
			c.receiving.Unlock()
		case <-c.end:
			c.announce()
			return
		}
	}
}

// scan counts the tags that the bucket has at the start of the scan, by their headers. Tags that are written
// later are announced, or are written by this worker. The caller holds receiving.
func (c *counter) scan(ctx context.Context, s jetstream.Stream) error {
	info, err := s.Info(ctx)
	if err != nil || info.State.Msgs == 0 {
		return err
	}
	c.scanned, c.revisions = info.State.LastSeq, make([]uint64, 0, info.State.Msgs)
	consumer, err := bucket.Ordered(ctx, c.conn.JetStream(), s, jetstream.OrderedConsumerConfig{HeadersOnly: true})
	if err != nil {
		return err
	}
	defer bucket.Release(s, consumer)
	return bucket.ReceiveAll(ctx, consumer, 0, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		if meta.Sequence.Stream <= c.scanned {
			c.count(msg, meta)
		}
		return meta.Sequence.Stream < c.scanned
	})
}

// count counts a message of the scan if it is a tag.
func (c *counter) count(msg jetstream.Msg, meta *jetstream.MsgMetadata) {
	h, ok := parseHeader(msg)
	if !ok {
		return
	}
	c.Add(h.tenant, quota.Amount{Count: 1, Bytes: bucket.MessageSize(msg.Subject(), h.size)}, meta.Timestamp.Add(h.ttl))
	c.revisions = append(c.revisions, meta.Sequence.Stream)
}

// reserve counts a tag before it is written, or returns the error of the exceeded limit.
func (c *counter) reserve(tenant string, bytes int64, expires time.Time) error {
	return c.Reserve(tenant, quota.Amount{Count: 1, Bytes: bytes}, expires)
}

// cancel subtracts a reserved tag that was not written.
func (c *counter) cancel(tenant string, bytes int64, expires time.Time) {
	c.Add(tenant, quota.Amount{Count: -1, Bytes: -bytes}, expires)
}

// commit announces a reserved tag that was written with the revision, or 0 if it is unknown.
func (c *counter) commit(tenant string, bytes int64, expires time.Time, revision uint64) {
	c.queue(schemas.TagChange{
		Tenant: tenant, Ends: expires.Unix(), Revision: revision, Use: schemas.TagAmount{Count: 1, Bytes: bytes},
	})
}

// release subtracts and announces a deleted tag, which was written with the revision.
func (c *counter) release(tenant string, bytes int64, expires time.Time, revision uint64) {
	c.cancel(tenant, bytes, expires)
	c.queue(schemas.TagChange{
		Tenant: tenant, Ends: expires.Unix(), Revision: revision, Use: schemas.TagAmount{Count: -1, Bytes: -bytes},
	})
}

// queue adds a change to the next announcement, and sends it if that is urgent.
func (c *counter) queue(change schemas.TagChange) {
	c.announcing.Lock()
	c.unannounced = append(c.unannounced, change)
	c.announcing.Unlock()
	if c.NearLimit(change.Tenant) {
		c.announce()
	}
}

// announce publishes the changes of this worker.
func (c *counter) announce() {
	c.announcing.Lock()
	changes := c.unannounced
	c.unannounced = nil
	c.announcing.Unlock()
	if len(changes) > 0 {
		// If it fails, expiry corrects the others.
		_ = bus.TagChanges.Publish(c.conn, schemas.TagChanges{Worker: c.worker, Changes: changes})
	}
}

// receive applies the changes of another worker.
func (c *counter) receive(a schemas.TagChanges) {
	if a.Worker == c.worker {
		return
	}
	c.receiving.Lock()
	defer c.receiving.Unlock()
	for _, change := range a.Changes {
		if !c.included(change) {
			c.Add(change.Tenant, quota.Amount(change.Use), time.Unix(change.Ends, 0))
		}
	}
}

// included reports whether the result of the scan includes the change. The caller holds receiving.
func (c *counter) included(change schemas.TagChange) bool {
	if change.Revision == 0 || change.Revision > c.scanned {
		return false
	}
	written := change.Use.Count > 0
	_, counted := slices.BinarySearch(c.revisions, change.Revision)
	return written || c.revisions != nil && !counted
}
