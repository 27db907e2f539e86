package register

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
	"cairn/services/internal/watermark"
)

// Counter counts the records of each tenant by following the catalog. The bytes include delete markers
// until they expire. It includes the pending writes of this worker, and writes of other workers once
// they are stored. So several workers together can exceed a limit by their concurrent registrations. It
// is safe for concurrent use.
type Counter struct {
	*quota.Counter
	catalog *catalog.Catalog
	stop    func() // stops following the catalog

	mu       sync.Mutex
	seed     maphash.Seed
	messages map[string]map[uint64]message // the newest one of each key, by tenant and the hash of the key
	cleaned  time.Time                     // when expired markers were removed from messages
	applied  watermark.Watermark           // advanced while holding mu
	ahead    map[catalog.Key]uint64        // revisions of own writes above the watermark, already counted
}

// message is a stored message; the zero value means none.
type message struct {
	bytes   uint32
	expires uint32 // Unix second in which a delete marker expires; 0: a record
}

// amount returns what the message counts, and when it expires.
func (m message) amount() (quota.Amount, time.Time) {
	switch {
	case m.expires > 0:
		return quota.Amount{Bytes: int64(m.bytes)}, time.Unix(int64(m.expires), 0)
	case m.bytes > 0:
		return quota.Amount{Count: 1, Bytes: int64(m.bytes)}, time.Time{}
	default:
		return quota.Amount{}, time.Time{}
	}
}

// expired reports whether the message is a marker that has expired.
func (m message) expired() bool { return m.expires > 0 && int64(m.expires) < time.Now().Unix() }

// cleanInterval is the interval at which expired markers are removed from memory, if there are deletions.
const cleanInterval = time.Hour

// OpenCounter counts the records of the catalog. The caller closes it.
func OpenCounter(ctx context.Context, log *catalog.Catalog, limit quota.Limit) (*Counter, error) {
	limit.Storage = log.MaxBytes
	c := newCounter(limit)
	c.catalog = log
	newest, stop, err := log.Sizes(ctx, c.apply)
	if err != nil {
		return nil, err
	}
	c.stop = stop
	if err := c.applied.Wait(ctx, newest); err != nil {
		c.stop()
		return nil, fmt.Errorf("count the records: %w", err)
	}
	return c, nil
}

func newCounter(limit quota.Limit) *Counter {
	return &Counter{
		Counter: quota.NewCounter(limit), seed: maphash.MakeSeed(),
		messages: map[string]map[uint64]message{}, ahead: map[catalog.Key]uint64{},
	}
}

// Close stops following the catalog.
func (c *Counter) Close() { c.stop() }

func (c *Counter) apply(s catalog.Size) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Key != (catalog.Key{}) && s.Revision >= c.ahead[s.Key] {
		delete(c.ahead, s.Key)
		m := message{bytes: uint32(s.Bytes)}
		if !s.Expires.IsZero() {
			m.expires = uint32(s.Expires.Unix())
			c.clean()
		}
		c.replace(s.Key.Tenant, c.hash(s.Key), m)
	}
	c.applied.Advance(s.Revision)
}

// has reports whether the key has a record, as far as this worker knows.
func (c *Counter) has(key catalog.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.messages[key.Tenant][c.hash(key)]
	return m.bytes > 0 && m.expires == 0
}

func (c *Counter) hash(key catalog.Key) uint64 { return maphash.String(c.seed, key.String()) }

// replace replaces the newest message of a key. The caller holds mc.
func (c *Counter) replace(tenant string, hash uint64, m message) {
	messages := c.messages[tenant]
	if messages == nil {
		messages = map[uint64]message{}
		c.messages[tenant] = messages
	}
	old, expires := messages[hash].amount()
	c.Add(tenant, quota.Amount{}.Minus(old), expires)
	added, expires := m.amount()
	c.Add(tenant, added, expires)
	if messages[hash] = m; m == (message{}) {
		delete(messages, hash)
	}
}

// clean removes expired markers, which are no longer counted. The caller holds mc.
func (c *Counter) clean() {
	if time.Since(c.cleaned) < cleanInterval {
		return
	}
	c.cleaned = time.Now()
	for tenant, messages := range c.messages {
		maps.DeleteFunc(messages, func(_ uint64, m message) bool { return m.expired() })
		if len(messages) == 0 {
			delete(c.messages, tenant)
		}
	}
}

// reserve counts a record before it is written, or returns the error of the
// exceeded limit. The caller calls done with the revision of the record, or 0 if
// it was not written.
func (c *Counter) reserve(ctx context.Context, key catalog.Key, record []byte) (done func(revision uint64), err error) {
	bytes := catalog.SizeOf(key, record)
	done, err = c.tryReserve(key, bytes)
	if err == nil {
		return done, nil
	}
	// A deletion acknowledged by another worker may not be applied yet, and the limit of the bucket that
	// this worker knows may have been raised.
	newest, failed := c.catalog.Revision(ctx)
	if failed != nil {
		return nil, failed
	}
	if failed := c.applied.Wait(ctx, newest); failed != nil {
		return nil, failed
	}
	return c.tryReserve(key, bytes)
}

func (c *Counter) tryReserve(key catalog.Key, bytes int64) (done func(revision uint64), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	record := message{bytes: uint32(bytes)}
	amount, _ := record.amount()
	if replaced := c.messages[key.Tenant][c.hash(key)]; !replaced.expired() {
		old, _ := replaced.amount()
		amount = amount.Minus(old)
	}
	if err := c.Reserve(key.Tenant, amount, time.Time{}); err != nil {
		return nil, err
	}
	return func(revision uint64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Add(key.Tenant, quota.Amount{}.Minus(amount), time.Time{})
		if revision > max(c.applied.Revision(), c.ahead[key]) {
			c.ahead[key] = revision
			c.replace(key.Tenant, c.hash(key), record)
		}
	}, nil
}
