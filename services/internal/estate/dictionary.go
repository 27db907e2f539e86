package estate

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An operand is a comparable value: the label of a scalar, or the text of an array or
// object as written.
type operand struct {
	kind kind
	text string
}

func newOperand(v value) operand { return operand{v.kind(), string(v.label())} }

func (o operand) scalar() bool { return o.kind < kindNull }

// label returns the canonical text of the operand: operands of a kind are equal if their
// labels are.
func (o operand) label() string {
	if o.kind == kindArray || o.kind == kindObject {
		return string(canonical(value(o.text)))
	}
	return o.text
}

// float returns the number as float64, or NaN.
func (o operand) float() float64 {
	if o.kind == kindNumber {
		if f, err := strconv.ParseFloat(o.text, 64); err == nil {
			return f
		}
	}
	return math.NaN()
}

// equals, differs and contained are matchers.
func (o operand) equals(v operand, i int) bool {
	return i != indexMissing && v.kind == o.kind && v.label() == o.text
}

// differs treats a missing value as null: it differs from every other value, and
// {"ne": null} selects the records with a value.
func (o operand) differs(v operand, i int) bool {
	if i == indexMissing {
		return o.kind != kindNull
	}
	return !o.equals(v, i)
}

// numberOrder compares a number with o: 64-bit integers exactly, other numbers as
// float64.
func (o operand) numberOrder() func(text string) int {
	k, err := strconv.ParseInt(o.text, 10, 64)
	g, _ := strconv.ParseFloat(o.text, 64) // out of range it is infinite, which orders correctly
	return func(text string) int {
		if err == nil && isPlainInteger(text) {
			if i, err := strconv.ParseInt(text, 10, 64); err == nil {
				return cmp.Compare(i, k)
			}
		}
		f, _ := strconv.ParseFloat(text, 64)
		return cmp.Compare(f, g)
	}
}

// contained reports whether a string contains the text, or an array the value.
func (o operand) contained(v operand, i int) bool {
	switch {
	case i == indexMissing:
		return false
	case v.kind == kindString:
		return o.kind == kindString && strings.Contains(v.text, o.text)
	case v.kind == kindArray:
		for element := range value(v.text).elements() {
			if element.kind() == o.kind && string(element.label()) == o.text {
				return true
			}
		}
	}
	return false
}

// note lists the values of a column if o is not one of them.
func (o operand) note(field string, c *Column) string {
	if len(c.Elements) > 0 {
		return fmt.Sprintf("%q has arrays: use {\"contains\": value} to match elements", field)
	}
	for _, v := range c.Values {
		if v.Text == o.text && v.Type != kindNames[o.kind] {
			return fmt.Sprintf("%q has %s as a %s: equality is strict in type",
				field, truncate(v.JSON(), maxSampleString), v.Type)
		}
	}
	known := c.Null > 0 && o.kind == kindNull ||
		slices.ContainsFunc(c.Values, func(v Value) bool { return v.operand() == o })
	if known || len(c.Values) == 0 || len(c.Values) < c.Distinct {
		return ""
	}
	var values []string
	for _, v := range c.Values[:min(maxNoteValues, len(c.Values))] {
		values = append(values, string(truncate(v.JSON(), maxSampleString)))
	}
	if more := c.Distinct - len(values); more > 0 {
		values = append(values, fmt.Sprintf("… %d more", more))
	}
	return fmt.Sprintf("no record has that value of %q; its values are %s", field, strings.Join(values, ", "))
}

// entry is a distinct value and its number of occurrences.
type entry struct {
	operand
	count uint32
}

func (e entry) public() Value {
	return Value{Text: e.text, Type: kindNames[e.kind], Count: int(e.count)}
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
		if at := int(uint32(d.slots[slot])) - 1; d.list[at].is(text, k) {
			return at
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
		values[i] = list[uint32(order[i])].public()
	}
	return values
}
