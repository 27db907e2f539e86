package quota

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/schemas"
)

// Counter counts what each tenant stores, and enforces its quota. A message that expires is counted until the
// end of the minute of its expiry, so up to a minute too long: memory is needed for each tenant and minute, not
// for each message. A Counter is safe for concurrent use.
type Counter struct {
	limit Limit

	mu       sync.Mutex
	stored   map[string]Amount
	expiring map[int64]map[string]Amount // the part that expires, by minute
	swept    int64                       // what expired before this minute was subtracted
}

// NewCounter returns a Counter that has counted nothing.
func NewCounter(limit Limit) *Counter {
	return &Counter{
		limit: limit, stored: map[string]Amount{}, expiring: map[int64]map[string]Amount{}, swept: minute(time.Now()),
	}
}

// minute returns the minute of t since the Unix epoch.
func minute(t time.Time) int64 { return t.Unix() / 60 }

// Reserve counts an amount before it is written, or returns the error of the exceeded limit. A zero time means
// that it does not expire.
func (c *Counter) Reserve(tenant string, a Amount, expires time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	err := c.limit.check(tenant, c.stored[tenant], a)
	if err == nil {
		c.add(tenant, a, expires)
	}
	return err
}

// Add counts an amount, which is negative for what was removed: with the expiry with which it was added.
func (c *Counter) Add(tenant string, a Amount, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	c.add(tenant, a, expires)
}

// add is Add. The caller holds mu and has swept.
func (c *Counter) add(tenant string, a Amount, expires time.Time) {
	if !expires.IsZero() {
		last := minute(expires)
		if last < c.swept {
			return
		}
		if c.expiring[last] == nil {
			c.expiring[last] = map[string]Amount{}
		}
		c.expiring[last][tenant] = c.expiring[last][tenant].Plus(a)
	}
	if c.stored[tenant] = c.stored[tenant].Plus(a); c.stored[tenant] == (Amount{}) {
		delete(c.stored, tenant)
	}
}

// sweep subtracts what expired in the minutes that have passed. The caller holds mu.
func (c *Counter) sweep() {
	for now := minute(time.Now()); c.swept < now; c.swept++ {
		for tenant, a := range c.expiring[c.swept] {
			c.add(tenant, Amount{}.Minus(a), time.Time{})
		}
		delete(c.expiring, c.swept)
	}
}

// Quota returns the quota of a tenant and what it stores.
func (c *Counter) Quota(tenant string) schemas.Quota {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	return c.limit.of(c.stored[tenant])
}

// NearLimit reports whether a tenant stores more than half of its limit.
func (c *Counter) NearLimit(tenant string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit.near(c.stored[tenant])
}

// Tenants returns a page of the permitted tenants that store something, ordered by name, without the global scope.
func (c *Counter) Tenants(q schemas.TenantQuery, permitted func(tenant string) bool) (page schemas.TenantList) {
	c.mu.Lock()
	c.sweep()
	for tenant, a := range c.stored {
		if tenant > q.Cursor && strings.HasPrefix(tenant, q.Prefix) && a.Count > 0 && permitted(tenant) {
			page.Tenants = append(page.Tenants, schemas.TenantRecords{TenantID: tenant, Count: a.Count})
		}
	}
	c.mu.Unlock()
	slices.SortFunc(page.Tenants, func(a, b schemas.TenantRecords) int { return cmp.Compare(a.TenantID, b.TenantID) })
	if limit := schemas.ValueOr(q.Limit, schemas.DefaultLimit); len(page.Tenants) > limit {
		page.Tenants = page.Tenants[:limit]
		page.NextCursor = &page.Tenants[limit-1].TenantID
	}
	return page
}
