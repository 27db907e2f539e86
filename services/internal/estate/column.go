package estate

import (
	"context"
	"encoding/json"

	"cairn/services/internal/lazy"
)

// MaxValues bounds the distinct values of a Column; it has the most frequent ones.
const MaxValues = 10_000

// A Column describes the values of one field in the records of an array.
type Column struct {
	Path     string
	Records  int // records of the array
	Missing  int // records without the field
	Null     int // records with null
	Distinct int // distinct strings, numbers and booleans
	// Values are the strings, numbers and booleans, most frequent first, then in
	// order of appearance.
	Values []Value
	// Elements are the strings, numbers and booleans in array values, counted per
	// element; the filter operator contains matches them.
	Elements         []Value
	DistinctElements int
}

// A Value is a distinct value and its number of occurrences.
type Value struct {
	Text  string // the label of its group
	Type  string // string, number or boolean
	Count int
}

// JSON returns the value as a filter operand.
func (v Value) JSON() json.RawMessage {
	if v.Type == kindNames[kindString] {
		return quote([]byte(v.Text))
	}
	return json.RawMessage(v.Text)
}

func (v Value) operand() operand { return newOperand(value(v.JSON())) }

// Codes of values. A code from codeValues on is codeValues plus an index in values.
const (
	codeMissing = iota
	codeNull
	codeValues
)

// A column is one field of an array's records: each record has a code, which stands for
// a distinct value.
type column struct {
	path    string
	types   uint8 // bit set of kinds
	nulls   int
	values  []entry
	codes   []uint32
	rows    []uint32             // the records of codes; nil: the first ones
	gaps    bool                 // some of codes are codeMissing
	public  *lazy.Value[*Column] // computed on first use
	groups  *lazy.Value[labels]
	reading *lazy.Value[reading]
}

func newColumn(path string, types uint8, nulls int, values []entry, codes, rows []uint32) *column {
	c := &column{path: path, types: types, nulls: nulls, values: values, codes: codes, rows: rows}
	c.public, c.groups, c.reading = lazy.New(c.describe), lazy.New(c.label), lazy.New(c.interpret)
	return c
}

// describe returns the public column. Missing counts the records with the field; the
// caller subtracts it from all records.
func (c *column) describe(ctx context.Context) (*Column, error) {
	public := &Column{Null: c.nulls, Missing: len(c.codes), Values: top(c.values)}
	var elements dictionary
	read := 0
	for _, v := range c.values {
		switch {
		case v.scalar():
			public.Distinct++
		case v.kind == kindArray:
			for element := range value(v.text).elements() {
				if read++; read%checkValues == 0 && yield(ctx, read) != nil {
					return nil, ctx.Err()
				}
				if element.kind() < kindNull {
					elements.add(element, v.count)
				}
			}
		}
	}
	public.Elements, public.DistinctElements = top(elements.list), len(elements.list)
	return public, nil
}

// dense returns the code of each of n records. The caller must not modify it.
func (c *column) dense(n int) []uint32 {
	if len(c.codes) == n {
		return c.codes
	}
	dense := make([]uint32, n)
	if c.rows == nil {
		copy(dense, c.codes)
	}
	for i, row := range c.rows {
		dense[row] = c.codes[i]
	}
	return dense
}

// single reports whether all values are scalars of one kind. Their labels are then
// distinct.
func (c *column) single() bool {
	kinds := c.types &^ (1 << kindNull)
	return kinds&(kinds-1) == 0 && kinds < 1<<kindNull
}

// Sizes in bytes of a value besides its text, which shares the memory of the estate: in
// the dictionary, as a group, in the public column, and as a number.
const (
	columnSize = 250
	entrySize  = 32
	groupSize  = 20
	valueSize  = 40
	numberSize = 8
)

func (c *column) size() int {
	size := columnSize + (entrySize+numberSize)*cap(c.values) + 4*(cap(c.codes)+cap(c.rows))
	size += groupSize*len(c.values) + valueSize*min(len(c.values), MaxValues)
	elements := 0
	for _, v := range c.values {
		if !v.scalar() {
			size += len(v.text) // its canonical form as a group label
		}
		if v.kind == kindArray {
			elements += len(v.text) / 2 // an element has at least a byte and a separator
		}
	}
	return size + valueSize*min(elements, MaxValues)
}

// label assigns groups to each code and a label to each group. Null and missing values, and
// empty lists, have the first group. A list of scalars has the groups of its elements.
func (c *column) label(ctx context.Context) (labels, error) {
	l := labels{of: make([]uint32, codeValues+len(c.values)), keys: make([]string, 1, 1+len(c.values))}
	l.keys[0] = NullGroup
	known := map[string]uint32{}
	single := c.single() // the labels are distinct
	if !single {
		known = make(map[string]uint32, len(c.values))
		known[NullGroup] = 0
	}
	group := func(label string) uint32 {
		g, ok := uint32(0), label == NullGroup
		if !single {
			g, ok = known[label]
		}
		if !ok {
			g = uint32(len(l.keys))
			l.keys = append(l.keys, groupKey(label))
			if !single {
				known[label] = g
			}
		}
		return g
	}
	var last []uint32 // by group, 1 + the index of the last list with it
	for i, v := range c.values {
		if i%checkValues == 0 && yield(ctx, i) != nil {
			return labels{}, ctx.Err()
		}
		if !v.isList() {
			l.of[codeValues+i] = group(v.label())
			continue
		}
		elements := []uint32{}
		for element := range value(v.text).elements() {
			if element.kind() == kindNull {
				continue
			}
			g := group(string(element.label()))
			last = append(last, make([]uint32, len(l.keys)-len(last))...)
			if last[g] != uint32(i)+1 {
				last[g] = uint32(i) + 1
				elements = append(elements, g)
			}
		}
		if l.elements == nil {
			l.elements = map[uint32][]uint32{}
		}
		l.elements[uint32(codeValues+i)] = elements
	}
	return l, nil
}

// longest returns the size of the largest value, in bytes.
func (c *column) longest() (size int) {
	for _, v := range c.values {
		size = max(size, len(v.text))
	}
	return size
}

// isList reports whether the value is an array of scalars.
func (o operand) isList() bool {
	if o.kind != kindArray {
		return false
	}
	for element := range value(o.text).elements() {
		if element.kind() >= kindArray {
			return false
		}
	}
	return true
}

// classes returns labels without keys: the groups are different for different values, those of another type
// included. The result is incomplete if ctx is done.
func (c *column) classes(ctx context.Context) labels {
	k := labels{of: all(codeValues + len(c.values)), bound: codeValues + len(c.values)}
	if c.types&(1<<kindArray|1<<kindObject) == 0 {
		return k
	}
	known := map[operand]uint32{}
	class := func(v operand, number uint32) uint32 {
		if n, ok := known[v]; ok {
			return n
		}
		known[v] = number
		k.bound = max(k.bound, int(number)+1)
		return number
	}
	k.elements = map[uint32][]uint32{}
	for i, v := range c.values {
		if i%checkValues == 0 && yield(ctx, i) != nil {
			break
		}
		code := uint32(codeValues + i)
		if !v.isList() {
			k.of[code] = class(operand{v.kind, v.label()}, code)
			continue
		}
		elements := []uint32{}
		for element := range value(v.text).elements() {
			if element.kind() != kindNull {
				elements = append(elements, class(operand{element.kind(), share(element.label())}, uint32(k.bound)))
			}
		}
		k.elements[code] = elements
	}
	return k
}

// transform returns the column of a part of each value; values without the part are missing.
func (c *column) transform(ctx context.Context, path string, part func(v operand) (value, bool)) (*column, error) {
	var values dictionary
	codeOf := make([]uint32, codeValues+len(c.values))
	codeOf[codeNull] = codeNull
	for i, v := range c.values {
		if i%checkValues == 0 && yield(ctx, i) != nil {
			return nil, ctx.Err()
		}
		if text, ok := part(v.operand); ok {
			codeOf[codeValues+i] = codeValues + uint32(values.add(text, v.count))
		}
	}
	types := uint8(0)
	for _, v := range values.list {
		types |= 1 << v.kind
	}
	codes := make([]uint32, len(c.codes))
	for i, code := range c.codes {
		codes[i] = codeOf[code]
	}
	t := newColumn(path, types, c.nulls, values.list, codes, c.rows)
	t.gaps = true
	return t, nil
}
