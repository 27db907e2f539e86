package estate

import (
	"context"
	"slices"

	"cairn/services/internal/lazy"
)

// offsets are the offsets of one field's values in the records of an array. Its column can
// be read from them without searching the records again.
type offsets struct {
	types uint8 // bit set of kinds
	nulls int
	at    []uint32 // offsets in the array's text
	rows  []uint32 // the records of the values; nil: the first ones
}

// count returns the number of records with a value other than null.
func (p *offsets) count() int { return len(p.at) - p.nulls }

func (p *offsets) size() int { return columnSize + 4*(cap(p.at)+cap(p.rows)) }

// add records that row has v, a slice of the array's text whose capacity extends to the
// end of the text.
func (p *offsets) add(a *array, row int, v value) {
	k := v.kind()
	p.types |= 1 << k
	if k == kindNull {
		p.nulls++
	}
	if p.rows == nil && row > len(p.at) { // the first gap
		p.rows = all(len(p.at))
	}
	if p.rows != nil {
		p.rows = append(p.rows, uint32(row))
	}
	p.at = append(p.at, uint32(cap(a.text)-cap(v)))
}

// all returns the numbers from 0 to n-1.
func all(n int) []uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

// Numbers of rows and values between checks of a loop's context. A value may be as large
// as the estate.
const (
	checkRows   = 1 << 14
	checkValues = 64
)

// column returns the column at path. It reads the column on first use, and caches it
// within the budget of the estate. The error is ctx.Err().
func (e *Estate) column(ctx context.Context, a *array, path string) (*column, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	c, p := a.columns[path], a.offsets[path]
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
	e.cacheColumn(a, path, c)
	return c, nil
}

// cacheColumn replaces the offsets of a path by its parsed column.
func (e *Estate) cacheColumn(a *array, path string, c *column) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := c.size() + len(path)
	if p := a.offsets[path]; p != nil {
		size -= p.size()
	}
	if a.columns[path] == nil && e.reserve(size) {
		a.columns[path] = c
		delete(a.offsets, path)
	}
}

// reserve takes size bytes of the budget for columns and reports whether the budget sufficed.
func (e *Estate) reserve(size int) bool {
	ok := e.columnBudget.Add(-int64(size)) >= 0
	if !ok {
		e.columnBudget.Add(int64(size))
	}
	return ok
}

// scan finds one field in each record. The error is ctx.Err().
func (a *array) scan(ctx context.Context, path string) (*offsets, error) {
	var p offsets
	row := 0
	for record := range a.records() {
		if row%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if v, ok := record.field(path); ok {
			p.add(a, row, v)
		}
		row++
	}
	return &p, nil
}

// read returns the column of the values at p. The error is ctx.Err().
func (a *array) read(ctx context.Context, p *offsets) (*column, error) {
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

// clip returns list without its spare capacity if that is more than an eighth.
func clip[T any](list []T) []T {
	if cap(list)-len(list) > len(list)/8 {
		return slices.Clip(slices.Clone(list))
	}
	return list
}
