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
	Elements []Value
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
	types   uint8 // bit set of kinds
	nulls   int
	values  []entry
	codes   []uint32
	rows    []uint32             // the records of codes; nil: the first ones
	numbers []float64            // of values, NaN for other kinds; nil if there are no numbers
	public  *lazy.Value[*Column] // computed on first use
	groups  *lazy.Value[labels]
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
	public.Elements = top(elements.list)
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
// the dictionary, as a group, and in the public column.
const (
	columnSize = 250
	entrySize  = 32
	groupSize  = 20
	valueSize  = 40
)

func (c *column) size() int {
	size := columnSize + entrySize*cap(c.values) + 8*cap(c.numbers) + 4*(cap(c.codes)+cap(c.rows))
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

// label assigns a group to each code and a label to each group. Null and missing values
// have the first group.
func (c *column) label(ctx context.Context) (labels, error) {
	groups := make([]uint32, codeValues+len(c.values))
	keys := append(make([]string, 0, 1+len(c.values)), NullGroup)
	single, known := c.single(), map[string]uint32{}
	if !single {
		known = make(map[string]uint32, len(c.values))
		known[NullGroup] = 0
	}
	for i, v := range c.values {
		if i%checkValues == 0 && yield(ctx, i) != nil {
			return labels{}, ctx.Err()
		}
		label := v.label()
		g, ok := uint32(0), label == NullGroup
		if !single {
			g, ok = known[label]
		}
		if !ok {
			g = uint32(len(keys))
			keys = append(keys, groupKey(label))
			if !single {
				known[label] = g
			}
		}
		groups[codeValues+i] = g
	}
	return labels{groups, keys}, nil
}

// classes returns a number for each code, equal for equal values, and an upper bound of
// the numbers. The result is incomplete if ctx is done.
func (c *column) classes(ctx context.Context) (of []uint32, many int) {
	of = all(codeValues + len(c.values))
	if c.types&(1<<kindArray|1<<kindObject) == 0 {
		return of, len(of)
	}
	known := map[operand]uint32{}
	for code := codeValues; code < len(of); code++ {
		if code%checkValues == 0 && yield(ctx, code) != nil {
			break
		}
		v := c.values[code-codeValues]
		same := operand{v.kind, v.label()}
		if class, ok := known[same]; ok {
			of[code] = class
		} else {
			known[same] = of[code]
		}
	}
	return of, len(of)
}
