// Package estate holds an estate, JSON text of up to 10 MiB, and computes on it: Inspect
// returns the schema of a data array, Stats aggregates its records. SplitBody splits the
// request body that carries the estate.
//
// The text is not decoded. Read validates it and records the offsets of the arrays and their
// records (find.go), reads the names in the records with the offsets of their values
// (fieldtree.go), and derives from the names the arrays inside records (nested.go), whose
// records are read on first use (reader.go). The first access to a field reads it into a column:
// a dictionary of the distinct values, and for each record the code of its value, with codes for
// null and missing. A column has a reading (reading.go): all values are numbers, quantities or
// dates, in text too. Stats (query.go, computation.go) computes on codes; expensive steps, such as a
// filter, run once per distinct value.
package estate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// BareKey is the key of a top-level array.
const BareKey = "items"

// ElementField is the field name of elements that are not objects.
const ElementField = "value"

// maxText keeps offsets within 32 bits.
const maxText = 1 << 30

// maxListed bounds the keys or fields listed in an error or a note.
const maxListed = 100

// An Estate is a parsed estate. It is safe for concurrent use.
type Estate struct {
	text   value
	arrays []*array // those with objects first, each in document order
	byKey  map[string]*array
	cut    bool // the text has more arrays than maxArrays
	size   int

	columnBudget atomic.Int64 // bytes that columns may still reserve
}

// Parse is Read without a context.
func Parse(text []byte) (*Estate, error) { return Read(context.Background(), text) }

// parse validates text and finds the arrays outside of records. It calls report with each array as soon
// as it is validated. Some of them may not become part of the estate.
func parse(text []byte, report func(*array)) (*Estate, error) {
	f := finder{scanner: scanner{text: text}, report: report}
	if len(text) > maxText {
		f.fail(0, "expected at most 1 GiB")
		return nil, f.err
	}
	if err := f.document(); err != nil {
		return nil, withHint(f.err, text)
	}
	if !utf8.Valid(text) {
		return parse(valid(text), report)
	}
	e := &Estate{text: text, cut: f.cut, byKey: make(map[string]*array, len(f.arrays))}
	e.setArrays(slices.DeleteFunc(f.arrays, func(a *array) bool { return a == nil }))
	e.columnBudget.Store(int64(columnShare(len(text))))
	return e, nil
}

// setArrays sets the arrays outside of records.
func (e *Estate) setArrays(arrays []*array) {
	for _, a := range arrays {
		// An ambiguous key such as a.b denotes the array whose name contains the dot.
		if b := e.byKey[a.key]; b == nil || a.level < b.level {
			e.byKey[a.key] = a
		}
	}
	e.arrays = slices.DeleteFunc(arrays, func(a *array) bool { return e.byKey[a.key] != a })
}

// arraySize is the approximate size of an array besides its key, in bytes.
const arraySize = 400

func (e *Estate) setSize() {
	e.size = cap(e.text) + columnShare(len(e.text))
	for _, a := range e.arrays {
		e.size += arraySize + 2*len(a.key) + fieldsSize(e, a)
		if a.derived == nil {
			e.size += 4 * cap(a.records.starts)
		}
	}
}

// Keys returns the dotted paths of the data arrays: first the arrays with records, each followed by the arrays
// inside its records, then empty arrays and arrays of other values, in document order. Arrays of scalars inside
// records are not listed, but have keys too.
func (e *Estate) Keys() []string {
	keys := make([]string, 0, len(e.arrays))
	for _, a := range e.listed() {
		keys = append(keys, a.key)
	}
	return keys
}

func (e *Estate) listed() []*array {
	return slices.DeleteFunc(slices.Clone(e.arrays), func(a *array) bool { return a.unlisted })
}

// Has reports whether the estate has an array with the key.
func (e *Estate) Has(key string) bool { return e.byKey[key] != nil }

// Count returns the number of elements of the array; 0 for an unknown key.
func (e *Estate) Count(key string) int {
	if a := e.byKey[key]; a != nil {
		return a.count
	}
	return 0
}

// Size returns the approximate memory in bytes that the estate may take. It is constant.
func (e *Estate) Size() int { return e.size }

func (e *Estate) find(key string) (*array, error) {
	if a := e.byKey[key]; a != nil {
		return a, nil
	}
	keys := e.Keys()
	return nil, &UnknownKeyError{Key: key, Available: keys, nearest: nearest(key, keys)}
}

// Column returns the values of the field at path. A field that no record has yields a
// column without values. It takes no Memory. The error is an *UnknownKeyError or ctx.Err(). The caller must
// not modify the result.
func (e *Estate) Column(ctx context.Context, key, path string) (Column, error) {
	a, err := e.find(key)
	if err != nil {
		return Column{}, err
	}
	x := newReader(ctx, e)
	x.memory = nil
	col, err := x.column(ctx, a, path)
	if err != nil {
		return Column{}, err
	}
	public, err := col.public.Get(ctx)
	if err != nil {
		return Column{}, err
	}
	r, err := col.reading.Get(ctx)
	if err != nil {
		return Column{}, err
	}
	c := *public
	c.Records, c.Missing, c.Type = a.count, a.count-c.Missing, r.kind
	return c, nil
}

// Fields returns the fields of the records of the array in order of appearance, an object
// before its members. It returns up to 1,000, fewer in an estate of more than 50 arrays, and none for
// an unknown key. The caller must not modify the result.
func (e *Estate) Fields(key string) []Field {
	a := e.byKey[key]
	if a == nil {
		return nil
	}
	return a.ownFields()
}

// reserve takes size bytes of the budget for columns and reports whether the budget sufficed.
func (e *Estate) reserve(size int) bool {
	ok := e.columnBudget.Add(-int64(size)) >= 0
	if !ok {
		e.columnBudget.Add(int64(size))
	}
	return ok
}

// Stats computes q. The error is an *UnknownKeyError for an unknown array, ctx.Err(), or
// an error that describes valid metrics, operators or operands. A field that no record
// has is not an error: its records have the group "null", and Note reports it.
//
// Records are grouped by label: numbers in their shortest form with all digits of
// integers, arrays and objects as compact JSON. The number 1 and the string "1" share the
// group "1"; null, a missing value and the string "null" share the group "null".
// GroupCount counts the labels of values, without null and missing.
func (e *Estate) Stats(ctx context.Context, q Query) (Stats, error) {
	return compute(ctx, e, q, MaxGroups)
}

// UnknownKeyError reports that the estate has no such data array.
type UnknownKeyError struct {
	Key       string
	Available []string
	nearest   []string
}

// Error returns a message with the nearest keys, without the available ones, which may be many.
func (e *UnknownKeyError) Error() string {
	text := fmt.Sprintf("no data array %q in the context", string(truncate([]byte(e.Key), maxKeyBytes)))
	if len(e.nearest) > 0 {
		text += "; did you mean " + strings.Join(e.nearest, " or ") + "?"
	}
	return text
}

// MarshalJSON returns the tool result from which a model can correct its call: the error
// and up to 100 available keys.
func (e *UnknownKeyError) MarshalJSON() ([]byte, error) {
	result := struct {
		Error     string   `json:"error"`
		Available []string `json:"available"`
	}{e.Error(), e.Available}
	if rest := len(e.Available) - maxListed; rest > 0 {
		result.Available = e.Available[:maxListed]
		result.Error += fmt.Sprintf("; %d more are available than listed", rest)
	}
	if result.Available == nil {
		result.Available = []string{}
	}
	return json.Marshal(result)
}

// list joins up to maxListed names with commas.
func list(names []string) string {
	if rest := len(names) - maxListed; rest > 0 {
		return fmt.Sprintf("%s, … %d more", strings.Join(names[:maxListed], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// Contents returns the data arrays, at most 1,000.
func (e *Estate) Contents() Contents {
	c := Contents{Available: []string{}, Arrays: []Listing{}}
	arrays := e.listed()
	for _, a := range arrays[:min(MaxGroups, len(arrays))] {
		c.Available = append(c.Available, a.key)
		c.Arrays = append(c.Arrays, Listing{a.key, a.count})
	}
	switch rest := len(arrays) - len(c.Arrays); {
	case rest > 0:
		c.Note = fmt.Sprintf("%d more arrays are not listed", rest)
	case len(arrays) == 0:
		c.Note = e.whyEmpty()
	case e.cut:
		c.Note = "some arrays are too many or nested too deeply to be listed"
	}
	return c
}

// whyEmpty explains why the estate has no data array.
func (e *Estate) whyEmpty() string {
	v := value(bytes.TrimSpace(bytes.TrimPrefix(e.text, []byte(byteOrderMark))))
	switch v.kind() {
	case kindObject:
		var names []string
		for name := range v.members() {
			if names = append(names, string(truncate(name, maxExample))); len(names) > maxNoteValues {
				break
			}
		}
		if len(names) == 0 {
			return "the JSON is an empty object"
		}
		return "the JSON is one object without an array and without a map of like objects; its members are " +
			strings.Join(names, ", ")
	default:
		return "the JSON is a " + kindNames[v.kind()] + ", not an array or an object with arrays"
	}
}

// Inspect returns the schema of the array. The error is an *UnknownKeyError, ErrMemory or ctx.Err().
func (e *Estate) Inspect(ctx context.Context, key string) (Schema, error) {
	a, err := e.find(key)
	if err != nil {
		return Schema{}, err
	}
	x := newReader(ctx, e)
	defer x.close()
	r, err := x.records(ctx, a)
	if err != nil {
		return Schema{}, err
	}
	if err := x.locateFields(ctx, a); err != nil {
		return Schema{}, err
	}
	s := Schema{Fields: a.bounded(), Count: a.count, Sample: a.sample(ctx, r)}
	own := a.ownFields()
	for size := 0; len(s.Details) < min(len(own), maxSchemaFields) && size < maxDetailBytes; {
		d, err := x.detail(ctx, a, own[len(s.Details)])
		if err != nil {
			return Schema{}, err
		}
		s.Details = append(s.Details, d)
		size += d.size()
	}
	if omitted := a.profile.omitted(len(own) - len(s.Details)); omitted != "" {
		s.Details = append(s.Details, Detail{Name: omitted})
	}
	for _, inner := range e.listed() {
		if inner.derived != nil && inner.derived.parent == a {
			s.Arrays = append(s.Arrays, Listing{inner.key, inner.count})
		}
	}
	s.NameField = nameField(a)
	s.References, err = x.references(ctx, a, s.Details)
	return s, err
}

// readFields builds the profiles of the arrays outside of records.
func (e *Estate) readFields(ctx context.Context) error {
	bySize := slices.SortedStableFunc(slices.Values(e.arrays), func(a, b *array) int {
		return cmp.Compare(b.bytes, a.bytes)
	})
	workers := 1
	if len(e.text) >= parallelBytes {
		workers = min(runtime.GOMAXPROCS(0), len(bySize))
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(bySize) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				e.readFieldsOf(ctx, bySize[i])
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

func (e *Estate) readFieldsOf(ctx context.Context, a *array) {
	if bound := fieldBound(e); a.tree == nil || a.tree.bound != bound {
		a.tree = readFields(ctx, a, a.records, bound)
	}
	if a.tree != nil {
		a.records.unique = !a.tree.careful && !a.tree.cut
		a.profile = e.listFields(ctx, a.tree)
	}
}

// deriveArrays finds the arrays inside the records and adds them behind the array that has them.
func (e *Estate) deriveArrays(ctx context.Context) error {
	d := deriver{e: e, nodes: map[*array]*fieldNode{}, bound: maxArrays - len(e.arrays)}
	inside := map[*array][]*array{}
	for _, a := range e.arrays {
		d.nodes[a] = &a.tree.root
		first := len(d.arrays)
		d.derive(a, &a.tree.root, "")
		d.addRecursive(a, &a.tree.root, "")
		inside[a] = d.arrays[first:]
	}
	first := len(d.arrays)
	d.addUnions()
	tops := e.arrays
	e.arrays = make([]*array, 0, len(tops)+len(d.arrays))
	for _, a := range tops {
		e.arrays = append(append(e.arrays, a), inside[a]...)
		a.tree = nil
	}
	e.arrays = append(e.arrays, d.arrays[first:]...)
	if err := e.countInexact(ctx); err != nil {
		return err
	}
	slices.SortStableFunc(e.arrays, func(a, b *array) int { return cmp.Compare(a.rank(), b.rank()) })
	e.setSize()
	return nil
}

// countInexact reads the arrays whose number of records depends on the depth of the data or on ambiguous names,
// and drops those that are too deep.
func (e *Estate) countInexact(ctx context.Context) error {
	x := newReader(ctx, e)
	defer x.close()
	counted := 0
	for _, a := range e.arrays {
		if !a.isInexact() {
			continue
		}
		var r *records
		err := errTooDeep // or too many
		if size := 4 * (1 + ancestorLevels) * a.count; counted < maxInexact && size < columnShare(len(e.text)) {
			counted++
			r, err = x.records(ctx, a)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || len(r.starts) == 0:
			delete(e.byKey, a.key)
			e.cut = e.cut || err != nil
			continue
		}
		if t := readFields(ctx, a, r, fieldBound(e)); t != nil {
			a.profile = newLister(len(r.starts), &t.root).profile
		}
		a.count, a.objects = len(r.starts), 0
		for _, start := range r.starts {
			if r.text[start] == '{' {
				a.objects++
			}
		}
	}
	e.arrays = slices.DeleteFunc(e.arrays, func(a *array) bool { return e.byKey[a.key] != a })
	return nil
}

// listFields builds the profile of the tree's array and keeps the offsets of unambiguous paths.
// It returns nil if ctx is done.
func (e *Estate) listFields(ctx context.Context, t *fieldTree) *profile {
	l := newLister(len(t.records.starts), &t.root)
	l.cut = l.cut || t.cut
	for _, path := range l.duplicate[:min(len(l.duplicate), maxAmbiguous)] {
		p, err := t.records.scan(ctx, t.records.starts, path)
		if err != nil {
			return nil
		}
		l.fields[l.indexes[path]] = Field{Path: path, Types: typeNames(p.types), Count: p.count()}
		l.offsets[path] = p
	}
	e.keepOffsets(t.records, l)
	return l.profile
}

// keepOffsets keeps the offsets of the listed fields within the budget of the estate.
func (e *Estate) keepOffsets(r *records, l *lister) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range l.fields {
		p := l.offsets[f.Path]
		if p == nil || len(p.starts) == 0 || r.columns[f.Path] != nil {
			continue
		}
		p.starts, p.rows = clip(p.starts), clip(p.rows)
		if e.reserve(p.size()) {
			r.offsets[f.Path] = p
		}
	}
}
