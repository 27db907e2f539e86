package analyze

import (
	"bytes"
	"container/list"
	"context"
	"hash/maphash"
	"sync"

	"cairn/bus/admission"
	"cairn/bus/telemetry"
	"cairn/services/internal/estate"
	"cairn/services/internal/lazy"
)

// cache holds parsed estates: all those in use by runs, and up to maxIdle bytes of idle
// ones, of which it evicts the least recently used first. An estate in use counts
// against the reservation of the first run that uses it; idle estates take only memory
// that no run has reserved. A cache is safe for concurrent use: concurrent runs on the
// same estate share one parse.
type cache struct {
	seed    maphash.Seed
	maxIdle int64
	budget  int64 // capacity of pool
	pool    *admission.Pool

	mu     sync.Mutex
	idle   int64     // bytes of unused
	unused list.List // of *entry, most recently used first
	byHash map[uint64]*entry
}

// entry is an estate in the cache.
type entry struct {
	hash     uint64
	text     []byte // as received
	parse    *lazy.Value[*estate.Estate]
	size     int64         // 0 until it is parsed
	refs     int           // runs that use it
	reserved reservation   // while there are users
	element  *list.Element // in unused; nil while there are users
}

// newCache returns a cache whose estates in use share budget bytes with runs. It limits
// idle estates to maxIdle bytes.
func newCache(budget, maxIdle int64) *cache {
	return &cache{seed: maphash.MakeSeed(), maxIdle: maxIdle, budget: budget, pool: admission.NewPool(budget),
		byHash: map[uint64]*entry{}}
}

// open returns the estate of text, a validated JSON string, object or array that must not change. The
// run's reservation must hold bodyFactor bytes for each byte of text; they pass to
// the estate, or are released when another run holds it. The caller calls done when
// it stops using the estate. The error may be ctx.Err().
func (c *cache) open(ctx context.Context, text []byte, run *reservation) (e *estate.Estate, done func(), err error) {
	k := c.acquire(c.hash(text), text, run)
	defer func() {
		if done == nil { // parse failed or panicked
			c.forget(k)
			c.release(k)
		}
	}()
	if e, err = k.parse.Get(ctx); err != nil {
		return nil, nil, err
	}
	if err := c.resizeReservation(k, e); err != nil {
		return nil, nil, err
	}
	return e, func() { c.release(k) }, nil
}

// ends is the number of bytes hashed at each end of a text. Large texts that differ
// only in between share a hash and replace each other in the cache.
const ends = 64 << 10

func (c *cache) hash(text []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	maphash.WriteComparable(&h, len(text))
	_, _ = h.Write(text[:min(ends, len(text))])
	_, _ = h.Write(text[max(0, len(text)-ends):]) // never fails
	return h.Sum64()
}

// acquire returns the entry of text with one more user. It compares whole texts, so
// that a hash collision never returns another tenant's estate.
func (c *cache) acquire(hash uint64, text []byte, run *reservation) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.byHash[hash]
	hit := k != nil && bytes.Equal(k.text, text)
	telemetry.EstateLookup(hit)
	if !hit {
		c.remove(k)
		k = &entry{hash: hash, text: text}
		k.parse = lazy.New(func(ctx context.Context) (*estate.Estate, error) {
			return estate.Read(ctx, estate.Text(text))
		})
		c.byHash[hash] = k
	}
	part := run.split(bodyFactor * int64(len(text)))
	if k.refs++; k.refs > 1 {
		part.resize(0)
		return k
	}
	k.reserved = part
	if k.element != nil {
		c.unused.Remove(k.element)
		k.element = nil
		c.idle -= k.size
	}
	return k
}

// resizeReservation resizes the entry's reservation to the size of its estate.
func (c *cache) resizeReservation(k *entry, e *estate.Estate) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.size == 0 {
		k.size = int64(e.Size() + len(k.text))
		telemetry.EstateBytes.Add(float64(k.size))
	}
	if !k.reserved.resize(k.size) {
		return errMemory
	}
	c.trim()
	return nil
}

// release releases the entry for one run.
func (c *cache) release(k *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.refs--; k.refs > 0 {
		return
	}
	k.reserved.resize(0)
	if c.byHash[k.hash] != k {
		telemetry.EstateBytes.Sub(float64(k.size))
		return
	}
	k.element = c.unused.PushFront(k)
	c.idle += k.size
	c.trim()
}

// evict frees idle estates that exceed the unreserved memory.
func (c *cache) evict() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
}

// trim evicts idle estates until they fit into the unreserved memory.
func (c *cache) trim() {
	if c.idle == 0 {
		return
	}
	reserved := c.pool.Used()
	for c.idle > max(0, min(c.maxIdle, c.budget-reserved)) {
		c.remove(c.unused.Back().Value.(*entry))
	}
}

// forget removes an entry that failed to open.
func (c *cache) forget(k *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHash[k.hash] == k {
		c.remove(k)
	}
}

// remove removes the entry from the cache. Its users keep it. k may be nil.
func (c *cache) remove(k *entry) {
	if k == nil {
		return
	}
	delete(c.byHash, k.hash)
	if k.element != nil {
		c.unused.Remove(k.element)
		c.idle -= k.size
		telemetry.EstateBytes.Sub(float64(k.size))
	}
}
