// Package admission bounds how much work a process holds at once and divides
// that capacity among tenants, so that one tenant's load is refused before it
// can displace another's.
package admission

import (
	"maps"
	"sync"
)

// threshold is how many times the free capacity one tenant may hold. A tenant
// that is alone gets threshold/(1+threshold) = 80 % of the capacity; N tenants
// that all want more than their share get threshold/(1+N*threshold) each. The
// rest stays free, so a tenant that holds nothing is admitted at once. This is
// the dynamic threshold of Choudhury and Hahne, "Dynamic Queue Length Thresholds
// for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998.
const threshold = 4

// Pool is a weighted semaphore that is divided among tenants. The unit is the
// caller's: requests, runs or bytes. It never blocks. It may be used concurrently.
type Pool struct {
	mu       sync.Mutex
	capacity int64
	held     int64
	tenants  map[string]int64 // what each tenant holds; absent: nothing
}

// NewPool returns an empty pool of the given capacity.
func NewPool(capacity int64) *Pool {
	return &Pool{capacity: capacity, tenants: map[string]int64{}}
}

// Acquire takes n units for the tenant and reports whether they were granted.
// The caller returns them with Release. A tenant that holds nothing gets any n
// that fits; one that holds some gets up to threshold times the free capacity.
func (p *Pool) Acquire(tenant string, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.capacity - p.held
	if n > free {
		return false
	}
	if mine := p.tenants[tenant]; mine > 0 && mine+n > threshold*(free-n) {
		return false
	}
	p.held += n
	p.tenants[tenant] += n
	return true
}

// Release returns n units that Acquire granted to the tenant.
func (p *Pool) Release(tenant string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= n
	if p.tenants[tenant] -= n; p.tenants[tenant] == 0 {
		delete(p.tenants, tenant)
	}
}

// Resize changes the capacity. What is held stays held, and nothing more is
// granted until it fits.
func (p *Pool) Resize(capacity int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capacity = capacity
}

// Held returns the units that are held, in all and by tenant.
func (p *Pool) Held() (total int64, tenants map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held, maps.Clone(p.tenants)
}
