package estate

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// label is the text by which v is grouped and compared: a string as it is, a
// number in its shortest form, true, false, null; an array or object as
// compact JSON with its names sorted. Two values are equal when their kinds
// and labels are. The result may share v's memory.
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

// shortest gives a number one spelling: 85.0 is 85, 6e-1 is 0.6, -0 is 0. All
// digits of an integer stay; other numbers keep those a float64 tells apart.
func shortest(number value) []byte {
	if isPlainInteger(number) {
		return number
	}
	text := string(number)
	digits, point, ok := decimal(text)
	switch {
	case !ok: // The exponent is beyond any use; compare as written.
		return []byte(strings.ToLower(text))
	case digits == "":
		return []byte("0")
	}
	if len(digits) > maxFloatDigits && point < len(digits) {
		f, _ := strconv.ParseFloat(text, 64) // Out of range it is 0 or infinite.
		if f == 0 || math.IsInf(f, 0) {
			return []byte(strings.ToLower(text))
		}
		digits, point, _ = decimal(strconv.FormatFloat(math.Abs(f), 'e', -1, 64))
	}
	return spell(text[0] == '-', digits, point)
}

// maxFloatDigits is how many decimal digits any float64 can be told apart by.
const maxFloatDigits = 17

// maxPlainDigits is how long an integer may be until it is written with an
// exponent, as JavaScript does.
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

// decimal takes a number apart: it is 0.digits times 10 to the power of point,
// digits without zeros at either end and empty for zero.
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

// maxCanonicalDepth is how deep values are looked into when they are compared;
// what lies deeper is compared as written. Each level reads all below it again.
const maxCanonicalDepth = 32

// maxCanonicalBytes is the largest value that is compared by what it means;
// larger ones are compared as written.
const maxCanonicalBytes = 64 << 10

// canonical writes an array or object so that equal ones are written the same.
// The result may be v.
func canonical(v value) []byte {
	if len(v) > maxCanonicalBytes || v.isCanonical(0) {
		return v
	}
	return appendCanonical(nil, v, 0)
}

// isCanonical says whether v, as most that programs write, is canonical as it
// is: without space and escapes, its names in order, its numbers integers. It
// may say no of one that is.
func (v value) isCanonical(depth int) bool {
	size := 1 // What an array or object of these members would have.
	switch v.kind() {
	case kindString:
		return plain(v, 1) == len(v)-1
	case kindNumber:
		return isPlainInteger(v)
	case kindArray:
		for element := range v.elements() {
			if depth == maxCanonicalDepth || !element.isCanonical(depth+1) {
				return false
			}
			size += len(element) + len(",")
		}
	case kindObject:
		last := ""
		for name, inner := range v.members() {
			if depth == maxCanonicalDepth || size > 1 && string(name) <= last || plain(name, 0) < len(name) || !inner.isCanonical(depth+1) {
				return false
			}
			last = share(name)
			size += len(`"":`) + len(name) + len(inner) + len(",")
		}
	default:
		return true
	}
	return len(v) == max(size, len("[]"))
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
		for _, m := range v.sorted() {
			out = append(append(out, quote([]byte(m.name))...), ':')
			out = append(appendCanonical(out, m.value, depth+1), ',')
		}
		return closed(out, '}')
	default:
		return append(out, v.label()...)
	}
}

// closed puts a bracket in the place of the last comma, if there is one.
func closed(out []byte, bracket byte) []byte {
	return append(bytes.TrimSuffix(out, []byte{','}), bracket)
}

type member struct {
	name  string
	value value
}

// sorted is the members of the object v by name, of the same name the last one.
func (v value) sorted() []member {
	var list []member
	for name, inner := range v.members() {
		list = append(list, member{string(name), inner})
	}
	slices.SortStableFunc(list, func(m, n member) int { return strings.Compare(m.name, n.name) })
	last := list[:0]
	for i, m := range list {
		if i+1 == len(list) || list[i+1].name != m.name {
			last = append(last, m)
		}
	}
	return last
}

// quote writes a string as JSON.
func quote(content []byte) []byte {
	if plain(content, 0) == len(content) && utf8.Valid(content) {
		out := make([]byte, 0, len(content)+2)
		return append(append(append(out, '"'), content...), '"')
	}
	return encode(string(content))
}

// encode is json.Marshal that leaves <, > and & as they are. It must only be
// given what has a JSON form.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
