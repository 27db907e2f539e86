package estate

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped maps the letter of an escape to its character.
var escaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Unquote returns the content of a validated JSON string with its quotes. As in
// encoding/json, unpaired surrogates become U+FFFD; invalid UTF-8 is kept. The result may
// share the string's memory.
func Unquote(quoted []byte) []byte {
	src := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(src, '\\') < 0 {
		return src[:len(src):len(src)]
	}
	dst := make([]byte, len(src))
	if len(src) < parallelBytes {
		return dst[:unescape(dst, src)]
	}
	middle, first := boundary(src, len(src)/2), 0
	var wait sync.WaitGroup
	wait.Go(func() { first = unescape(dst[:middle], src[:middle]) })
	second := unescape(dst[middle:], src[middle:])
	wait.Wait()
	n := first + copy(dst[first:], dst[middle:middle+second])
	return dst[:n]
}

// boundary returns an offset from i on that no escape or surrogate pair crosses; the end of
// src if there is none nearby.
func boundary(src []byte, i int) int {
	const longest, near = len(`\u0000`), 1 << 10
	for end := min(len(src), i+near); i < end; i++ {
		if bytes.IndexByte(src[i-longest:i], '\\') < 0 {
			return i
		}
	}
	return len(src)
}

// unescape writes src without escapes to dst, which has the same length, and returns the
// number of bytes.
func unescape(dst, src []byte) (n int) {
	for i := 0; i < len(src); {
		// Each step stores eight bytes, of which only those before an escape are valid. It never
		// writes past the offset read in src.
		for i >= 0 && i <= len(src)-8 && n >= 0 && n <= len(dst)-8 {
			w := binary.LittleEndian.Uint64(src[i : i+8])
			binary.LittleEndian.PutUint64(dst[n:n+8], w)
			m := equal(w, '\\')
			if m == 0 {
				i, n = i+8, n+8
				continue
			}
			k := bits.TrailingZeros64(m) >> 3
			i, n = i+k, n+k
			c := escaped[src[i+1]]
			if c == 0 {
				break
			}
			dst[n] = c
			i, n = i+2, n+1
		}
		switch {
		case i == len(src):
		case src[i] == '\\':
			i, n = resolve(dst, n, src, i)
		default:
			dst[n] = src[i]
			i, n = i+1, n+1
		}
	}
	return n
}

// valid returns text with U+FFFD for each byte of invalid UTF-8.
func valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	fixed := make([]byte, 0, len(text)+len(text)/4)
	for _, r := range string(text) {
		fixed = utf8.AppendRune(fixed, r)
	}
	return fixed
}

// resolve writes the character of the escape at src[i], including the second half of a
// surrogate pair, to dst[n].
func resolve(dst []byte, n int, src []byte, i int) (int, int) {
	if c := escaped[src[i+1]]; c != 0 {
		dst[n] = c
		return i + 2, n + 1
	}
	r := hex4(src[i+2:])
	i += 6
	if utf16.IsSurrogate(r) {
		second := utf8.RuneError
		if bytes.HasPrefix(src[i:], []byte(`\u`)) {
			second = hex4(src[i+2:])
		}
		if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
			i += 6
		}
	}
	return i, n + utf8.EncodeRune(dst[n:], r)
}

// hex4 returns the number of the four hexadecimal digits at the start of src.
func hex4(src []byte) (r rune) {
	for _, c := range src[:4] {
		r = r<<4 | rune(c&0xf+c>>6*9) // bit 6 marks letters
	}
	return r
}
