package register

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
	"cairn/services/internal/watermark"
)

// Usage counts the records of each tenant by following the catalog. The bytes include delete markers
// until they expire. It includes the pending writes of this worker, and writes of other workers once
// they are stored. So several workers together can exceed a limit by their concurrent registrations. It
// is safe for concurrent use.
type Usage struct {
	limit   quota.Limit
	catalog *catalog.Catalog

	following sync.Mutex // guards stop
	stop      func()     // nil: closed

	mu      sync.Mutex
	seed    maphash.Seed
	tenants map[string]*tenantUsage
	markers []marker               // by expiry
	applied watermark.Watermark    // advanced while holding mu
	ahead   map[catalog.Key]uint64 // revisions of own writes above the watermark, already counted
	compact int                    // length of markers at which those that were replaced are removed
}

// tenantUsage is the usage of a tenant.
type tenantUsage struct {
	tenant   string
	messages map[uint64]message // the newest one of each key, by the hash of the key
	stored   quota.Use          // their sum; only records have a count
	pending  quota.Use          // pending writes
}

// message is a stored message; the zero value means none.
type message struct {
	bytes   uint32
	expires uint32 // Unix second in which a delete marker has expired; 0: a record
}

func (m message) use() quota.Use {
	use := quota.Use{Bytes: int64(m.bytes)}
	if m.bytes > 0 && m.expires == 0 {
		use.Count = 1
	}
	return use
}

// marker is a delete marker, which may have been replaced.
type marker struct {
	of      *tenantUsage
	hash    uint64
	expires uint32
}

func (m marker) replaced() bool { return m.of.messages[m.hash].expires != m.expires }

// minCompact is the minimum of Usage.compact.
const minCompact = 1024

// OpenUsage counts the records of the catalog. The caller closes it.
func OpenUsage(ctx context.Context, c *catalog.Catalog, limit quota.Limit) (*Usage, error) {
	limit.Storage = c.MaxBytes
	u := newUsage(limit)
	u.catalog = c
	newest, stop, err := c.Sizes(ctx, u.apply)
	if err != nil {
		return nil, err
	}
	u.stop = stop
	if err := u.applied.Wait(ctx, newest); err != nil {
		u.stop()
		return nil, fmt.Errorf("count the records: %w", err)
	}
	return u, nil
}

func newUsage(limit quota.Limit) *Usage {
	return &Usage{limit: limit, seed: maphash.MakeSeed(), tenants: map[string]*tenantUsage{}, ahead: map[catalog.Key]uint64{}}
}

// Close stops following the catalog.
func (u *Usage) Close() {
	u.following.Lock()
	defer u.following.Unlock()
	u.stop()
	u.stop = nil
}

// Rebuild recounts the records, after a rollback of the catalog.
func (u *Usage) Rebuild(ctx context.Context) error {
	u.following.Lock()
	defer u.following.Unlock()
	if u.stop == nil {
		return nil
	}
	u.stop()
	u.mu.Lock()
	for _, h := range u.tenants {
		clear(h.messages)
		h.stored = quota.Use{}
		u.remove(h)
	}
	u.markers = nil
	clear(u.ahead)
	u.applied.Advance(0)
	u.mu.Unlock()
	_, stop, err := u.catalog.Sizes(ctx, u.apply)
	if err != nil {
		u.stop = func() {}
		return err
	}
	u.stop = stop
	return nil
}

func (u *Usage) apply(s catalog.Size) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s.Key != (catalog.Key{}) && s.Revision >= u.ahead[s.Key] {
		delete(u.ahead, s.Key)
		m := message{bytes: uint32(s.Bytes)}
		if !s.Expires.IsZero() {
			m.expires = uint32(s.Expires.Unix()) + 1
		}
		u.set(s.Key, m)
	}
	u.sweep()
	u.applied.Advance(s.Revision)
}

// has reports whether the key has a record, as far as this worker knows.
func (u *Usage) has(key catalog.Key) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.tenants[key.Tenant]
	return h != nil && h.messages[u.hash(key)].use().Count > 0
}

// keys returns the number of keys of a tenant that have a record or a delete marker.
func (u *Usage) keys(tenant string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep()
	if h := u.tenants[tenant]; h != nil {
		return len(h.messages)
	}
	return 0
}

func (u *Usage) hash(key catalog.Key) uint64 { return maphash.String(u.seed, key.String()) }

// set replaces the newest message of the key. The caller holds mu.
func (u *Usage) set(key catalog.Key, m message) {
	h, hash := u.tenant(key.Tenant), u.hash(key)
	h.set(hash, m)
	if m.expires == 0 {
		return
	}
	if len(u.markers) >= u.compact {
		u.markers = slices.DeleteFunc(u.markers, marker.replaced)
		u.compact = max(minCompact, 2*len(u.markers))
	}
	u.markers = append(u.markers, marker{h, hash, m.expires})
}

// sweep removes expired markers. The caller holds mu.
func (u *Usage) sweep() {
	now := uint32(time.Now().Unix())
	for len(u.markers) > 0 && u.markers[0].expires <= now {
		m := u.markers[0]
		u.markers = u.markers[1:]
		if !m.replaced() {
			m.of.set(m.hash, message{})
			u.remove(m.of)
		}
	}
}

func (u *Usage) tenant(tenant string) *tenantUsage {
	h := u.tenants[tenant]
	if h == nil {
		h = &tenantUsage{tenant: tenant, messages: map[uint64]message{}}
		u.tenants[tenant] = h
	}
	return h
}

// remove removes a tenant without messages and pending writes.
func (u *Usage) remove(h *tenantUsage) {
	if len(h.messages) == 0 && h.pending == (quota.Use{}) {
		delete(u.tenants, h.tenant)
	}
}

// quota returns the quota of a tenant, as far as this worker knows.
func (u *Usage) quota(tenant string) schemas.Quota {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep()
	if h := u.tenants[tenant]; h != nil {
		return u.limit.Of(h.used())
	}
	return u.limit.Of(quota.Use{})
}

// set replaces the newest message of a key.
func (h *tenantUsage) set(hash uint64, m message) {
	h.stored = h.stored.Plus(m.use()).Minus(h.messages[hash].use())
	if h.messages[hash] = m; m == (message{}) {
		delete(h.messages, hash)
	}
}

// used returns the stored and pending messages.
func (h *tenantUsage) used() quota.Use { return h.stored.Plus(h.pending) }

// reserve counts a record before it is written, or returns the error of the
// exceeded limit. The caller calls done with the revision of the record, or 0 if
// it was not written.
func (u *Usage) reserve(ctx context.Context, key catalog.Key, record []byte) (done func(revision uint64), err error) {
	bytes := catalog.SizeOf(key, record)
	done, err = u.tryReserve(key, bytes)
	if err == nil {
		return done, nil
	}
	// A deletion acknowledged by another worker may not be applied yet, and the limit of the bucket that
	// this worker knows may have been raised.
	newest, failed := u.catalog.Revision(ctx)
	if failed != nil {
		return nil, failed
	}
	if failed := u.applied.Wait(ctx, newest); failed != nil {
		return nil, failed
	}
	return u.tryReserve(key, bytes)
}

func (u *Usage) tryReserve(key catalog.Key, bytes int64) (done func(uint64), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep()
	h, record := u.tenant(key.Tenant), message{bytes: uint32(bytes)}
	more := record.use().Minus(h.messages[u.hash(key)].use())
	if err := u.limit.Check(key.Tenant, h.used(), more); err != nil {
		u.remove(h)
		return nil, err
	}
	h.pending = h.pending.Plus(more)
	return func(revision uint64) {
		u.mu.Lock()
		defer u.mu.Unlock()
		h := u.tenant(key.Tenant)
		h.pending = h.pending.Minus(more)
		if revision > max(u.applied.Revision(), u.ahead[key]) {
			u.ahead[key] = revision
			u.set(key, record)
		}
		u.remove(h)
	}, nil
}
