package estate

import (
	"context"
	"encoding/binary"
	"iter"
	"math/bits"
	"strconv"
	"strings"
	"unsafe"
)

// A value is the JSON text of one value without surrounding space. It is validated UTF-8,
// so its methods do not check for errors.
type value []byte

// kind is the kind of a value; types are listed in this order.
type kind byte

const (
	kindString kind = iota
	kindNumber
	kindBoolean
	kindNull
	kindArray
	kindObject
)

// kindNone is the kind of a missing value.
const kindNone = kindObject + 1

var kindNames = [...]string{"string", "number", "boolean", "null", "array", "object"}

func (v value) kind() kind {
	switch v[0] {
	case '"':
		return kindString
	case '{':
		return kindObject
	case '[':
		return kindArray
	case 't', 'f':
		return kindBoolean
	case 'n':
		return kindNull
	default:
		return kindNumber
	}
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && text[i] <= ' ' && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skip returns the offset after the value at i.
func skip(text []byte, i int) int {
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		return skipContainer(text, i)
	}
	for i < len(text) && text[i] > ' ' && text[i] != ',' && text[i] != ']' && text[i] != '}' {
		i++
	}
	return i
}

func skipString(text []byte, i int) int {
	for i++; ; i += 2 {
		if i = closing(text, i); text[i] == '"' {
			return i + 1
		}
	}
}

// closing returns the offset of the first quote or backslash from i on. The text must
// have one.
func closing(text []byte, i int) int {
	for ; i >= 0 && i <= len(text)-8; i += 8 {
		w := binary.LittleEndian.Uint64(text[i : i+8])
		if m := equal(w, '"') | equal(w, '\\'); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

func skipContainer(text []byte, i int) int {
	for depth := 0; ; {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// elements yields the elements of the array v.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		i := skipSpace(v, 1)
		for v[i] != ']' {
			end := skip(v, i)
			if !yield(v[i:end]) {
				return
			}
			if i = skipSpace(v, end); v[i] == ',' {
				i = skipSpace(v, i+1)
			}
		}
	}
}

// members yields the unescaped names and the values of the object v in document order,
// duplicates included; the last one counts. The capacity of a value extends to the end of
// v's memory, which identifies its offset.
func (v value) members() iter.Seq2[[]byte, value] {
	return func(yield func([]byte, value) bool) {
		i := skipSpace(v, 1)
		for v[i] != '}' {
			end := closing(v, i+1)
			name := v[i+1 : end : end]
			if v[end] != '"' {
				end = skipString(v, i) - 1
				name = v[i : end+1].content()
			}
			i = skipSpace(v, 1+skipSpace(v, end+1))
			end = skip(v, i)
			if !yield(name, v[i:end]) {
				return
			}
			if i = skipSpace(v, end); v[i] == ',' {
				i = skipSpace(v, i+1)
			}
		}
	}
}

// lastMembers yields each name once, with its last value. It is incomplete if ctx is done.
func (v value) lastMembers(ctx context.Context) iter.Seq2[[]byte, value] {
	last := v.last(ctx)
	return func(yield func([]byte, value) bool) {
		for name := range v.members() {
			member, ok := last[string(name)]
			delete(last, string(name))
			if ok && !yield(name, member) {
				return
			}
		}
	}
}

// last returns the last value of each name of the object v. It is incomplete if ctx is
// done.
func (v value) last(ctx context.Context) map[string]value {
	last := map[string]value{}
	read := 0
	for name, member := range v.members() {
		if read++; read%checkValues == 0 && ctx.Err() != nil {
			break
		}
		last[string(name)] = member
	}
	return last
}

// maxPathDepth bounds the depth of a path: each object is read again for the rest of the
// path.
const maxPathDepth = 16

// find returns the value at path in the object or array v, depth values deep. Dots separate
// names; a name that contains the dots itself takes precedence. In an array, the path begins
// with a position from 0, or is the key of an element of a key/value list.
// If names are unique in each object, it stops at the first exact one.
func (v value) find(path string, depth int, unique bool) (result value, ok bool) {
	switch {
	case depth > maxPathDepth:
		return nil, false
	case v.kind() == kindArray:
		return v.findElement(path, depth, unique)
	case v.kind() != kindObject:
		return nil, false
	}
	var buf [4]step
	steps := buf[:0]
	for name, member := range v.members() {
		n := len(name)
		if n > len(path) || path[:n] != string(name) || n < len(path) && path[n] != '.' {
			continue
		}
		if n == len(path) {
			if result, ok = member, true; unique {
				break
			}
			continue
		}
		steps = addStep(steps, step{n, member})
	}
	for i := 0; !ok && i < len(steps); i++ {
		result, ok = steps[i].into.find(path[steps[i].n+1:], depth+1, unique)
	}
	return result, ok
}

// findElement returns the value at path in the array v.
func (v value) findElement(path string, depth int, unique bool) (result value, ok bool) {
	first, rest, deeper := strings.Cut(path, ".")
	position, err := strconv.ParseUint(first, 10, 32)
	i := uint64(0)
	for element := range v.elements() {
		switch key, val := pairOf(element); {
		case err == nil && i == position && deeper:
			return element.find(rest, depth+1, unique)
		case err == nil && i == position:
			return element, true
		case key != nil && string(key.content()) == path:
			result, ok = val, true
		}
		i++
	}
	return result, ok
}

// pairNames are the names of the members of a key/value list: of the key, and of the value.
var pairNames = [...][2]string{{"Key", "Value"}, {"key", "value"}, {"name", "value"}, {"Name", "Value"}}

// pairOf returns the key, a string, and the value of an element of a key/value list; nil for other
// elements.
func pairOf(element value) (key, val value) {
	if element.kind() != kindObject {
		return nil, nil
	}
	for _, names := range pairNames {
		key, val = nil, nil
		for name, member := range element.members() {
			switch string(name) {
			case names[0]:
				key = member
			case names[1]:
				val = member
			}
		}
		if key != nil && val != nil && key.kind() == kindString {
			return key, val
		}
	}
	return nil, nil
}

// step is a member that matches the first n bytes of the path.
type step struct {
	n    int
	into value
}

// addStep inserts s in order of descending length and replaces a step of equal length.
func addStep(steps []step, s step) []step {
	i := 0
	for i < len(steps) && steps[i].n > s.n {
		i++
	}
	if i < len(steps) && steps[i].n == s.n {
		steps[i] = s
		return steps
	}
	steps = append(steps, step{})
	copy(steps[i+1:], steps[i:])
	steps[i] = s
	return steps
}

// content returns the unescaped string v. It may share v's memory.
func (v value) content() []byte { return Unquote(v) }

// field returns the value at path in a record. An element that is not an object has the
// single field "value".
func (v value) field(path string, unique bool) (value, bool) {
	if v.kind() == kindObject {
		return v.find(path, 0, unique)
	}
	rest, ok := strings.CutPrefix(path, ElementField)
	switch {
	case !ok || rest != "" && rest[0] != '.':
		return nil, false
	case rest == "":
		return v, true
	default:
		return v.find(rest[1:], 0, unique)
	}
}

// label returns the text by which v is grouped and compared: the content of a string, the
// shortest form of a number, true, false or null, and canonical JSON for an array or
// object. Values are equal if their kinds and labels are. The result may share v's memory.
func (v value) label() []byte {
	switch v.kind() {
	case kindString:
		return v.content()
	case kindNumber:
		return shortest(v)
	case kindArray, kindObject:
		return canonical(v)
	default:
		return v
	}
}

// share returns text as a string without copying it. The text of an estate never changes.
func share(text []byte) string {
	return unsafe.String(unsafe.SliceData(text), len(text)) // #nosec G103 -- the text is not changed
}
