// Package estate holds an estate, JSON text of up to 10 MiB, and computes on it: Inspect
// returns the schema of a data array, Stats aggregates its records. SplitBody splits the
// request body that carries the estate.
//
// The text is not decoded. Read validates it and records the offsets of the arrays and their
// records (find.go), reads the names in the records with the offsets of their values
// (fieldtree.go), and derives from the names the arrays inside records (nested.go), whose
// records are read on first use (memory.go). The first access to a field reads it into a column:
// a dictionary of the distinct values, and for each record the code of its value, with codes for
// null and missing. A column has a reading (reading.go): all values are numbers, quantities or
// dates, in text too. Stats (query.go, stats.go) computes on codes; expensive steps, such as a
// filter, run once per distinct value.
package estate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// parse validates text and finds the arrays outside of records. It calls found for each array as soon
// as it is validated. Some of them may not become part of the estate.
func parse(text []byte, found func(*array)) (*Estate, error) {
	f := finder{scanner: scanner{text: text}, found: found}
	if len(text) > maxText {
		f.fail(0, "expected at most 1 GiB")
		return nil, f.err
	}
	if err := f.document(); err != nil {
		return nil, withHint(f.err, text)
	}
	if !utf8.Valid(text) {
		return parse(valid(text), found)
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

// findUnlisted returns the array of a field that the listed fields do not have because these are too many; nil if
// there is none.
func (e *Estate) findUnlisted(ctx context.Context, key string) (*array, error) {
	if len(key) > maxKeyBytes {
		return nil, nil
	}
	for dot := strings.LastIndexByte(key, '.'); dot > 0; dot = strings.LastIndexByte(key[:dot], '.') {
		parent := e.byKey[key[:dot]]
		if parent == nil || !parent.profile.more {
			continue
		}
		x := newReader(ctx, e)
		defer x.close()
		a := &array{key: key, level: parent.level + 1, count: parent.count}
		a.derived = &derivation{parent: parent, field: key[dot+1:]}
		r, err := x.build(ctx, a)
		if err != nil || len(r.starts) == 0 {
			return nil, err
		}
		t := readFields(ctx, a, r, maxFields)
		if t == nil {
			return nil, ctx.Err()
		}
		l := newLister(len(r.starts))
		l.list(&t.root, "")
		a.profile, a.count, a.objects = l.profile, len(r.starts), len(r.starts)
		return a, nil
	}
	return nil, nil
}

func (e *Estate) find(ctx context.Context, key string) (*array, error) {
	if a := e.byKey[key]; a != nil {
		return a, nil
	}
	if a, err := e.findUnlisted(ctx, key); a != nil || err != nil {
		return a, err
	}
	keys := e.Keys()
	return nil, &UnknownKeyError{Key: key, Available: keys, nearest: nearest(key, keys)}
}

// Column returns the values of the field at path. A field that no record has yields a
// column without values. It takes no Memory. The error is an *UnknownKeyError or ctx.Err(). The caller must
// not modify the result.
func (e *Estate) Column(ctx context.Context, key, path string) (Column, error) {
	a, err := e.find(ctx, key)
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
	c := *public
	c.Path, c.Records, c.Missing = path, a.count, a.count-c.Missing
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
	if more := len(e.Available) - maxListed; more > 0 {
		result.Available = e.Available[:maxListed]
		result.Error += fmt.Sprintf("; %d more are available than listed", more)
	}
	if result.Available == nil {
		result.Available = []string{}
	}
	return json.Marshal(result)
}

// list joins up to maxListed names with commas.
func list(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s, … %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
