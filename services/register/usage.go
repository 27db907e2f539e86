package register

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
	"cairn/services/internal/watermark"
)

// Usage counts the records of each tenant by following the catalog. It includes the pending writes of
// this worker, and writes of other workers once they are stored. So several workers together can
// exceed a limit by their concurrent registrations. It is safe for concurrent use.
type Usage struct {
	limit   quota.Limit
	catalog *catalog.Catalog

	following sync.Mutex // guards stop
	stop      func()     // nil: closed

	mu      sync.Mutex
	seed    maphash.Seed
	tenants map[string]*tenantUsage
	applied watermark.Watermark    // advanced while holding mu
	ahead   map[catalog.Key]uint64 // revisions of own writes above the watermark, already counted
}

// tenantUsage is the usage of a tenant.
type tenantUsage struct {
	sizes   map[uint64]uint32 // bytes of each record by the hash of its key
	stored  int64             // total bytes
	pending quota.Use         // pending writes
}

// OpenUsage counts the records of the catalog. The caller closes it.
func OpenUsage(ctx context.Context, c *catalog.Catalog, limit quota.Limit) (*Usage, error) {
	limit.Storage = c.MaxBytes
	u := &Usage{limit: limit, catalog: c, seed: maphash.MakeSeed(), tenants: map[string]*tenantUsage{}, ahead: map[catalog.Key]uint64{}}
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
	for tenant, h := range u.tenants {
		clear(h.sizes)
		h.stored = 0
		u.remove(tenant, h)
	}
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
		u.set(s.Key, s.Bytes)
	}
	u.applied.Advance(s.Revision)
}

// has reports whether the key has a record, as far as this worker knows.
func (u *Usage) has(key catalog.Key) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.tenants[key.Tenant]
	return h != nil && h.sizes[maphash.String(u.seed, key.String())] > 0
}

// set records the size of the record of the key; 0 means no record. The caller
// holds mu.
func (u *Usage) set(key catalog.Key, bytes int64) {
	h, hash := u.tenant(key.Tenant), maphash.String(u.seed, key.String())
	h.stored += bytes - int64(h.sizes[hash])
	if h.sizes[hash] = uint32(bytes); bytes == 0 {
		delete(h.sizes, hash)
	}
	u.remove(key.Tenant, h)
}

func (u *Usage) tenant(tenant string) *tenantUsage {
	h := u.tenants[tenant]
	if h == nil {
		h = &tenantUsage{sizes: map[uint64]uint32{}}
		u.tenants[tenant] = h
	}
	return h
}

// remove removes a tenant without records and pending writes.
func (u *Usage) remove(tenant string, h *tenantUsage) {
	if len(h.sizes) == 0 && h.pending == (quota.Use{}) {
		delete(u.tenants, tenant)
	}
}

// quota returns the quota of a tenant, as far as this worker knows.
func (u *Usage) quota(tenant string) schemas.Quota {
	u.mu.Lock()
	defer u.mu.Unlock()
	if h := u.tenants[tenant]; h != nil {
		return u.limit.Of(h.used())
	}
	return u.limit.Of(quota.Use{})
}

// used returns the stored and pending records.
func (h *tenantUsage) used() quota.Use {
	return quota.Use{Count: int64(len(h.sizes)), Bytes: h.stored}.Plus(h.pending)
}

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
	h := u.tenant(key.Tenant)
	more := quota.Use{Count: 1, Bytes: bytes}
	if before, exists := h.sizes[maphash.String(u.seed, key.String())]; exists {
		more = quota.Use{Bytes: bytes - int64(before)}
	}
	if err := u.limit.Check(key.Tenant, h.used(), more); err != nil {
		u.remove(key.Tenant, h)
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
			u.set(key, bytes)
		}
		u.remove(key.Tenant, h)
	}, nil
}
