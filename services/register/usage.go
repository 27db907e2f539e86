package register

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
)

// Usage counts the records of each tenant by following the catalog. Writes in
// progress at this worker count; those of others count when they are stored. So N
// workers together exceed a limit at most by the registrations that they have in
// progress at the same moment. It may be used concurrently.
type Usage struct {
	limit   quota.Limit
	catalog *catalog.Catalog
	stop    func()

	mu       sync.Mutex
	seed     maphash.Seed
	tenants  map[string]*holding
	revision uint64        // the newest applied
	advanced chan struct{} // closed, and replaced, when revision grows
}

// holding is what a tenant stores.
type holding struct {
	sizes   map[uint64]uint32 // bytes of each record, by the hash of its key
	stored  int64             // bytes of all
	pending quota.Use         // writes in progress
}

// OpenUsage counts the catalog and returns when it has. The caller closes it.
func OpenUsage(ctx context.Context, c *catalog.Catalog, limit quota.Limit) (*Usage, error) {
	u := &Usage{limit: limit, catalog: c, seed: maphash.MakeSeed(), tenants: map[string]*holding{}, advanced: make(chan struct{})}
	newest, err := c.Revision(ctx)
	if err != nil {
		return nil, err
	}
	if u.stop, err = c.Sizes(ctx, u.apply); err != nil {
		return nil, err
	}
	if err := u.await(ctx, newest); err != nil {
		u.stop()
		return nil, fmt.Errorf("count the records: %w", err)
	}
	return u, nil
}

// Close stops following the catalog.
func (u *Usage) Close() { u.stop() }

func (u *Usage) apply(s catalog.Size) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s.Key != (catalog.Key{}) {
		u.set(s.Key, s.Bytes)
	}
	u.revision = s.Revision
	close(u.advanced)
	u.advanced = make(chan struct{})
}

// set makes the record of the key one of the size; 0: there is none. The caller
// holds mu.
func (u *Usage) set(key catalog.Key, bytes int64) {
	h, hash := u.holding(key.Tenant), maphash.String(u.seed, key.String())
	h.stored += bytes - int64(h.sizes[hash])
	if h.sizes[hash] = uint32(bytes); bytes == 0 {
		delete(h.sizes, hash)
	}
	u.forget(key.Tenant, h)
}

func (u *Usage) holding(tenant string) *holding {
	h := u.tenants[tenant]
	if h == nil {
		h = &holding{sizes: map[uint64]uint32{}}
		u.tenants[tenant] = h
	}
	return h
}

// forget drops a tenant that stores nothing.
func (u *Usage) forget(tenant string, h *holding) {
	if len(h.sizes) == 0 && h.pending == (quota.Use{}) {
		delete(u.tenants, tenant)
	}
}

// await returns when the revision has been applied.
func (u *Usage) await(ctx context.Context, revision uint64) error {
	for {
		u.mu.Lock()
		reached, advanced := u.revision, u.advanced
		u.mu.Unlock()
		if reached >= revision {
			return nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reserve counts a record that is about to be written, or returns the error that
// refuses it. done ends the reservation; it takes the record's revision, 0 if it
// was not written.
func (u *Usage) reserve(ctx context.Context, key catalog.Key, record []byte) (done func(revision uint64), err error) {
	if u == nil {
		return func(uint64) {}, nil
	}
	bytes := int64(len(key.String()) + len(record))
	done, err = u.tryReserve(key, bytes)
	if err == nil {
		return done, nil
	}
	// A delete that was acknowledged elsewhere may be on its way.
	newest, failed := u.catalog.Revision(ctx)
	if failed != nil {
		return nil, failed
	}
	if failed := u.await(ctx, newest); failed != nil {
		return nil, failed
	}
	return u.tryReserve(key, bytes)
}

func (u *Usage) tryReserve(key catalog.Key, bytes int64) (done func(uint64), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.holding(key.Tenant)
	more := quota.Use{Count: 1, Bytes: bytes}
	if before, exists := h.sizes[maphash.String(u.seed, key.String())]; exists {
		more = quota.Use{Bytes: bytes - int64(before)}
	}
	held := quota.Use{Count: int64(len(h.sizes)) + h.pending.Count, Bytes: h.stored + h.pending.Bytes}
	if err := u.limit.Check(key.Tenant, held, more); err != nil {
		u.forget(key.Tenant, h)
		return nil, err
	}
	h.pending = quota.Use{Count: h.pending.Count + more.Count, Bytes: h.pending.Bytes + more.Bytes}
	return func(revision uint64) {
		u.mu.Lock()
		defer u.mu.Unlock()
		h := u.holding(key.Tenant)
		h.pending = quota.Use{Count: h.pending.Count - more.Count, Bytes: h.pending.Bytes - more.Bytes}
		if revision > u.revision { // not applied yet
			u.set(key, bytes)
		}
		u.forget(key.Tenant, h)
	}, nil
}
