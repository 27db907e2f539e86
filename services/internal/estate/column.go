package estate

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/services/internal/lazy"
)

// MaxValues bounds the distinct values of a Column; it has the most frequent ones.
const MaxValues = 10_000

// A Column describes the values of one field in the records of an array.
type Column struct {
	Type     string // as in Detail
	Records  int    // records of the array
	Missing  int    // records without the field
	Null     int    // records with null
	Distinct int    // distinct strings, numbers and booleans
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

// newColumn returns a column with the values of c, whose interpretations are computed on first use.
func newColumn(c column) *column {
	c.public, c.groups, c.reading = lazy.New(c.describe), lazy.New(c.label), lazy.New(c.interpret)
	return &c
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
				if read++; read%checkValues == 0 && ctx.Err() != nil {
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
	l := labels{group: make([]uint32, codeValues+len(c.values)), keys: make([]string, 1, 1+len(c.values))}
	l.keys[0] = NullGroup
	groups := map[string]uint32{NullGroup: 0}
	single := c.single() // the labels are distinct
	group := func(label string) uint32 {
		g, ok := groups[label]
		if !ok {
			g = uint32(len(l.keys))
			l.keys = append(l.keys, groupKey(label))
			if !single {
				groups[label] = g
			}
		}
		return g
	}
	var last []uint32 // by group, 1 + the index of the last list with it
	for i, v := range c.values {
		if i%checkValues == 0 && ctx.Err() != nil {
			return labels{}, ctx.Err()
		}
		if !v.isList() {
			l.group[codeValues+i] = group(v.label())
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

// positions returns the paths of the elements if all values are lists of equal length, up to maxPositions, with
// elements of different types, such as the samples of Prometheus.
func (c *column) positions() (paths []string) {
	const maxPositions = 4
	length, kinds := -1, uint8(0)
	for _, v := range c.values {
		n := 0
		if v.kind == kindArray {
			for element := range value(v.text).elements() {
				kinds |= 1 << element.kind()
				n++
			}
		}
		if n == 0 || n > maxPositions || length >= 0 && n != length {
			return nil
		}
		length = n
	}
	if kinds >= 1<<kindNull || kinds&(kinds-1) == 0 {
		return nil
	}
	for i := range length {
		paths = append(paths, fmt.Sprintf("%s.%d", c.path, i))
	}
	return paths
}

// longest returns the size of the largest value, in bytes.
func (c *column) longest() (size int) {
	for _, v := range c.values {
		size = max(size, len(v.text))
	}
	return size
}

// classes returns labels without keys: the groups are different for different values, those of another type
// included. The result is incomplete if ctx is done.
func (c *column) classes(ctx context.Context) labels {
	k := labels{group: all(codeValues + len(c.values)), bound: codeValues + len(c.values)}
	if c.types&(1<<kindArray|1<<kindObject) == 0 {
		return k
	}
	numbers := map[operand]uint32{}
	class := func(v operand, number uint32) uint32 {
		if n, ok := numbers[v]; ok {
			return n
		}
		numbers[v] = number
		k.bound = max(k.bound, int(number)+1)
		return number
	}
	k.elements = map[uint32][]uint32{}
	for i, v := range c.values {
		if i%checkValues == 0 && ctx.Err() != nil {
			break
		}
		code := uint32(codeValues + i)
		if !v.isList() {
			k.group[code] = class(operand{v.kind, v.label()}, code)
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
		if i%checkValues == 0 && ctx.Err() != nil {
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
	return newColumn(column{path: path, types: types, nulls: c.nulls, values: values.list, codes: codes, rows: c.rows,
		gaps: true}), nil
}

// pick returns a column of the values of c: codeOf has its code for each code of left.
func (c *column) pick(path string, left *column, codeOf []uint32) *column {
	values := make([]entry, len(c.values))
	for i, v := range c.values {
		values[i].operand = v.operand
	}
	codes := make([]uint32, len(left.codes))
	nulls := 0
	for i, code := range left.codes {
		codes[i] = codeOf[code]
		switch {
		case codes[i] >= codeValues:
			values[codes[i]-codeValues].count++
		case codes[i] == codeNull:
			nulls++
		}
	}
	return newColumn(column{path: path, types: c.types, nulls: nulls, values: values, codes: codes, rows: left.rows,
		gaps: true})
}

// interpret returns the reading of the column: all its values are numbers, quantities of one family, or
// dates, in text too; otherwise only numbers have a number. Empty texts, and texts such as NaN or n/a that
// stand for no number, are no values here.
func (c *column) interpret(ctx context.Context) (reading, error) {
	const scalars = 1<<kindString | 1<<kindNumber | 1<<kindBoolean
	r := reading{kind: c.kindOf()}
	if c.types&(1<<kindNumber|1<<kindString) == 0 {
		return r, nil
	}
	uniform := c.types&scalars&(1<<kindBoolean) == 0 && c.types&(1<<kindArray|1<<kindObject) == 0
	if uniform && c.types&(1<<kindString) != 0 {
		for _, read := range []func(context.Context) (reading, bool){c.asNumbers, c.asQuantities, c.asDates} {
			if whole, ok := read(ctx); ok || ctx.Err() != nil {
				return whole, ctx.Err()
			}
		}
	}
	if uniform && c.types&(1<<kindString) == 0 && namesTime(c.path) {
		if whole, ok := c.asEpochs(); ok {
			return whole, nil
		}
	}
	if c.types&(1<<kindNumber) == 0 {
		return r, nil
	}
	r.numbers = make([]float64, len(c.values))
	for i, v := range c.values {
		if i%checkRows == 0 && ctx.Err() != nil {
			return r, ctx.Err()
		}
		r.numbers[i] = v.float()
	}
	return r, nil
}

// kindOf returns the interpretation by the kinds of the values alone.
func (c *column) kindOf() string {
	names := map[uint8]string{0: asNull, 1 << kindString: asText, 1 << kindNumber: asNumber, 1 << kindBoolean: asBoolean,
		1 << kindArray: asList, 1 << kindObject: asObject}
	if name, ok := names[c.types&^(1<<kindNull)]; ok {
		return name
	}
	return asMixed
}

// whole returns the reading in which every value that is not blank has the number that read returns.
func (c *column) whole(ctx context.Context, readAs string, read func(v operand) (float64, bool)) (reading, bool) {
	r := reading{kind: readAs, factor: 1, numbers: make([]float64, len(c.values))}
	some := false
	for i, v := range c.values {
		if i%checkValues == 0 && ctx.Err() != nil {
			return r, false
		}
		f, ok := read(v.operand)
		switch {
		case ok:
			some = true
			r.text = r.text || v.kind == kindString
		case !v.isBlank():
			return r, false
		default:
			f = math.NaN()
		}
		r.numbers[i] = f
	}
	return r, some
}

func (c *column) asNumbers(ctx context.Context) (reading, bool) {
	return c.whole(ctx, asNumber, operand.number)
}

func (c *column) asQuantities(ctx context.Context) (reading, bool) {
	for _, units := range families {
		unit, factor, named, plain := "", math.Inf(1), false, false
		r, ok := c.whole(ctx, asQuantity, func(v operand) (float64, bool) {
			number, name, ok := v.quantity()
			size, ofFamily := units[name]
			if !ok || !ofFamily {
				return 0, false
			}
			plain = plain || name == ""
			if named = named || name != ""; size < factor {
				unit, factor = name, size
			}
			return number * size, true
		})
		if !ok || !named {
			continue
		}
		for i := range r.numbers {
			r.numbers[i] = roundDigits(r.numbers[i] / factor)
		}
		if unit == "" && units["B"] > 0 {
			unit = "B"
		}
		r.unit, r.factor, r.units, r.plain = unit, factor, units, plain
		return r, true
	}
	return reading{}, false
}

func (c *column) asDates(ctx context.Context) (reading, bool) {
	times := make([]time.Time, len(c.values))
	i := -1
	r, ok := c.whole(ctx, asDate, func(v operand) (index float64, ok bool) {
		i++
		times[i], ok = parseTime(v)
		return float64(i), ok
	})
	if !ok {
		return r, false
	}
	order := all(len(times))
	slices.SortFunc(order, func(i, k uint32) int { return times[i].Compare(times[k]) })
	for _, i := range order {
		if r.numbers[i] != r.numbers[i] {
			continue // no date
		}
		if n := len(r.times); n == 0 || !r.times[n-1].Equal(times[i]) {
			r.times = append(r.times, times[i])
		}
		r.numbers[i] = float64(len(r.times) - 1)
	}
	return r, true
}

// asEpochs reads numbers of one unit as times. They stay numbers in metrics.
func (c *column) asEpochs() (reading, bool) {
	r := reading{kind: asDate, numbers: make([]float64, len(c.values))}
	least, most := math.Inf(1), math.Inf(-1)
	for i, v := range c.values {
		r.numbers[i] = v.float()
		if r.numbers[i] <= 0 {
			r.numbers[i] = math.NaN() // no time
			continue
		}
		if _, ok := epoch(v.operand); !ok {
			return r, false
		}
		least, most = min(least, r.numbers[i]), max(most, r.numbers[i])
	}
	return r, most > 0 && most/least < 1e3/2
}

// spellings returns the texts of the column that differ from a text in case, spaces and punctuation only, with
// their numbers of records.
func (c *column) spellings(o operand) (texts []string) {
	if o.kind != kindString || o.text == "" || len(o.text) > maxSampleString {
		return nil
	}
	folded := foldSpelling(o.text)
	for _, v := range c.values {
		if v.kind != kindString || v.text == o.text || len(v.text) > 2*len(o.text)+2 || 2*len(v.text)+2 < len(o.text) {
			continue
		}
		if len(texts) < maxNoteValues && foldSpelling(v.text) == folded {
			texts = append(texts, fmt.Sprintf("%s (%d)", quote([]byte(v.text)), v.count))
		}
	}
	return texts
}
