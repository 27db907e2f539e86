package estate

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// An array describes a data array: a JSON array, a map of records or a sequence, at the top level or nested in
// objects only, or the elements of a field of another array's records.
type array struct {
	key     string
	level   int  // number of names in the key
	bytes   int  // of its text; 0 if it is derived
	count   int  // number of elements
	objects int  // number of elements that are objects
	isMap   bool // the elements are the members of an object
	inMap   bool // an array inside a member of a map, whose records the map has too

	unlisted bool // an array of scalars inside records

	derived *derivation // nil outside of records
	records *records    // nil for a derived array
	cached  atomic.Pointer[records]

	profile *profile
	tree    *fieldTree // fields of the records; nil before reading and after profile is set
}

// A derivation describes the records of a derived array: the elements of a field of the parent's records,
// recursively if recursive is set, and those of other arrays.
type derivation struct {
	parent    *array
	field     string
	recursive bool   // the records of parent, and the elements of the field at all depths
	siblings  *array // records that precede those of the field; nil: none
	ambiguous bool   // several names are read as the path of the field
	values    int    // number of values of all fields
}

func newArray(key string, text value, level int) *array {
	return &array{key: key, level: level, records: newRecords(text)}
}

// add adds the element at i.
func (a *array) add(text value, i int) {
	a.records.starts = append(a.records.starts, uint32(i))
	if i < len(text) && text[i] == '{' { // the text may end here
		a.objects++
	}
}

// noRecord is the offset of an ancestor that a record does not have.
const noRecord = math.MaxUint32

// ancestorLevels is the number of ancestors by which a record has fields of its parents.
const ancestorLevels = 4

// records are the elements of an array, and the fields read from them.
type records struct {
	text   value    // of the estate
	starts []uint32 // offsets of the elements in text
	// ancestors has the offsets of the enclosing records, the nearest first, or noRecord.
	ancestors [][]uint32
	unique    bool // no object has two members of one name

	mu      sync.Mutex
	columns map[string]*column  // by path, those read and cached
	offsets map[string]*offsets // by path, those of unread columns
}

func newRecords(text value) *records {
	return &records{text: text, columns: map[string]*column{}, offsets: map[string]*offsets{}}
}

// at returns the value at an offset.
func (r *records) at(i uint32) value { return r.text[i:skip(r.text, int(i))] }

func (r *records) size() int {
	return 4*cap(r.starts) + 4*len(r.ancestors)*cap(r.starts)
}

// located reports whether the offsets of fields are kept.
func (r *records) located() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.offsets) > 0
}

// scan finds a field in each of the values at starts, which are the records or their
// ancestors. Consecutive equal ancestors are read once. The error is ctx.Err().
func (r *records) scan(ctx context.Context, starts []uint32, path string) (*offsets, error) {
	var p offsets
	last, v, ok := uint32(noRecord), value(nil), false
	for row, start := range starts {
		if row%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if start != last {
			last, v, ok = start, nil, false
			if start != noRecord {
				v, ok = r.field(int(start), path)
			}
		}
		if ok {
			p.add(r.text, row, v)
		}
	}
	return &p, nil
}

// find returns the offsets of the values of a field of the records. The error is ctx.Err().
func (r *records) find(ctx context.Context, path string) (*offsets, error) {
	r.mu.Lock()
	p := r.offsets[path]
	r.mu.Unlock()
	if p != nil {
		return p, nil
	}
	return r.scan(ctx, r.starts, path)
}

// locate is find; a field that the records do not have is one of the enclosing records if its path begins with
// parent.
func (r *records) locate(ctx context.Context, a *array, path string) (p *offsets, err error) {
	rest, ok := strings.CutPrefix(path, parentPrefix)
	if !ok || len(r.ancestors) == 0 || a.mayHave(path) {
		if p, err = r.find(ctx, path); err != nil || len(p.starts) > 0 || !ok {
			return p, err
		}
	}
	p = &offsets{}
	for level := 0; ok && level < len(r.ancestors) && len(p.starts) == 0; level++ {
		if p, err = r.scan(ctx, r.ancestors[level], rest); err != nil {
			return nil, err
		}
		rest, ok = strings.CutPrefix(rest, parentPrefix)
	}
	return p, nil
}

// parentPrefix begins the path of a field of the enclosing record.
const parentPrefix = "parent."

// mayHave reports whether the records may have a field at path.
func (a *array) mayHave(path string) bool {
	return a.profile == nil || a.profile.cut || slices.ContainsFunc(a.profile.fields, func(f Field) bool {
		return path == f.Path || strings.HasPrefix(path, f.Path+".")
	})
}

// Names of the field that contains the name of a map's member. A member of the record with the
// first name takes precedence.
const (
	keyField  = "key"
	keyAlways = "key()"
)

// field returns the value at path in the record at start.
func (r *records) field(start int, path string) (value, bool) {
	if v, ok := r.text[start:].field(path, r.unique); ok {
		return v, true
	}
	if path == keyField || path == keyAlways {
		if name := nameBefore(r.text, start); name != nil {
			return name, true
		}
	}
	return nil, false
}

// read returns the column of the values at p. The error is ctx.Err().
func (r *records) read(ctx context.Context, path string, p *offsets) (*column, error) {
	var values dictionary
	codes := make([]uint32, len(p.starts))
	for i, offset := range p.starts {
		if i%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if v := r.at(offset); v.kind() == kindNull {
			codes[i] = codeNull
		} else {
			codes[i] = codeValues + uint32(values.add(v, 1))
		}
	}
	return newColumn(column{path: path, types: p.types, nulls: p.nulls, values: clip(values.list), codes: codes,
		rows: p.rows}), nil
}

// isInside reports whether the records of a are inside those of b, or are also those of a.
func (a *array) isInside(b *array) bool {
	return a.derived != nil && (a.derived.parent == b || a.derived.siblings == b || a.derived.parent.isInside(b))
}

// ownFields returns the fields of the records, and the name of a map's members.
func (a *array) ownFields() []Field {
	if !a.isMap {
		return a.profile.fields
	}
	key := Field{Path: keyField, Types: typeNames(1 << kindString), Count: a.count}
	if slices.ContainsFunc(a.profile.fields, func(f Field) bool { return f.Path == keyField }) {
		key.Path = keyAlways
	}
	return append([]Field{key}, a.profile.fields...)
}

// fields returns the fields of the records and the scalar fields of the enclosing records.
func (a *array) fields() []Field {
	fields := a.ownFields()
	if a.derived == nil {
		return fields
	}
	fields = slices.Clip(fields)
	parents := 0
	for _, f := range a.derived.parent.fields() {
		deep := strings.Count(f.Path, parentPrefix) >= ancestorLevels
		if typeBits(f.Types)&(1<<kindArray|1<<kindObject) == 0 && parents < maxParentFields && !deep {
			parents++
			fields = append(fields, Field{Path: parentPrefix + f.Path, Types: f.Types, Count: min(f.Count, a.count)})
		}
	}
	return fields
}

// paths returns the paths of the fields.
func (a *array) paths() []string {
	fields := a.fields()
	paths := make([]string, len(fields))
	for i, f := range fields {
		paths[i] = f.Path
	}
	return paths
}

// bounded returns the paths of the fields within the bounds of a Schema.
func (a *array) bounded() []string {
	paths := a.paths()
	n, size := 0, 0
	for n < len(paths) && n < maxSchemaFields && size+len(paths[n]) <= maxSchemaBytes {
		size += len(paths[n])
		n++
	}
	if omitted := a.profile.omitted(len(paths) - n); omitted != "" {
		return append(paths[:n:n], omitted)
	}
	return paths
}

// sample returns the first record, abbreviated, or the first one that is an object.
func (a *array) sample(ctx context.Context, r *records) json.RawMessage {
	for _, start := range r.starts {
		element, s := r.text[start:], sampler{ctx: ctx, left: maxSampleBytes}
		switch {
		case element.kind() == kindObject:
			s.add(element, 0)
		case a.objects > 0: // prefer the first object
			continue
		default:
			s.out = append(s.out, `{"`+ElementField+`":`...)
			s.add(r.at(start), 1)
			s.out = append(s.out, '}')
		}
		return s.out
	}
	return json.RawMessage("{}")
}

// chain returns the ancestors of a record, the nearest first.
func (r *records) chain(row int) []uint32 {
	chain := make([]uint32, len(r.ancestors))
	for level, starts := range r.ancestors {
		chain[level] = starts[row]
	}
	return chain
}

// isRecursion reports whether the elements of a field are records of the array itself.
func (a *array) isRecursion(field string) bool {
	return a.derived != nil && a.derived.recursive && a.derived.field == field
}

// isInexact reports whether the numbers of records and values are known only when the records are built.
func (a *array) isInexact() bool {
	return a.derived != nil && (a.derived.recursive || a.derived.ambiguous || a.derived.parent.isInexact())
}

// rank orders arrays in listings: those with records, then the others, then those whose records a map has.
func (a *array) rank() int {
	switch {
	case a.inMap:
		return 2
	case a.objects == 0 && a.derived == nil:
		return 1
	default:
		return 0
	}
}
