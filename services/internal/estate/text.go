package estate

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A value is the JSON text of one value without space around it, already
// checked by a scanner, so the functions below need not look for errors.
type value []byte

// kind of a value; the order is the one in which types are listed.
type kind byte

const (
	kindString kind = iota
	kindNumber
	kindBoolean
	kindNull
	kindArray
	kindObject
)

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

// skip returns the offset after the value that starts at i.
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
	for start := i + 1; ; {
		i += 1 + bytes.IndexByte(text[i+1:], '"')
		back := i
		for back > start && text[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return i + 1
		}
	}
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
			if !yield(v[i:end:end]) {
				return
			}
			if i = skipSpace(v, end); v[i] == ',' {
				i = skipSpace(v, i+1)
			}
		}
	}
}

// members yields names, unescaped, and values of the object v in the order of
// the text. A name that is there twice comes twice: the last one counts.
func (v value) members() iter.Seq2[[]byte, value] {
	return func(yield func([]byte, value) bool) {
		i := skipSpace(v, 1)
		for v[i] != '}' {
			end := skipString(v, i)
			name := value(v[i:end]).content()
			i = skipSpace(v, 1+skipSpace(v, end))
			end = skip(v, i)
			if !yield(name, v[i:end:end]) {
				return
			}
			if i = skipSpace(v, end); v[i] == ',' {
				i = skipSpace(v, i+1)
			}
		}
	}
}

// lookup finds path in the object v. Dots lead into objects; a name that holds
// the dots itself goes first.
func (v value) lookup(path string) (found value, ok bool) {
	if v.kind() != kindObject {
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
			found, ok = member, true
			continue
		}
		steps = addStep(steps, step{n, member})
	}
	for i := 0; !ok && i < len(steps); i++ {
		found, ok = steps[i].into.lookup(path[steps[i].n+1:])
	}
	return found, ok
}

// step is one way into an object: the first n bytes of the path name it.
type step struct {
	n    int
	into value
}

// addStep keeps steps longest first and, of equals, the last.
func addStep(steps []step, s step) []step {
	at := 0
	for at < len(steps) && steps[at].n > s.n {
		at++
	}
	if at < len(steps) && steps[at].n == s.n {
		steps[at] = s
		return steps
	}
	steps = append(steps, step{})
	copy(steps[at+1:], steps[at:])
	steps[at] = s
	return steps
}

// content is what the string v says. It may share v's memory.
func (v value) content() []byte {
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	return unescape(inner)
}

// unescape resolves the escapes of a string's text between its quotes into
// new memory. As in encoding/json, bytes that are not UTF-8 and halves of
// surrogate pairs become U+FFFD.
func unescape(src []byte) []byte {
	// Eight bytes are stored at a time, of which only those before a
	// backslash count; the result is never ahead of the source.
	dst := make([]byte, len(src)+8)
	i, n := 0, 0
	for i+8 <= len(src) {
		w := binary.LittleEndian.Uint64(src[i:])
		binary.LittleEndian.PutUint64(dst[n:], w)
		m := equal(w, '\\')
		if m == 0 {
			i, n = i+8, n+8
			continue
		}
		k := bits.TrailingZeros64(m) >> 3
		i, n = unescapeOne(dst, n+k, src, i+k)
	}
	for i < len(src) {
		if src[i] == '\\' {
			i, n = unescapeOne(dst, n, src, i)
			continue
		}
		dst[n] = src[i]
		i, n = i+1, n+1
	}
	if dst = dst[:n]; utf8.Valid(dst) {
		return dst
	}
	return replaceInvalid(dst)
}

func replaceInvalid(src []byte) []byte {
	dst := make([]byte, 0, len(src)+len(src)/4)
	for _, r := range string(src) {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// escaped maps the letter after a backslash to what it stands for.
var escaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeOne resolves the escape at src[i] to dst[n].
func unescapeOne(dst []byte, n int, src []byte, i int) (int, int) {
	if c := escaped[src[i+1]]; c != 0 {
		dst[n] = c
		return i + 2, n + 1
	}
	r := hex4(src[i+2:])
	i += 6
	if utf16.IsSurrogate(r) {
		pair := rune(utf8.RuneError)
		if i+6 <= len(src) && src[i] == '\\' && src[i+1] == 'u' {
			pair = utf16.DecodeRune(r, hex4(src[i+2:]))
		}
		if r = pair; r != utf8.RuneError {
			i += 6
		}
	}
	return i, n + utf8.EncodeRune(dst[n:], r)
}

func hex4(src []byte) (r rune) {
	for _, c := range src[:4] {
		r = r<<4 | rune(strings.IndexByte("0123456789abcdef", lower(c)))
	}
	return r
}

func lower(c byte) byte {
	if c >= 'A' {
		return c | 0x20
	}
	return c
}
