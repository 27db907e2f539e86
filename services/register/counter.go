package register

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
	"cairn/services/internal/watermark"
)

// Counter counts the records of each tenant by following the catalog. The bytes include delete markers. It
// includes the pending writes of this worker, and writes of other workers once
// they are stored. So several workers together can exceed a limit by their concurrent registrations. It
// is safe for concurrent use.
type Counter struct {
	*quota.Counter
	catalog *catalog.Catalog
	stop    func() // stops following the catalog

	mu       sync.Mutex
	seed     maphash.Seed
	messages map[string]map[uint64]message // the newest one of each key, by tenant and the hash of the key
	applied  watermark.Watermark           // advanced while holding mu
	ahead    map[catalog.Key]uint64        // revisions of own writes above the watermark, already counted
}

// message is a stored message; the zero value means none.
type message struct {
	bytes   uint32
	removed bool // a delete marker
}

// exists reports whether the message is a record.
func (m message) exists() bool { return m.bytes > 0 && !m.removed }

func (m message) amount() quota.Amount {
	a := quota.Amount{Bytes: int64(m.bytes)}
	if m.exists() {
		a.Count = 1
	}
	return a
}

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
		c.replace(s.Key, message{uint32(s.Bytes), s.Removed})
	}
	c.applied.Advance(s.Revision)
}

// has reports whether the key has a record, as far as this worker knows.
func (c *Counter) has(key catalog.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages[key.Tenant][c.hash(key)].exists()
}

func (c *Counter) hash(key catalog.Key) uint64 { return maphash.String(c.seed, key.String()) }

// replace replaces the newest message of a key. The caller holds mu.
func (c *Counter) replace(key catalog.Key, m message) {
	messages, hash := c.messages[key.Tenant], c.hash(key)
	if messages == nil {
		messages = map[uint64]message{}
		c.messages[key.Tenant] = messages
	}
	c.Add(key.Tenant, m.amount().Minus(messages[hash].amount()), time.Time{})
	messages[hash] = m
}

// reserve counts a record before it is written, or returns the error of the
// exceeded limit. The caller calls done with the revision of the record, or 0 if
// it was not written.
func (c *Counter) reserve(ctx context.Context, key catalog.Key, record []byte) (done func(revision uint64), err error) {
	bytes := catalog.SizeOf(key, record) + catalog.OriginSize(ctx)
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
	amount := record.amount().Minus(c.messages[key.Tenant][c.hash(key)].amount())
	if err := c.Reserve(key.Tenant, amount, time.Time{}); err != nil {
		return nil, err
	}
	return func(revision uint64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Add(key.Tenant, quota.Amount{}.Minus(amount), time.Time{})
		if revision > max(c.applied.Revision(), c.ahead[key]) {
			c.ahead[key] = revision
			c.replace(key, record)
		}
	}, nil
}
