package estate

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"cairn/services/internal/lazy"
)

// MaxValues is how many distinct values a Column holds; of more, the most
// frequent.
const MaxValues = 10_000

// A Column is the values that the records of an array have in one field.
type Column struct {
	Path     string
	Records  int // all of the array
	Missing  int // records without the field
	Null     int // records where it is null
	Distinct int // distinct strings, numbers and booleans
	// Values are the strings, numbers and booleans, the most frequent first,
	// then in order of appearance.
	Values []Value
	// Elements are the strings, numbers and booleans inside of array values,
	// counted per element; the filter operator contains finds them.
	Elements []Value
}

// A Value is a distinct value and how often it is there.
type Value struct {
	Text  string // as the group it makes is called
	Type  string // string, number or boolean
	Count int
}

// JSON is the value as a filter wants it.
func (v Value) JSON() json.RawMessage {
	if v.Type == kindNames[kindString] {
		return quote([]byte(v.Text))
	}
	return json.RawMessage(v.Text)
}

func (v Value) operand() operand { return newOperand(value(v.JSON())) }

// Column returns the values of the field at path. A field that no record has
// gives a column without values. The error is an *UnknownKeyError or that of
// ctx. The caller must not change the result.
func (e *Estate) Column(ctx context.Context, key, path string) (Column, error) {
	a, err := e.find(key)
	if err != nil {
		return Column{}, err
	}
	col, err := e.column(ctx, a, path)
	if err != nil {
		return Column{}, err
	}
	public, err := col.public.Get(ctx)
	if err != nil {
		return Column{}, err
	}
	c := *public
	c.Path, c.Records, c.Missing = path, len(a.starts), len(a.starts)-c.Missing
	return c, nil
}

// The codes of a column's values; the further ones are 2 + a place in values.
const (
	codeMissing = iota
	codeNull
	codeValues
)

// A column is one field of an array's records: each record has a code, each
// code stands for a distinct value.
type column struct {
	types   uint8 // a bit for each kind
	nulls   int
	values  []entry
	codes   []uint32
	rows    []uint32             // the records that have the codes; nil when they are the first
	numbers []float64            // of values, NaN where it is none; nil when there are no numbers
	public  *lazy.Value[*Column] // the column as callers see it
	groups  *lazy.Value[labels]
}

// float is the number as far as a float64 holds it, else NaN.
func (o operand) float() float64 {
	if o.kind == kindNumber {
		if f, err := strconv.ParseFloat(o.text, 64); err == nil {
			return f
		}
	}
	return math.NaN()
}

// describe counts; Missing is for the caller to take from all records.
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
				if read++; read%checkValues == 0 && ctx.Err() != nil {
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

// dense is the code of each of n records. The caller must not change it.
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

// single says whether all values are of one kind, and scalars: then no two have
// the same label.
func (c *column) single() bool {
	kinds := c.types &^ (1 << kindNull)
	return kinds&(kinds-1) == 0 && kinds < 1<<kindNull
}

// Sizes in bytes of what is kept of a value besides its text, which the context
// holds: in the dictionary, as a group, and as callers see it.
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
			size += len(v.text) // as it is written as a group
		}
		if v.kind == kindArray {
			elements += len(v.text) / 2 // each has a byte and a comma or bracket at least
		}
	}
	return size + valueSize*min(elements, MaxValues)
}
