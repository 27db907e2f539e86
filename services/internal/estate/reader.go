package estate

import (
	"context"
	"errors"
	"math"
	"slices"
)

// Memory grants the memory of computations. It need not be safe for concurrent use.
type Memory interface {
	// Acquire reserves bytes and reports whether they were granted.
	Acquire(bytes int64) bool
	Release(bytes int64)
}

// ErrMemory reports that a computation needs more memory than is available.
var ErrMemory = errors.New("the computation needs more memory than is available")

type memoryKey struct{}

// WithMemory returns a context whose computations take their memory from m. Without it they are unbounded.
// What an estate caches is part of its Size.
func WithMemory(ctx context.Context, m Memory) context.Context {
	return context.WithValue(ctx, memoryKey{}, m)
}

// A reader reads arrays and columns for one computation. It holds the memory of those that the estate does not
// cache until it is closed.
type reader struct {
	estate  *Estate
	memory  Memory // nil: unbounded
	held    int64
	derived map[*array]*records
	columns map[columnID]*column
	notes   []string // about other arrays
}

type columnID struct {
	array *array
	path  string
}

func newReader(ctx context.Context, e *Estate) *reader {
	m, _ := ctx.Value(memoryKey{}).(Memory)
	return &reader{estate: e, memory: m, derived: map[*array]*records{}, columns: map[columnID]*column{}}
}

// acquire reserves bytes until close. The error is ErrMemory.
func (x *reader) acquire(bytes int) error {
	if x.memory == nil {
		return nil
	}
	if !x.memory.Acquire(int64(bytes)) {
		return ErrMemory
	}
	x.held += int64(bytes)
	return nil
}

func (x *reader) release(bytes int) {
	if x.memory != nil {
		x.memory.Release(int64(bytes))
		x.held -= int64(bytes)
	}
}

func (x *reader) close() { x.release(int(x.held)) }

// records returns the records of an array. It reads those of a derived array on first use, and caches them within
// the budget of the estate. The error is ErrMemory or ctx.Err().
func (x *reader) records(ctx context.Context, a *array) (*records, error) {
	if a.derived == nil {
		return a.records, nil
	}
	if r := a.cached.Load(); r != nil {
		return r, nil
	}
	if r := x.derived[a]; r != nil {
		return r, nil
	}
	need := 4 * (1 + ancestorLevels) * a.count
	if err := x.acquire(need); err != nil {
		return nil, err
	}
	r, err := x.build(ctx, a)
	if err != nil {
		return nil, err
	}
	if size := r.size(); !x.estate.reserve(size) {
		x.derived[a] = r
		return r, nil
	} else if !a.cached.CompareAndSwap(nil, r) {
		x.estate.columnBudget.Add(int64(size))
	}
	x.release(need)
	return a.cached.Load(), nil
}

// locateFields reads the offsets of all fields of a derived array in one pass, and keeps those for which the
// budget of the estate suffices. The error is ErrMemory or ctx.Err().
func (x *reader) locateFields(ctx context.Context, a *array) error {
	r, err := x.records(ctx, a)
	if err != nil || a.derived == nil || r.located() {
		return err
	}
	const offsetSize = 2 * 4 // of a value and its record
	if err := x.acquire(offsetSize * a.derived.values); err != nil {
		return err
	}
	t := readFields(ctx, a, r, fieldBound(x.estate))
	if t == nil {
		return ctx.Err()
	}
	x.estate.keepOffsets(r, newLister(len(r.starts), &t.root))
	return nil
}

// acquireLists reserves the memory for the elements of the lists of a column, as groups and as values.
func (x *reader) acquireLists(c *column) error {
	if c.types&(1<<kindArray) == 0 {
		return nil
	}
	elements := 0
	for _, v := range c.values {
		if v.kind == kindArray {
			elements += len(v.text) / 2 // an element has at least a byte and a separator
		}
	}
	return x.acquire((entrySize + groupSize + valueSize) * elements / 2)
}

// Sizes in bytes of a value while its column is read: the entry of its dictionary with room to grow, and its slots.
const readingSize = 2*entrySize + 24

// column returns the column at path. It reads the column on first use, and caches it
// within the budget of the estate. The error is ErrMemory or ctx.Err().
func (x *reader) column(ctx context.Context, a *array, path string) (*column, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id := columnID{a, path}
	if c := x.columns[id]; c != nil {
		return c, nil
	}
	r, err := x.records(ctx, a)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	c := r.columns[path]
	r.mu.Unlock()
	if c != nil {
		return c, nil
	}
	p, err := r.locate(ctx, a, path)
	if err != nil {
		return nil, err
	}
	if len(p.starts) == 0 {
		if c, err = x.part(ctx, a, path); c != nil || err != nil {
			return c, err
		}
	}
	need := readingSize * len(p.starts)
	if err := x.acquire(need); err != nil {
		return nil, err
	}
	if c, err = r.read(ctx, path, p); err != nil {
		return nil, err
	}
	x.release(need)
	if !x.cache(r, path, c) {
		err = x.acquire(c.size())
	}
	x.columns[id] = c
	return c, err
}

// part returns the column of a part of the values at path, such as time:year; nil if path names no part.
func (x *reader) part(ctx context.Context, a *array, path string) (*column, error) {
	base, part := cutPart(path)
	if part == nil {
		return nil, nil
	}
	whole, err := x.column(ctx, a, base)
	if err != nil {
		return nil, err
	}
	if err := x.acquire(readingSize * len(whole.values)); err != nil {
		return nil, err
	}
	c, err := whole.transform(ctx, path, part)
	if err == nil {
		x.columns[columnID{a, path}] = c
	}
	return c, err
}

// cache replaces the offsets of a path by its column if the budget of the estate suffices.
func (x *reader) cache(r *records, path string, c *column) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := c.size() + len(path)
	if p := r.offsets[path]; p != nil {
		size -= p.size()
	}
	if r.columns[path] != nil || !x.estate.reserve(size) {
		return false
	}
	r.columns[path] = c
	delete(r.offsets, path)
	return true
}

// maxEntries bounds the pairs of a record and a group: a record has a pair for each
// combination of the elements of its lists. All elements of one field are fewer.
func (x *reader) maxEntries() int { return max(64<<10, len(x.estate.text)/2) }

// detail describes a field.
func (x *reader) detail(ctx context.Context, a *array, f Field) (Detail, error) {
	d := Detail{Name: f.Path, Share: Number(math.Round(float64(f.Count)/float64(max(1, a.count))*1e4) / 1e4)}
	c, err := x.column(ctx, a, f.Path)
	if err != nil {
		return d, err
	}
	r, err := c.reading.Get(ctx)
	if err != nil {
		return d, err
	}
	if err := x.acquireLists(c); err != nil {
		return d, err
	}
	public, err := c.public.Get(ctx)
	if err != nil {
		return d, err
	}
	values, distinct := public.Values, public.Distinct
	if r.kind == asList {
		values, distinct = public.Elements, public.DistinctElements
	}
	d.Type, d.Unit, d.Distinct, d.Positions = r.kind, r.unit, distinct, c.positions()
	if len(values) <= maxFew {
		for _, v := range values {
			d.Values = append(d.Values, ValueCount{v.Text, v.Count})
		}
		return d, nil
	}
	for _, v := range values[:examples] {
		d.Examples = append(d.Examples, string(truncate([]byte(v.Text), maxExample)))
	}
	return d, nil
}

// references returns the text fields of an array all of whose values are names of the records of another array.
func (x *reader) references(ctx context.Context, a *array, details []Detail) (references []Reference, err error) {
	arrays := x.estate.listed()
	for _, target := range arrays[:min(len(arrays), maxReferenceArrays)] {
		if target == a || target.isInside(a) || a.isInside(target) {
			continue
		}
		names := nameField(target)
		c, err := x.column(ctx, target, names)
		if err != nil {
			return nil, err
		}
		if c.types&(1<<kindString) == 0 || len(c.values) < 2 || 10*len(c.values) < 9*target.count {
			continue // it does not identify the records
		}
		identities := make(map[operand]bool, len(c.values))
		for _, v := range c.values {
			identities[v.operand] = true
		}
		for _, d := range details {
			if d.Type != asText || d.Distinct < 2 || len(references) == maxReferences {
				continue
			}
			own, err := x.column(ctx, a, d.Name)
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(own.values, func(v entry) bool { return !identities[v.operand] }) {
				references = append(references, Reference{d.Name, target.key, names})
			}
		}
	}
	return references, nil
}

// build returns the records of a derived array.
func (x *reader) build(ctx context.Context, a *array) (*records, error) {
	d := a.derived
	parent, err := x.records(ctx, d.parent)
	if err != nil {
		return nil, err
	}
	b := builder{ctx: ctx, array: a, records: newRecords(parent.text)}
	b.unique = parent.unique
	levels := min(len(parent.ancestors)+1, ancestorLevels)
	if d.recursive {
		levels = ancestorLevels
	}
	b.ancestors = make([][]uint32, levels)
	if d.siblings != nil {
		siblings, err := x.records(ctx, d.siblings)
		if err != nil {
			return nil, err
		}
		for row, start := range siblings.starts {
			b.add(start, siblings.chain(row))
		}
	}
	if d.recursive {
		for row, start := range parent.starts {
			if err := b.descend(start, parent.chain(row), 0); err != nil {
				return nil, err
			}
		}
		return b.records, nil
	}
	p, err := parent.find(ctx, d.field)
	if err != nil {
		return nil, err
	}
	for i, start := range p.starts {
		row := i
		if p.rows != nil {
			row = int(p.rows[i])
		}
		if err := b.elements(start, append([]uint32{parent.starts[row]}, parent.chain(row)...)); err != nil {
			return nil, err
		}
	}
	return b.records, nil
}
