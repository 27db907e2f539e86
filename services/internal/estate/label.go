package estate

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// shortest normalizes a number: 85.0 to 85, 6e-1 to 0.6, -0 to 0. It keeps all digits of
// an integer, and otherwise the shortest ones that round-trip as a float64.
func shortest(number value) []byte {
	if isPlainInteger(number) {
		return number
	}
	text := string(number)
	digits, point, ok := decimal(text)
	switch {
	case !ok: // the exponent is out of range: compare as written
		return []byte(strings.ToLower(text))
	case digits == "":
		return []byte("0")
	}
	if len(digits) > maxFloatDigits && point < len(digits) {
		f, _ := strconv.ParseFloat(text, 64) // out of range it is 0 or infinite
		if f == 0 || math.IsInf(f, 0) {
			return []byte(strings.ToLower(text))
		}
		digits, point, _ = decimal(strconv.FormatFloat(math.Abs(f), 'e', -1, 64))
	}
	return spell(text[0] == '-', digits, point)
}

// maxFloatDigits is the number of decimal digits that identify any float64.
const maxFloatDigits = 17

// maxPlainDigits is the longest integer written without an exponent, as in JavaScript.
const maxPlainDigits = 21

func isPlainInteger[T string | value](number T) bool {
	digits := number
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > maxPlainDigits || digits[0] == '0' && len(number) > 1 {
		return false
	}
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return false
		}
	}
	return true
}

// decimal splits a number into digits and exponent: 0.digits times 10 to the power of
// point. digits has no zeros at either end and is empty for zero.
func decimal(text string) (digits string, point int, ok bool) {
	mantissa := strings.TrimPrefix(text, "-")
	exponent := 0
	if e := strings.IndexAny(mantissa, "eE"); e >= 0 {
		n, err := strconv.ParseInt(strings.TrimPrefix(mantissa[e+1:], "+"), 10, 32)
		if err != nil {
			return "", 0, false
		}
		mantissa, exponent = mantissa[:e], int(n)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	point = len(whole) + exponent - (len(whole) + len(fraction) - len(digits))
	return strings.TrimRight(digits, "0"), point, true
}

func spell(negative bool, digits string, point int) []byte {
	var out []byte
	if negative {
		out = append(out, '-')
	}
	switch {
	case point > maxPlainDigits || point <= -6:
		out = append(out, digits[0])
		if len(digits) > 1 {
			out = append(append(out, '.'), digits[1:]...)
		}
		return strconv.AppendInt(append(out, 'e'), int64(point-1), 10)
	case point <= 0:
		out = append(append(out, "0."...), strings.Repeat("0", -point)...)
		return append(out, digits...)
	case point >= len(digits):
		return append(append(out, digits...), strings.Repeat("0", point-len(digits))...)
	default:
		return append(append(append(out, digits[:point]...), '.'), digits[point:]...)
	}
}

// maxCanonicalDepth bounds the depth of canonical comparison: deeper values compare as
// written. Each level reads all levels below it.
const maxCanonicalDepth = 32

// maxCanonicalBytes is the largest value that compares in canonical form; larger ones
// compare as written.
const maxCanonicalBytes = 64 << 10

// canonical returns an array or object in canonical form; a large one as written.
func canonical(v value) []byte {
	if len(v) > maxCanonicalBytes {
		return v
	}
	return appendCanonical(nil, v, 0)
}

func appendCanonical(out []byte, v value, depth int) []byte {
	switch k := v.kind(); {
	case k == kindString:
		return append(out, quote(v.content())...)
	case depth > maxCanonicalDepth:
		return append(out, v...)
	case k == kindArray:
		out = append(out, '[')
		for element := range v.elements() {
			out = append(appendCanonical(out, element, depth+1), ',')
		}
		return closed(out, ']')
	case k == kindObject:
		out = append(out, '{')
		last := map[string]value{}
		for name, inner := range v.members() {
			last[string(name)] = inner
		}
		for _, name := range slices.Sorted(maps.Keys(last)) {
			out = append(append(out, quote([]byte(name))...), ':')
			out = append(appendCanonical(out, last[name], depth+1), ',')
		}
		return closed(out, '}')
	default:
		return append(out, v.label()...)
	}
}

// closed replaces the trailing comma, if any, with bracket.
func closed(out []byte, bracket byte) []byte {
	return append(bytes.TrimSuffix(out, []byte{','}), bracket)
}

// quote encodes a string as JSON.
func quote(content []byte) []byte {
	out, _ := jsontext.AppendQuote(nil, content) // invalid UTF-8 becomes U+FFFD
	return out
}
