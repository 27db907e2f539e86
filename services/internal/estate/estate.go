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
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
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

// An Estate is a parsed estate. It is safe for concurrent use. The methods of each kind of
// question (Inspect, Column, Fields, Outline, Stats) have a file.
type Estate struct {
	text   value
	arrays []*array // those with objects first, each in document order
	byKey  map[string]*array
	cut    bool // the text has more arrays than maxArrays
	size   int

	profiled     *lazy.Value[struct{}]
	columnBudget atomic.Int64 // bytes that columns may still reserve
}

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
	e.profiled = lazy.New(e.buildProfiles)
	e.columnBudget.Store(int64(columnShare(len(e.text))))
	e.size = cap(e.text) + columnShare(len(e.text))
	for _, a := range e.arrays {
		e.size += arraySize + 2*len(a.key) + 4*cap(a.starts) + e.fieldsSize(a)
	}
}

// Keys returns the dotted paths of the data arrays: those with objects first, then empty
// ones and those of other values, each in document order. Arrays inside elements of
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

// field returns the value at path in a record. An element that is not an object has the
// single field "value".
func (v value) field(path string) (value, bool) {
	if v.kind() != kindObject && path == ElementField {
		return v, true
	}
	return v.lookup(path, 0)
}

// list joins up to maxListed names with commas.
func list(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s, … %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
