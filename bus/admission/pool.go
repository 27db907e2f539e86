// Package admission bounds how much work a process holds at once and divides that capacity among
// tenants, so that one tenant's load is refused before it can displace another's.
//
// A [Pool] counts units that its user chooses, such as requests or bytes. Acquire does not block,
// and Wait blocks in a queue per tenant; the caller bounds the number of pending calls. Granted
// units are returned with Release. A [Limit] bounds the units of each key separately. All methods may be
// called concurrently.
package admission

import (
	"context"
	"slices"
	"sync"
)

// threshold is the maximum ratio of the units of one tenant to the free capacity. A single tenant
// gets threshold/(1+threshold) = 80 % of the capacity; N tenants whose demand exceeds their share
// get threshold/(1+N*threshold) each. The rest stays free, so a tenant that holds nothing is
// admitted immediately. This is the dynamic threshold of Choudhury and Hahne, "Dynamic Queue Length
// Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998.
const threshold = 4

// Pool is a weighted semaphore that is divided among tenants. The caller chooses the
// unit: requests, runs or bytes. It may be used concurrently.
type Pool struct {
	mu       sync.Mutex
	capacity int64
	held     int64
	tenants  map[string]int64   // units held; absent: 0
	queues   map[string][]*wait // pending calls of Wait, FIFO per tenant
	unused   *sync.Cond         // broadcast when no units are held
}

// wait is a pending call of Wait.
type wait struct {
	n       int64
	granted chan struct{} // closed with mu held
}

// NewPool returns an empty pool of the given capacity.
func NewPool(capacity int64) *Pool {
	p := &Pool{capacity: capacity, tenants: map[string]int64{}, queues: map[string][]*wait{}}
	p.unused = sync.NewCond(&p.mu)
	return p
}

// Acquire takes n units for the tenant and reports whether they were granted.
// It does not block. The caller returns them with Release. A tenant that holds
// nothing gets any n that fits; one that holds some gets up to threshold times
// the free capacity. A tenant for which a Wait is pending gets nothing.
func (p *Pool) Acquire(tenant string, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queues[tenant]) == 0 && p.acquire(tenant, n)
}

func (p *Pool) acquire(tenant string, n int64) bool {
	free := p.capacity - p.held - n
	if free < 0 || !p.fits(tenant, n, free) {
		return false
	}
	p.held += n
	p.tenants[tenant] += n
	return true
}

// fits reports whether the tenant may hold n more units if free units then remain.
func (p *Pool) fits(tenant string, n, free int64) bool {
	held := p.tenants[tenant]
	return held == 0 || held+n <= threshold*free
}

// Wait is like Acquire, but blocks until the units are granted, or until ctx ends, and then
// returns the error of ctx. Released units go to the waiting tenant that holds the fewest, in the
// order of its calls. The caller bounds the number of pending calls.
func (p *Pool) Wait(ctx context.Context, tenant string, n int64) error {
	p.mu.Lock()
	if len(p.queues[tenant]) == 0 && p.acquire(tenant, n) {
		p.mu.Unlock()
		return nil
	}
	w := &wait{n, make(chan struct{})}
	p.queues[tenant] = append(p.queues[tenant], w)
	p.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.queues[tenant], w)
	if i < 0 { // granted meanwhile
		return nil
	}
	p.dequeue(tenant, i)
	p.grant() // the next call may need fewer units
	return ctx.Err()
}

func (p *Pool) dequeue(tenant string, i int) {
	if p.queues[tenant] = slices.Delete(p.queues[tenant], i, i+1); len(p.queues[tenant]) == 0 {
		delete(p.queues, tenant)
	}
}

func (p *Pool) grant() {
	for len(p.queues) > 0 {
		least, chosen := "", false
		for tenant := range p.queues {
			if !chosen || p.tenants[tenant] < p.tenants[least] {
				least, chosen = tenant, true
			}
		}
		first := p.queues[least][0]
		if !p.acquire(least, first.n) {
			return
		}
		p.dequeue(least, 0)
		close(first.granted)
	}
}

// Release returns n units that were granted to the tenant.
func (p *Pool) Release(tenant string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= n
	p.adjust(tenant, -n)
	if p.held == 0 {
		p.unused.Broadcast()
	}
	p.grant()
}

// adjust adds n, which may be negative, to the units of the tenant. The caller holds p.mu.
func (p *Pool) adjust(tenant string, n int64) {
	if p.tenants[tenant] += n; p.tenants[tenant] == 0 {
		delete(p.tenants, tenant)
	}
}

// Move transfers n units from one tenant to another, and reports whether the limit of the
// other tenant permits it (see Acquire).
func (p *Pool) Move(source, target string, n int64) bool {
	if source == target {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.fits(target, n, p.capacity-p.held) {
		return false
	}
	p.adjust(source, -n)
	p.adjust(target, n)
	return true
}

// Drain sets the capacity to 0, so that no more units are granted, and waits until none are held.
func (p *Pool) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capacity = 0
	for p.held > 0 {
		p.unused.Wait()
	}
}

// Used returns the number of units that all tenants hold.
func (p *Pool) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// Queued returns how many calls of Wait are pending.
func (p *Pool) Queued() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, queue := range p.queues {
		n += len(queue)
	}
	return n
}
