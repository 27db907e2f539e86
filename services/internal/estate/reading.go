package estate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Interpretations of a column.
const (
	asNumber   = "number"
	asQuantity = "quantity"
	asDate     = "date"
	asText     = "text"
	asBoolean  = "boolean"
	asList     = "list"
	asObject   = "object"
	asMixed    = "mixed"
	asNull     = "null"
)

// A reading is the interpretation of a column.
type reading struct {
	kind    string
	unit    string             // of quantities: the smallest one that occurs
	factor  float64            // of the unit
	units   map[string]float64 // of the same family
	plain   bool               // some quantities have no unit
	numbers []float64          // of values, NaN for those that have none; indexes in times of dates in text; nil: none
	times   []time.Time        // of dates in text, in order
	text    bool               // numbers come from text
}

// decimalText is a decimal number in text: with a sign, leading zeros, and commas between groups of three digits.
var decimalText = regexp.MustCompile(`^\s*([+-]?)0*(\d{1,3}(?:,\d{3})+|\d*)(\.\d+)?([eE][+-]?\d+)?\s*$`)

// families are the units of the quantities that tools print, with their sizes: bytes, CPUs and percents. Suffixes
// without i are decimal, as in Kubernetes. A number without a unit is of the unit with size 1.
var families = [...]map[string]float64{
	{
		"": 1, "B": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
		"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "EB": 1e18,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50, "EiB": 1 << 60,
	},
	{"": 1, "m": 1e-3, "u": 1e-6, "n": 1e-9},
	{"%": 1},
}

// bound returns the number of an operand beside r.numbers: a quantity, which needs a unit if all values have one,
// or a date, which may be a year or a month. Between two dates it is between their numbers.
func (r reading) bound(v operand) (float64, bool) {
	switch r.kind {
	case asQuantity:
		number, unit, ok := v.quantity()
		if unit == "" && r.unit == "%" {
			unit = r.unit
		}
		size, isUnit := r.units[unit]
		return roundDigits(number * size / r.factor), ok && isUnit && (unit != "" || r.plain)
	case asDate:
		if r.times == nil {
			return 0, false
		}
		t, ok := parseBound(v)
		i, exact := slices.BinarySearchFunc(r.times, t, time.Time.Compare)
		if exact {
			return float64(i), ok
		}
		return float64(i) - 0.5, ok
	}
	return 0, false
}

// time returns the date of the i-th value of the column, which is v.
func (r reading) time(v operand, i int) (t time.Time, ok bool) {
	if r.times == nil {
		return epoch(v)
	}
	f := r.numbers[i]
	if f == f {
		t = r.times[int(f)]
	}
	return t, f == f
}

// dateLayouts are the formats of dates besides RFC 3339. Without an offset they are UTC.
var dateLayouts = [...]string{
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 -0700 MST",
	"2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05 UTC",
}

// parseTime returns the time of a text in RFC 3339, as a date, or as in HTTP headers.
func parseTime(v operand) (time.Time, bool) {
	text := v.text
	if v.kind != kindString || len(text) < len("2006-01-02") || len(text) > 40 {
		return time.Time{}, false
	}
	if text[4] != '-' || text[7] != '-' {
		for _, layout := range [...]string{time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC} {
			if t, err := time.Parse(layout, text); err == nil {
				return t, true
			}
		}
		return time.Time{}, false
	}
	if len(text) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, text)
		return t, err == nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, true
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// parseBound is parseTime for an operand, which may be a year or a month.
func parseBound(v operand) (time.Time, bool) {
	for _, layout := range [...]string{"2006", "2006-01"} {
		if t, err := time.Parse(layout, v.text); err == nil && v.kind == kindString {
			return t, true
		}
	}
	return parseTime(v)
}

// Bounds of seconds since 1970 that are times: from 2001 to 2096. Greater numbers are milli-, micro- or
// nanoseconds in the same bounds.
const minEpoch, maxEpoch = 1e9, 4e9

// namesTime reports whether the last segment of a path names a time.
func namesTime(path string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	name := foldSpelling(last)
	for _, word := range [...]string{"time", "date", "epoch", "created", "updated", "modified", "expir", "lastseen"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "ts" || strings.HasSuffix(last, "_at") || strings.HasSuffix(last, "At")
}

// epoch returns the time of a number of seconds, milliseconds, microseconds or nanoseconds since 1970.
func epoch(v operand) (time.Time, bool) {
	f, ok := v.number()
	for unit := 1.0; ok && unit <= 1e9; unit *= 1e3 {
		if seconds := f / unit; seconds >= minEpoch && seconds < maxEpoch {
			return time.UnixMicro(int64(seconds * 1e6)).UTC(), true
		}
	}
	return time.Time{}, false
}

// Parts of a value that are read by a suffix of the path.
var parts = map[string]func(v operand) (value, bool){
	"length":  listLength,
	"year":    datePart("2006"),
	"month":   datePart("2006-01"),
	"day":     datePart("2006-01-02"),
	"weekday": datePart("Monday"),
	"hour":    datePart("15"),
}

// cutPart splits a path such as time:year; part is nil if there is none.
func cutPart(path string) (base string, part func(v operand) (value, bool)) {
	colon := strings.LastIndexByte(path, ':')
	if colon <= 0 {
		return path, nil
	}
	return path[:colon], parts[path[colon+1:]]
}

func listLength(v operand) (value, bool) {
	n := 0
	switch v.kind {
	case kindArray:
		for range value(v.text).elements() {
			n++
		}
	case kindObject:
		for range value(v.text).members() {
			n++
		}
	default:
		return nil, false
	}
	return strconv.AppendInt(nil, int64(n), 10), true
}

// datePart returns the part of a date in its own time zone.
func datePart(layout string) func(v operand) (value, bool) {
	return func(v operand) (value, bool) {
		t, ok := parseTime(v)
		if !ok {
			t, ok = epoch(v)
		}
		return value(quote([]byte(t.Format(layout)))), ok
	}
}

// Convert returns a quantity in another unit of the same family, such as GiB for 1073741824 B; false if there is
// none. The other unit may be in any case.
func Convert(number float64, unit, wanted string) (float64, bool) {
	for _, family := range families {
		source, ok := family[unit]
		if !ok {
			continue
		}
		if target, ok := family[wanted]; ok {
			return number * source / target, true
		}
		for name, target := range family {
			if strings.EqualFold(name, wanted) {
				return number * source / target, true
			}
		}
	}
	return 0, false
}
