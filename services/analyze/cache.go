package analyze

import (
	"bytes"
	"container/list"
	"hash/maphash"
	"sync"

	"cairn/bus/telemetry"
	"cairn/services/internal/estate"
)

// cache keeps parsed estates, so that the next question about the same one
// parses nothing. It holds at most so many bytes of them, the latest used. It
// may be used concurrently: who asks for an estate that is being parsed waits
// for it.
type cache struct {
	seed maphash.Seed
	most int

	mu     sync.Mutex
	size   int
	byHash map[uint64]*list.Element
	used   list.List // of *kept, latest used first
}

type kept struct {
	hash  uint64
	text  []byte                         // as it was written
	parse func() (*estate.Estate, error) // once
	size  int                            // 0 until it is parsed
}

func newCache(most int) *cache {
	return &cache{seed: maphash.MakeSeed(), most: most, byHash: map[uint64]*list.Element{}}
}

// open is the estate of a text, a string as written in JSON that has been
// checked; it is parsed unless it is here. The text must not change.
func (c *cache) open(text []byte) (*estate.Estate, error) {
	k := c.enter(c.hash(text), text)
	e, err := k.parse()
	c.settle(k, e)
	return e, err
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

// enter finds what is kept of text, or begins to keep it. It compares the text
// too: a caller's estate is never another's, whatever the hash.
func (c *cache) enter(hash uint64, text []byte) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byHash[hash]; ok {
		if k := at.Value.(*kept); bytes.Equal(k.text, text) {
			telemetry.EstateAsked(true)
			c.used.MoveToFront(at)
			return k
		}
		c.drop(at)
	}
	telemetry.EstateAsked(false)
	k := &kept{hash: hash, text: text}
	k.parse = sync.OnceValues(func() (*estate.Estate, error) { return estate.Read(estate.Unquote(text)) })
	c.byHash[hash] = c.used.PushFront(k)
	return k
}

// settle counts what k takes once it is parsed, and makes room for it.
func (c *cache) settle(k *kept, e *estate.Estate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byHash[k.hash]
	switch {
	case !ok || at.Value.(*kept) != k || k.size > 0: // dropped or counted already
		return
	case e == nil:
		c.drop(at)
		return
	}
	k.size = e.Size() + len(k.text)
	c.size += k.size
	telemetry.EstateBytes(k.size)
	for c.size > c.most {
		c.drop(c.used.Back())
	}
}

func (c *cache) drop(at *list.Element) {
	k := c.used.Remove(at).(*kept)
	delete(c.byHash, k.hash)
	c.size -= k.size
	telemetry.EstateBytes(-k.size)
}
