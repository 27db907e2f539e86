package estate

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped maps the letter after a backslash to what it stands for.
var escaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote checks the string at i, like str, and resolves its escapes into new
// memory on the way. As in encoding/json, bytes that are not UTF-8 and halves
// of surrogate pairs become U+FFFD.
func (s *scanner) unquote(i int) (content []byte, end int) {
	// Eight bytes are stored at a time, of which only those before a special
	// one count. The content is never longer than the text it comes from.
	src, n := s.text, 0
	dst := make([]byte, len(src)-i+8)
	for i++; ; {
		for i+8 <= len(src) {
			w := binary.LittleEndian.Uint64(src[i:])
			binary.LittleEndian.PutUint64(dst[n:], w)
			m := below(w, ' ') | equal(w, '"') | equal(w, '\\')
			if m == 0 {
				i, n = i+8, n+8
				continue
			}
			k := bits.TrailingZeros64(m) >> 3
			i, n = i+k, n+k
			if src[i] != '\\' || i+1 == len(src) || escaped[src[i+1]] == 0 {
				break
			}
			dst[n] = escaped[src[i+1]]
			i, n = i+2, n+1
		}
		stop := plain(src, i)
		n += copy(dst[n:], src[i:stop])
		switch i = stop; s.at(i) {
		case '"':
			if n < len(dst)/2 { // Most of it was room for what follows the string.
				dst = bytes.Clone(dst[:n])
			}
			return valid(dst[:n]), i + 1
		case '\\':
			if s.escape(i) < 0 {
				return nil, -1
			}
			i, n = unescape(dst, n, src, i)
		default:
			return nil, s.str(i - 1) // It has the words for what is wrong.
		}
	}
}

// valid returns text with U+FFFD for each byte that is not UTF-8.
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

// unescape resolves the escape at src[i], which has been checked, to dst[n].
func unescape(dst []byte, n int, src []byte, i int) (int, int) {
	if c := escaped[src[i+1]]; c != 0 {
		dst[n] = c
		return i + 2, n + 1
	}
	r := hex4(src[i+2:])
	i += 6
	if utf16.IsSurrogate(r) {
		pair := nextHalf(r, src[i:])
		if r = pair; pair != utf8.RuneError {
			i += 6
		}
	}
	return i, n + utf8.EncodeRune(dst[n:], r)
}

// nextHalf returns the rune that first makes with the escape src begins with,
// if that is another half; else U+FFFD.
func nextHalf(first rune, src []byte) rune {
	if len(src) < 6 || src[0] != '\\' || src[1] != 'u' {
		return utf8.RuneError
	}
	for _, c := range src[2:6] {
		if !isHex(c) {
			return utf8.RuneError
		}
	}
	return utf16.DecodeRune(first, hex4(src[2:]))
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
