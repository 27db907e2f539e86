package tags

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
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
	// scanTimeout bounds the wait for the next message of a scan.
	scanTimeout = time.Second
)

// usage counts the tags of each tenant, so that a write needs no request for it. A worker counts the
// bucket at its start, and then its own writes and deletes. It announces these to the other workers
// every announceInterval, or immediately for a tenant that uses more than half of its limit. So
// several workers together exceed a limit at most by their concurrent writes or, if the usage of a
// tenant grows from half of its limit to the limit within announceInterval, by the writes of that
// interval. A lost announcement is corrected when its tags expire, and so is a tag that two workers
// have counted because its request was retried, or whose delete marker expired during the count of a
// starting worker.
type usage struct {
	limit   quota.Limit
	conn    *bus.Conn
	worker  string
	stop    func() // ends the subscription
	end     chan struct{}
	running sync.WaitGroup

	mu          sync.Mutex
	scanned     uint64 // revisions up to this one were counted at the start
	used        map[string]quota.Use
	expirations map[int64]map[string]quota.Use // by the Unix second of expiration
	swept       int64                          // expirations up to this Unix second were removed
	unannounced []schemas.TagUsageChange
}

// openUsage counts the bucket and follows the other workers until close.
func openUsage(ctx context.Context, conn *bus.Conn, s jetstream.Stream, limit quota.Limit) (*usage, error) {
	limit.Storage = func() int64 { return s.CachedInfo().Config.MaxBytes }
	u := &usage{
		limit: limit, conn: conn, worker: nuid.Next(), end: make(chan struct{}),
		used: map[string]quota.Use{}, expirations: map[int64]map[string]quota.Use{}, swept: time.Now().Unix(),
	}
	u.mu.Lock() // announcements wait for the scan
	var err error
	if u.stop, err = bus.TagUsage.Subscribe(conn, u.receive); err != nil {
		return nil, err
	}
	err = u.scan(ctx, s)
	if u.mu.Unlock(); err != nil {
		u.stop()
		return nil, err
	}
	u.running.Go(u.run)
	return u, nil
}

func (u *usage) close() {
	u.stop()
	close(u.end)
	u.running.Wait()
}

// run sends the announcements that are not urgent.
func (u *usage) run() {
	tick := time.NewTicker(announceInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.announce()
		case <-u.end:
			u.announce()
			return
		}
	}
}

// scan counts the tags in the bucket, by their headers. The caller holds mu.
func (u *usage) scan(ctx context.Context, s jetstream.Stream) error {
	info, err := s.Info(ctx)
	if err != nil || info.State.Msgs == 0 {
		return err
	}
	consumer, err := bucket.Ordered(ctx, s, jetstream.OrderedConsumerConfig{HeadersOnly: true})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	found := map[string]storedTag{} // by subject
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(scanTimeout))
		if errors.Is(err, nats.ErrTimeout) {
			if info, err := consumer.Info(ctx); err == nil && info.NumPending == 0 {
				return nil // the last tags have expired meanwhile
			}
		}
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		u.scanned = meta.Sequence.Stream
		before := found[msg.Subject()] // replaced or deleted since
		u.add(before.tenant, before.ends, quota.Use{}.Minus(before.use))
		tag := parseStored(msg.Subject(), msg.Headers(), meta.Timestamp)
		u.add(tag.tenant, tag.ends, tag.use)
		if found[msg.Subject()] = tag; meta.NumPending == 0 {
			return nil
		}
	}
}

// storedTag is the usage of a stored tag; the zero value is that of no tag.
type storedTag struct {
	tenant string
	use    quota.Use
	ends   int64 // second of its expiry
}

// parseStored returns the usage of a stored message.
func parseStored(subject string, header nats.Header, stored time.Time) storedTag {
	k, ok := parseKey(subject)
	ttl, err := time.ParseDuration(header.Get(jetstream.MsgTTLHeader))
	if !ok || err != nil || bucket.Removes(header) {
		return storedTag{}
	}
	size, err := strconv.ParseInt(header.Get(nats.MsgSize), 10, 64)
	if err != nil {
		return storedTag{}
	}
	return storedTag{k.tenant, quota.Use{Count: 1, Bytes: bucket.MessageSize(subject, size)}, expirySecond(stored.Add(ttl))}
}

// expirySecond returns the second in which a tag with the deadline t has expired.
func expirySecond(t time.Time) int64 { return t.Unix() + 1 }

// reserve counts a tag before it is written, or returns the error of the exceeded
// limit.
func (u *usage) reserve(tenant string, bytes int64, until time.Time) error {
	use := quota.Use{Count: 1, Bytes: bytes}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep(time.Now().Unix())
	err := u.limit.Check(tenant, u.used[tenant], use)
	if err == nil {
		u.add(tenant, expirySecond(until), use)
	}
	return err
}

// cancel subtracts a reserved tag that was not written.
func (u *usage) cancel(tenant string, bytes int64, until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(tenant, expirySecond(until), quota.Use{Count: -1, Bytes: -bytes})
}

// commit announces a reserved tag that was written with the revision, or 0 if it is unknown.
func (u *usage) commit(tenant string, bytes int64, until time.Time, revision uint64) {
	u.queue(tenant, expirySecond(until), quota.Use{Count: 1, Bytes: bytes}, revision)
}

// release subtracts a tag that was deleted with the revision, or 0 if it is unknown.
func (u *usage) release(tenant string, bytes int64, until time.Time, revision uint64) {
	u.cancel(tenant, bytes, until)
	u.queue(tenant, expirySecond(until), quota.Use{Count: -1, Bytes: -bytes}, revision)
}

// quota returns the quota of a tenant, as far as this worker knows.
func (u *usage) quota(tenant string) schemas.Quota {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep(time.Now().Unix())
	return u.limit.Of(u.used[tenant])
}

// queue adds a change to the next announcement, and sends it if that is urgent.
func (u *usage) queue(tenant string, ends int64, use quota.Use, revision uint64) {
	u.mu.Lock()
	u.unannounced = append(u.unannounced,
		schemas.TagUsageChange{Tenant: tenant, Ends: ends, Revision: revision, Use: schemas.TagUse(use)})
	urgent := u.limit.Near(u.used[tenant])
	u.mu.Unlock()
	if urgent {
		u.announce()
	}
}

// add applies a change. The caller holds mu.
func (u *usage) add(tenant string, ends int64, use quota.Use) {
	if ends <= u.swept {
		return
	}
	tenants := u.expirations[ends]
	if tenants == nil {
		tenants = map[string]quota.Use{}
		u.expirations[ends] = tenants
	}
	tenants[tenant] = tenants[tenant].Plus(use)
	u.set(tenant, u.used[tenant].Plus(use))
}

func (u *usage) set(tenant string, held quota.Use) {
	if held == (quota.Use{}) {
		delete(u.used, tenant)
		return
	}
	u.used[tenant] = held
}

// sweep subtracts expired tags. The caller holds mu.
func (u *usage) sweep(now int64) {
	for ; u.swept < now; u.swept++ {
		for tenant, use := range u.expirations[u.swept+1] {
			u.set(tenant, u.used[tenant].Minus(use))
		}
		delete(u.expirations, u.swept+1)
	}
}

// announce publishes the changes of this worker.
func (u *usage) announce() {
	u.mu.Lock()
	a := schemas.TagUsage{Worker: u.worker, Changes: u.unannounced}
	u.unannounced = nil
	u.sweep(time.Now().Unix())
	u.mu.Unlock()
	if len(a.Changes) > 0 {
		_ = bus.TagUsage.Publish(u.conn, a) // if it fails, expiry corrects the others
	}
}

// receive applies the changes of another worker.
func (u *usage) receive(a schemas.TagUsage) {
	if a.Worker == u.worker {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep(time.Now().Unix())
	for _, c := range a.Changes {
		if c.Revision == 0 || c.Revision > u.scanned {
			u.add(c.Tenant, c.Ends, quota.Use(c.Use))
		}
	}
}
