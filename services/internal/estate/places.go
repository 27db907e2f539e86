package estate

import (
	"context"
	"slices"

	"cairn/services/internal/lazy"
)

// places is where the records of an array have the values of one field: what it
// takes to read its column without looking for the field again.
type places struct {
	types uint8 // a bit for each kind
	nulls int
	at    []uint32 // in the array's text
	rows  []uint32 // the records that have the values; nil when they are the first
}

// count is how many records have a value that is not null.
func (p *places) count() int { return len(p.at) - p.nulls }

func (p *places) size() int { return columnSize + 4*(cap(p.at)+cap(p.rows)) }

// see notes that the record has v, which shares the memory of the array's text
// to the end of it.
func (p *places) see(a *array, row int, v value) {
	k := v.kind()
	p.types |= 1 << k
	if k == kindNull {
		p.nulls++
	}
	if p.rows == nil && row > len(p.at) { // The first gap.
		p.rows = all(len(p.at))
	}
	if p.rows != nil {
		p.rows = append(p.rows, uint32(row))
	}
	p.at = append(p.at, uint32(cap(a.text)-cap(v)))
}

// all are the numbers of the first n records.
func all(n int) []uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

// The numbers of rows, and of values, after which loops check their context. A
// value may be as large as the estate.
const (
	checkRows   = 1 << 14
	checkValues = 64
)

// column returns the column at path. It is read when it is asked for first, and
// kept while there is room. The error is that of ctx.
func (e *Estate) column(ctx context.Context, a *array, path string) (*column, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	c, p := a.columns[path], a.places[path]
	a.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if p == nil {
		var err error
		if p, err = a.scan(ctx, path); err != nil {
			return nil, err
		}
	}
	c, err := a.read(ctx, p)
	if err != nil {
		return nil, err
	}
	e.keep(a, path, c)
	return c, nil
}

// keep keeps the column in place of its places.
func (e *Estate) keep(a *array, path string, c *column) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := c.size() + len(path)
	if p := a.places[path]; p != nil {
		size -= p.size()
	}
	if a.columns[path] == nil && e.reserve(size) {
		a.columns[path] = c
		delete(a.places, path)
	}
}

// reserve takes so many bytes of what columns may yet take, if there are.
func (e *Estate) reserve(size int) bool {
	ok := e.left.Add(-int64(size)) >= 0
	if !ok {
		e.left.Add(int64(size))
	}
	return ok
}

// scan finds the one field in each record. The error is that of ctx.
func (a *array) scan(ctx context.Context, path string) (*places, error) {
	var p places
	row := 0
	for record := range a.records() {
		if row%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if v, ok := record.field(path); ok {
			p.see(a, row, v)
		}
		row++
	}
	return &p, nil
}

// read makes the column of the values at p, unless ctx ends.
func (a *array) read(ctx context.Context, p *places) (*column, error) {
	var values dictionary
	codes := make([]uint32, len(p.at))
	for i, at := range p.at {
		if i%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if v := a.text[at:skip(a.text, int(at))]; v.kind() == kindNull {
			codes[i] = codeNull
		} else {
			codes[i] = codeValues + uint32(values.add(v, 1))
		}
	}
	c := &column{types: p.types, nulls: p.nulls, values: clip(values.list), codes: codes, rows: p.rows}
	if p.types&(1<<kindNumber) != 0 {
		c.numbers = make([]float64, len(c.values))
		for i, v := range c.values {
			if i%checkRows == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			c.numbers[i] = v.float()
		}
	}
	c.public, c.groups = lazy.New(c.describe), lazy.New(c.label)
	return c, nil
}

// clip is list without the room it has to grow, when that is much.
func clip[T any](list []T) []T {
	if cap(list)-len(list) > len(list)/8 {
		return slices.Clip(slices.Clone(list))
	}
	return list
}
