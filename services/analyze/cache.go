package analyze

import (
	"bytes"
	"container/list"
	"hash/maphash"
	"sync"

	"cairn/services/internal/estate"
)

// cache keeps parsed estates, so that the next question about the same one
// parses nothing. It holds at most so many bytes of them, the latest used.
type cache struct {
	seed maphash.Seed
	most int

	mu     sync.Mutex
	size   int
	byHash map[uint64]*list.Element
	used   list.List // of kept, latest used first
}

type kept struct {
	hash   uint64
	text   []byte
	estate *estate.Estate
}

func newCache(most int) *cache {
	return &cache{seed: maphash.MakeSeed(), most: most, byHash: map[uint64]*list.Element{}}
}

// open is the estate of text, parsed unless it is here. text must not change.
func (c *cache) open(text []byte) (*estate.Estate, error) {
	hash := maphash.Bytes(c.seed, text)
	if e := c.find(hash, text); e != nil {
		return e, nil
	}
	e, err := estate.Parse(text)
	if err != nil {
		return nil, err
	}
	c.keep(kept{hash, text, e})
	return e, nil
}

// find compares the text too: a caller's estate is never another's, whatever
// the hash.
func (c *cache) find(hash uint64, text []byte) *estate.Estate {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byHash[hash]
	if !ok || !bytes.Equal(at.Value.(kept).text, text) {
		return nil
	}
	c.used.MoveToFront(at)
	return at.Value.(kept).estate
}

func (c *cache) keep(k kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byHash[k.hash]; ok {
		c.drop(at)
	}
	c.byHash[k.hash] = c.used.PushFront(k)
	c.size += k.estate.Size()
	for c.size > c.most && c.used.Len() > 0 {
		c.drop(c.used.Back())
	}
}

func (c *cache) drop(at *list.Element) {
	k := c.used.Remove(at).(kept)
	delete(c.byHash, k.hash)
	c.size -= k.estate.Size()
}
