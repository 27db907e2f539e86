package estate

import (
	"hash/maphash"
	"math"
	"slices"
)

// counter counts distinct strings, numbers and booleans. It is a hash table of
// its own because most of the time that a large estate takes is spent here: a
// map hashes a new key twice, and keeps it beside the list.
type counter struct {
	list   []Value // in order of appearance
	hashes []uint32
	slots  []uint32 // 1 + a place in list, 0 when free; at least a quarter are
	last   int      // the place counted last: records often come sorted
}

var hashSeed = maphash.MakeSeed()

func (c *counter) add(v value) {
	k := v.kind()
	if k != kindString && k != kindNumber && k != kindBoolean {
		return
	}
	label, name := v.label(), kindNames[k]
	if c.last >= len(c.list) || !c.list[c.last].is(label, name) {
		c.last = c.place(label, name)
	}
	c.list[c.last].Count++
}

func (v *Value) is(label []byte, name string) bool { return v.Text == string(label) && v.Type == name }

// place finds the value in list, or adds it.
func (c *counter) place(label []byte, name string) int {
	if 4*len(c.list) >= 3*len(c.slots) {
		c.grow()
	}
	hash := uint32(maphash.Bytes(hashSeed, label))
	slot := hash & uint32(len(c.slots)-1)
	for ; c.slots[slot] != 0; slot = (slot + 1) & uint32(len(c.slots)-1) {
		at := int(c.slots[slot] - 1)
		if c.hashes[at] == hash && c.list[at].is(label, name) {
			return at
		}
	}
	c.list = append(c.list, Value{Text: share(label), Type: name})
	c.hashes = append(c.hashes, hash)
	c.slots[slot] = uint32(len(c.list))
	return len(c.list) - 1
}

func (c *counter) grow() {
	c.slots = make([]uint32, max(16, 2*len(c.slots)))
	c.list = slices.Grow(c.list, len(c.list))
	c.hashes = slices.Grow(c.hashes, len(c.hashes))
	for at, hash := range c.hashes {
		slot := hash & uint32(len(c.slots)-1)
		for c.slots[slot] != 0 {
			slot = (slot + 1) & uint32(len(c.slots)-1)
		}
		c.slots[slot] = uint32(at + 1)
	}
}

// top returns the values, the most frequent first.
func (c *counter) top() []Value {
	// Sorting numbers made of count and place is many times faster than
	// sorting the values.
	order := make([]uint64, len(c.list))
	for i, v := range c.list {
		order[i] = uint64(math.MaxUint32-v.Count)<<32 | uint64(i)
	}
	slices.Sort(order)
	values := make([]Value, min(len(c.list), MaxValues))
	for i := range values {
		values[i] = c.list[uint32(order[i])]
	}
	return values
}
