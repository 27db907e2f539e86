// Package estate holds an estate, JSON text of up to 10 MiB, and computes on it: Inspect
// returns the schema of a data array, Stats aggregates its records. SplitBody splits the
// request body that carries the estate.
//
// The package builds no tree. Parse validates the text and records the offsets of the
// arrays and their records. The first access to fields reads all records for the offsets
// of their values. The first access to a field reads it into a column: a dictionary of
// the distinct values, with numbers as float64, and for each record the code of its
// value, with codes for null and missing. Stats computes on codes; expensive steps, such
// as a filter, run once per distinct value.
package estate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"cairn/services/internal/lazy"
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

	profiled     *lazy.Value[struct{}]
	columnBudget atomic.Int64 // bytes that columns may still reserve
}

// Parse validates text as JSON and finds its data arrays. As in encoding/json, invalid
// UTF-8 in strings becomes U+FFFD. The estate keeps text, which must not change. The
// error is a *SyntaxError.
func Parse(text []byte) (*Estate, error) { return parse(text, func(*array) {}) }

// parse is Parse; it calls found for each array as soon as it is validated. Some of them
// may not become part of the estate.
func parse(text []byte, found func(*array)) (*Estate, error) {
	f := finder{scanner: scanner{text: text}, found: found}
	if len(text) > maxText {
		f.fail(0, "expected at most 1 GiB")
		return nil, f.err
	}
	if err := f.document(f.top); err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return parse(valid(text), found)
	}
	e := &Estate{text: text, cut: f.cut, byKey: make(map[string]*array, len(f.arrays))}
	e.setArrays(slices.DeleteFunc(f.arrays, func(a *array) bool { return a == nil }))
	return e, nil
}

// arraySize is the approximate size of an array besides its key, in bytes.
const arraySize = 400

func (e *Estate) setArrays(arrays []*array) {
	for _, a := range arrays {
		// An ambiguous key such as a.b denotes the array whose name contains the dot.
		if b := e.byKey[a.key]; b == nil || a.level < b.level {
			e.byKey[a.key] = a
		}
	}
	var others []*array
	for _, a := range arrays {
		switch {
		case e.byKey[a.key] != a:
		case a.objects > 0:
			e.arrays = append(e.arrays, a)
		default:
			others = append(others, a)
		}
	}
	e.arrays = append(e.arrays, others...)
	e.profiled = lazy.New(func(ctx context.Context) (struct{}, error) { return struct{}{}, buildProfiles(ctx, e) })
	e.columnBudget.Store(int64(columnShare(len(e.text))))
	e.size = cap(e.text) + columnShare(len(e.text))
	for _, a := range e.arrays {
		e.size += arraySize + 2*len(a.key) + 4*cap(a.starts) + fieldsSize(e, a)
	}
}

// Keys returns the dotted paths of the data arrays: first the arrays with objects, then empty arrays and
// arrays of other values, each in document order. Arrays inside elements of
// arrays are not included.
func (e *Estate) Keys() []string {
	keys := make([]string, len(e.arrays))
	for i, a := range e.arrays {
		keys[i] = a.key
	}
	return keys
}

// Count returns the number of elements of the array; 0 for an unknown key.
func (e *Estate) Count(key string) int {
	if a := e.byKey[key]; a != nil {
		return len(a.starts)
	}
	return 0
}

// Size returns the approximate memory in bytes that the estate may take. It is constant.
func (e *Estate) Size() int { return e.size }

func (e *Estate) find(key string) (*array, error) {
	if a := e.byKey[key]; a != nil {
		return a, nil
	}
	return nil, &UnknownKeyError{Key: key, Available: e.Keys()}
}

// Column returns the values of the field at path. A field that no record has yields a
// column without values. The error is an *UnknownKeyError or ctx.Err(). The caller must
// not modify the result.
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

// Fields returns the fields of the records of the array in order of appearance, an object
// before its members. It returns up to 400, fewer in an estate of more than 125 arrays,
// and none for an unknown key. The error is ctx.Err(). The caller must not modify the
// result.
func (e *Estate) Fields(ctx context.Context, key string) ([]Field, error) {
	a := e.byKey[key]
	if a == nil {
		return nil, nil
	}
	p, err := e.profile(ctx, a)
	if err != nil {
		return nil, err
	}
	return p.fields, nil
}

// Inspect returns the schema of the array. The error is an *UnknownKeyError or ctx.Err().
func (e *Estate) Inspect(ctx context.Context, key string) (Schema, error) {
	a, err := e.find(key)
	if err != nil {
		return Schema{}, err
	}
	p, err := e.profile(ctx, a)
	if err != nil {
		return Schema{}, err
	}
	sample := a.sample(ctx)
	return Schema{Fields: p.bounded(), Count: len(a.starts), Sample: sample}, ctx.Err()
}

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

// Outline describes the estate to a model: a line per array with its name, count and
// fields. It has at most maxBytes bytes, and states how much it omits.
func (e *Estate) Outline(maxBytes int) string {
	if len(e.arrays) == 0 {
		return fit("The context has no data arrays.", maxBytes)
	}
	for _, fields := range outlineFields {
		if text := writeOutline(e, len(e.arrays), fields, maxBytes); len(text) <= maxBytes {
			return text
		}
	}
	low, high := 0, len(e.arrays)-1 // binary search for the most lines that fit
	for low < high {
		mid := (low + high + 1) / 2
		if len(writeOutline(e, mid, 0, maxBytes)) <= maxBytes {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return fit(writeOutline(e, low, 0, maxBytes), maxBytes)
}

// profile returns the profile of an array. The first call builds the profiles of all arrays, since
// callers compare them afterwards.
func (e *Estate) profile(ctx context.Context, a *array) (*profile, error) {
	_, err := e.profiled.Get(ctx)
	return a.profile, err
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
}

// Error returns a message without the available keys, which may be many.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("no data array %q in the context", e.Key)
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
