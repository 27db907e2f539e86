// Package estate holds an estate context, JSON text of up to 10 MiB, and the
// two computations on it: what a data array looks like (Inspect) and figures
// about its records (Stats). It also takes apart the request body that carries
// the context (SplitBody).
//
// No tree is built: Parse checks the text and notes where the arrays and their
// records start. When the fields are asked for, all records are read for the
// places of their values. A field is read into a column when it is asked for
// first: a dictionary of the distinct values, with numbers as float64, and for
// each record the code of its value, null and missing apart. Figures are computed on codes: what takes long, such
// as a filter, is done once per distinct value.
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

// BareKey is the key of the array when the whole context is one.
const BareKey = "items"

// ElementField is the field by which elements that are not objects go.
const ElementField = "value"

// maxText is a bound that keeps offsets within 32 bits.
const maxText = 1 << 30

// maxListed bounds the keys or fields that an error or a note repeats.
const maxListed = 100

// An Estate is a parsed context. It may be used concurrently.
type Estate struct {
	text   value
	arrays []*array // those of objects first, each in document order
	byKey  map[string]*array
	cut    bool // there are more arrays than are kept
	size   int

	profiled *lazy.Value[struct{}]
	left     atomic.Int64 // bytes that columns may yet take
}

// An array is a data array: one that is reached from the top through objects.
type array struct {
	key     string
	text    value
	starts  []uint32 // where in text the elements start
	objects int      // how many elements are objects
	level   int      // how many names the key is made of
	profile *profile
	tree    *fieldTree // of its records; nil when they have not been read, or are listed in profile

	mu      sync.Mutex
	columns map[string]*column // by path, those that have been read and are kept
	places  map[string]*places // by path, of those that have not
}

// Parse checks that all of text is JSON and finds its data arrays. Bytes in
// strings that are not UTF-8 become U+FFFD, as in encoding/json. It keeps text,
// which must not change afterwards. The error is a *SyntaxError.
func Parse(text []byte) (*Estate, error) { return parse(text, func(*array) {}) }

// parse is Parse; found gets each array as soon as its text is checked. Not all
// of them come to be in the estate.
func parse(text []byte, found func(*array)) (*Estate, error) {
	f := finder{scanner: scanner{text: text}, found: found}
	if len(text) > maxText {
		f.fail(0, "want at most 1 GiB")
		return nil, f.err
	}
	if err := f.document(f.top); err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return parse(valid(text), found)
	}
	e := &Estate{text: text, cut: f.cut, byKey: make(map[string]*array, len(f.arrays))}
	e.adopt(slices.DeleteFunc(f.arrays, func(a *array) bool { return a == nil }))
	return e, nil
}

// arraySize is about what an array takes besides its key, in bytes.
const arraySize = 400

func (e *Estate) adopt(arrays []*array) {
	for _, a := range arrays {
		// Where a.b may mean two arrays the name with the dot in it goes first.
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
	e.profiled = lazy.New(e.makeProfiles)
	e.left.Store(int64(columnShare(len(e.text))))
	e.size = cap(e.text) + columnShare(len(e.text))
	for _, a := range e.arrays {
		e.size += arraySize + 2*len(a.key) + 4*cap(a.starts) + e.fieldsSize(a)
	}
}

// Keys returns the dotted paths of the data arrays: those with objects in them
// first, then empty ones and those of plain values, each in document order.
// Arrays inside elements of arrays are not among them.
func (e *Estate) Keys() []string {
	keys := make([]string, len(e.arrays))
	for i, a := range e.arrays {
		keys[i] = a.key
	}
	return keys
}

// Count returns how many elements the array has; 0 where there is none.
func (e *Estate) Count(key string) int {
	if a := e.byKey[key]; a != nil {
		return len(a.starts)
	}
	return 0
}

// Size is about the memory the estate holds or may come to hold, in bytes; it
// does not grow.
func (e *Estate) Size() int { return e.size }

func (e *Estate) find(key string) (*array, error) {
	if a := e.byKey[key]; a != nil {
		return a, nil
	}
	return nil, &UnknownKeyError{Key: key, Available: e.Keys()}
}

// UnknownKeyError says that the estate has no such data array, and which it has.
type UnknownKeyError struct {
	Key       string
	Available []string
}

// Error names the key only; the available ones may be many.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("no data array %q in the context", e.Key)
}

// MarshalJSON writes the tool result from which a model can correct itself:
// the error and the available keys, no more than a hundred of them.
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

// end is where the i-th element ends: before the bracket or the comma and the
// space around it.
func (a *array) end(i int) int {
	if i+1 == len(a.starts) {
		return trimSpace(a.text, len(a.text)-1)
	}
	return trimSpace(a.text, trimSpace(a.text, int(a.starts[i+1]))-1)
}

// field finds path in a record. An element that is not an object has the one
// field "value".
func (v value) field(path string) (value, bool) {
	if v.kind() != kindObject && path == ElementField {
		return v, true
	}
	return v.lookup(path, 0)
}

// list writes names separated by commas, no more than maxListed of them.
func list(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s, … %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
