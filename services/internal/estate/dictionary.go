package estate

import (
	"hash/maphash"
	"math"
	"slices"
)

// entry is a distinct value and its number of occurrences.
type entry struct {
	operand
	count uint32
}

// dictionary assigns an index to each distinct value. It is a specialized hash table
// because reading a large estate spends most of its time here: a map hashes a new key
// twice and stores it in addition to the list.
type dictionary struct {
	list  []entry  // in order of appearance
	slots []uint64 // hash in the upper half, 1 + index in list in the lower; 0: free, as at least a quarter of them are
	last  int      // the last index found: records are often sorted
}

var hashSeed = maphash.MakeSeed()

// add counts v, which is not null, n times and returns its index.
func (d *dictionary) add(v value, n uint32) int {
	k, text := v.kind(), []byte(v)
	if k < kindNull {
		text = v.label()
	}
	if d.last >= len(d.list) || !d.list[d.last].is(text, k) {
		d.last = d.place(text, k)
	}
	d.list[d.last].count += n
	return d.last
}

func (e *entry) is(text []byte, k kind) bool { return e.text == string(text) && e.kind == k }

// place returns the index of the value, and adds it if it is new.
func (d *dictionary) place(text []byte, k kind) int {
	if 4*len(d.list) >= 3*len(d.slots) {
		d.grow()
	}
	hash := maphash.Bytes(hashSeed, text) >> 32
	slot := hash & uint64(len(d.slots)-1)
	for ; d.slots[slot] != 0; slot = (slot + 1) & uint64(len(d.slots)-1) {
		if d.slots[slot]>>32 != hash {
			continue
		}
		if i := int(uint32(d.slots[slot])) - 1; d.list[i].is(text, k) {
			return i
		}
	}
	d.list = append(d.list, entry{operand: operand{k, share(text)}})
	d.slots[slot] = hash<<32 | uint64(len(d.list))
	return len(d.list) - 1
}

func (d *dictionary) grow() {
	old := d.slots
	d.slots = make([]uint64, max(16, 2*len(old)))
	d.list = slices.Grow(d.list, len(d.list))
	for _, taken := range old {
		if taken == 0 {
			continue
		}
		slot := taken >> 32 & uint64(len(d.slots)-1)
		for d.slots[slot] != 0 {
			slot = (slot + 1) & uint64(len(d.slots)-1)
		}
		d.slots[slot] = taken
	}
}

// top returns the scalars, most frequent first.
func top(list []entry) []Value {
	// Sorting integers composed of count and index is many times faster than sorting
	// the values.
	order := make([]uint64, 0, len(list))
	for i, v := range list {
		if v.scalar() {
			order = append(order, uint64(math.MaxUint32-v.count)<<32|uint64(i))
		}
	}
	slices.Sort(order)
	values := make([]Value, min(len(order), MaxValues))
	for i := range values {
		v := list[uint32(order[i])]
		values[i] = Value{Text: v.text, Type: kindNames[v.kind], Count: int(v.count)}
	}
	return values
}
