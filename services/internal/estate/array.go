package estate

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"cairn/services/internal/lazy"
)

// An array describes a data array: a JSON array at the top level or nested in objects only.
type array struct {
	key     string
	text    value
	starts  []uint32 // offsets of the elements in text
	objects int      // number of elements that are objects
	level   int      // number of names in the key
	profile *profile
	tree    *fieldTree // fields of the records; nil before reading and after profile is set

	mu      sync.Mutex
	columns map[string]*column  // by path, those read and cached
	offsets map[string]*offsets // by path, those of unread columns
}

// records yields the elements of a.
func (a *array) records() iter.Seq[value] {
	return func(yield func(value) bool) {
		for i, start := range a.starts {
			if !yield(a.text[start:a.end(i)]) {
				return
			}
		}
	}
}

// end returns the end of the i-th element, without the space, comma or bracket after it.
func (a *array) end(i int) int {
	if i+1 == len(a.starts) {
		return trimSpace(a.text, len(a.text)-1)
	}
	return trimSpace(a.text, trimSpace(a.text, int(a.starts[i+1]))-1)
}

func (a *array) sample(ctx context.Context) json.RawMessage {
	for element := range a.records() {
		s := sampler{ctx: ctx, left: maxSampleBytes}
		switch {
		case element.kind() == kindObject:
			s.add(element, 0)
		case a.objects > 0: // prefer the first object
			continue
		default:
			s.out = append(s.out, `{"`+ElementField+`":`...)
			s.add(element, 1)
			s.out = append(s.out, '}')
		}
		return s.out
	}
	return json.RawMessage("{}")
}

// scan finds one field in each record. The error is ctx.Err().
func (a *array) scan(ctx context.Context, path string) (*offsets, error) {
	var p offsets
	row := 0
	for record := range a.records() {
		if row%checkValues == 0 && yield(ctx, row) != nil {
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
		if i%checkValues == 0 && yield(ctx, i) != nil {
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
			if i%checkRows == 0 && yield(ctx, i) != nil {
				return nil, ctx.Err()
			}
			c.numbers[i] = v.float()
		}
	}
	c.public, c.groups = lazy.New(c.describe), lazy.New(c.label)
	return c, nil
}
