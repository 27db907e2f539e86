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

// cache holds parsed estates: those that runs use, and of the others, which are
// evicted least recently used first, at most most bytes. Estates in use count
// against the reservation of the first run that uses them; the others take only
// memory that no run has reserved. It may be used concurrently: runs on the same
// estate wait until one of them has parsed it.
type cache struct {
	seed   maphash.Seed
	most   int64
	budget int64 // of pool
	pool   *admission.Pool

	mu     sync.Mutex
	idle   int64     // bytes of unused
	unused list.List // of *entry, most recently used first
	byHash map[uint64]*entry
}

// entry is an estate in the cache.
type entry struct {
	hash  uint64
	text  []byte // as received
	parse *lazy.Value[*estate.Estate]
	size  int64         // 0 until it is parsed
	users int           // runs that use it
	taken reservation   // while there are users
	at    *list.Element // in unused; nil while there are users
}

// newCache returns a cache whose estates count against a budget of bytes, and
// keeps at most most bytes of estates that no run uses.
func newCache(budget, most int64) *cache {
	return &cache{seed: maphash.MakeSeed(), most: most, budget: budget, pool: admission.NewPool(budget), byHash: map[uint64]*entry{}}
}

// open returns the estate of a text, which is a JSON string that was checked and
// must not change. The run's reservation has bodyFactor bytes for each byte of
// the text, which pass to the estate, or are released when another run holds it.
// The run calls done when it does not use the estate any more. The error may be
// that of ctx.
func (c *cache) open(ctx context.Context, text []byte, run *reservation) (e *estate.Estate, done func(), err error) {
	k := c.enter(c.hash(text), text, run)
	defer func() {
		if done == nil { // an error, or a panic of parse
			c.forget(k)
			c.leave(k)
		}
	}()
	if e, err = k.parse.Get(ctx); err != nil {
		return nil, nil, err
	}
	if err := c.settle(k, e); err != nil {
		return nil, nil, err
	}
	return e, func() { c.leave(k) }, nil
}

// ends is how much of the beginning and of the end of a text its hash is made
// of, in bytes. Large ones that differ in the middle alone push each other out.
const ends = 64 << 10

func (c *cache) hash(text []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	maphash.WriteComparable(&h, len(text))
	_, _ = h.Write(text[:min(ends, len(text))])
	_, _ = h.Write(text[max(0, len(text)-ends):]) // never fails
	return h.Sum64()
}

// enter returns the entry of text, for one more user. It compares the text too:
// one tenant never gets the estate of another, whatever the hash.
func (c *cache) enter(hash uint64, text []byte, run *reservation) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.byHash[hash]
	hit := k != nil && bytes.Equal(k.text, text)
	telemetry.EstateAsked(hit)
	if !hit {
		c.remove(k)
		k = &entry{hash: hash, text: text}
		k.parse = lazy.New(func(ctx context.Context) (*estate.Estate, error) { return estate.Read(ctx, estate.Unquote(text)) })
		c.byHash[hash] = k
	}
	part := run.split(bodyFactor * int64(len(text)))
	if k.users++; k.users > 1 {
		part.resize(0)
		return k
	}
	k.taken = part
	if k.at != nil {
		c.unused.Remove(k.at)
		k.at = nil
		c.idle -= k.size
	}
	return k
}

// settle makes the reservation of the entry the size of its estate.
func (c *cache) settle(k *entry, e *estate.Estate) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.size == 0 {
		k.size = int64(e.Size() + len(k.text))
		telemetry.EstateBytes(int(k.size))
	}
	if !k.taken.resize(k.size) {
		return errMemory
	}
	c.trim()
	return nil
}

// leave ends the use of the entry by one run.
func (c *cache) leave(k *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.users--; k.users > 0 {
		return
	}
	k.taken.resize(0)
	if c.byHash[k.hash] != k {
		telemetry.EstateBytes(-int(k.size))
		return
	}
	k.at = c.unused.PushFront(k)
	c.idle += k.size
	c.trim()
}

// evict makes room for reservations.
func (c *cache) evict() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
}

// trim evicts unused estates until they fit beside what runs have reserved.
func (c *cache) trim() {
	if c.idle == 0 {
		return
	}
	reserved, _ := c.pool.Held()
	for c.idle > max(0, min(c.most, c.budget-reserved)) {
		c.remove(c.unused.Back().Value.(*entry))
	}
}

// forget removes an entry that could not be opened.
func (c *cache) forget(k *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHash[k.hash] == k {
		c.remove(k)
	}
}

// remove takes the entry, if it is not nil, out of the cache. Its users keep it.
func (c *cache) remove(k *entry) {
	if k == nil {
		return
	}
	delete(c.byHash, k.hash)
	if k.at != nil {
		c.unused.Remove(k.at)
		c.idle -= k.size
		telemetry.EstateBytes(-int(k.size))
	}
}
