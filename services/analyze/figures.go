package analyze

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/schemas"
)

// figure is a number in a text.
type figure struct {
	text     string
	percent  bool
	readings []reading // 1.234 is a decimal fraction or 1,234
}

// String returns the figure as written.
func (f figure) String() string {
	if f.percent {
		return f.text + "%"
	}
	return f.text
}

// reading is one interpretation of a figure.
type reading struct {
	value float64
	slack float64 // rounding error if value is a rounded fraction
	about float64 // rounding error if value is a rounded multiple: 5.2k for 5,230
}

var (
	// word matches a run of letters, digits and the characters that join them: web-1,
	// 10.0.0.1 and 2024-05-01 are names, not figures.
	word = regexp.MustCompile(`[-+]?(?:\d[\d.,]*[eE]\+\d|[\pL\pN_])[\pL\pN_.,:/@-]*%?`)
	// plain matches a number with optional thousands separators and decimals.
	plain = regexp.MustCompile(`^[-+]?(\d{1,3}([.,]\d{3})+([.,]\d+)?|\d+([.,]\d+)?)$`)
	// exponent matches a number in scientific notation.
	exponent = regexp.MustCompile(`^[-+]?\d+(\.\d+)?[eE][-+]?\d+$`)
	// glued matches a number followed by letters, such as 4711GB, 12x or 40Gbit/s.
	// A product name of that form matches too; it then appears in the results.
	glued = regexp.MustCompile(`^([-+]?\d[\d.,]*)(\pL+)(?:/\pL+)?$`)
	// grouped matches a number whose thousands are separated by a non-breaking or thin
	// space, or by an apostrophe, as in French and in Switzerland.
	grouped = regexp.MustCompile(`\d{1,3}(?:[\x{a0}\x{202f}\x{2009}'’]\d{3})+`)
	// byteUnit matches a unit of bytes after a number and a space: 4.5 GiB.
	byteUnit = regexp.MustCompile(`^[kKMGTP](?:i?B|i)\b`)
	// numbering matches the numbers of list items.
	numbering = regexp.MustCompile(`(?m)^\s*\d+[.)]\s`)
)

// ordinals are the suffixes of ordinal numbers, which are not figures.
var ordinals = []string{"st", "nd", "rd", "th"}

// figuresOf returns the numbers in text, in order.
func figuresOf(text string) []figure {
	if !hasDigit(text) { // most names
		return nil
	}
	text = numbering.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
	text = grouped.ReplaceAllStringFunc(text,
		strings.NewReplacer("\u00a0", "", "\u202f", "", "\u2009", "", "'", "", "’", "").Replace)
	var figures []figure
	for _, span := range word.FindAllStringIndex(text, -1) {
		w := strings.TrimRight(text[span[0]:span[1]], ".,:/@-_")
		number, attached := strings.CutSuffix(w, "%")
		parsed := figuresIn(number)
		if len(parsed) > 0 {
			rest := strings.TrimLeft(text[span[1]:], " \u00a0\u202f")
			if unit := byteUnit.FindString(rest); unit != "" {
				parsed[len(parsed)-1].multiply(unit)
			}
			parsed[len(parsed)-1].percent = attached || strings.HasPrefix(rest, "%") || strings.HasPrefix(rest, "percent")
		}
		figures = append(figures, parsed...)
	}
	return figures
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// figuresIn returns the numbers in a word: none, one, or two for a form such as 16/30.
func figuresIn(word string) []figure {
	if f, ok := figureOf(word); ok {
		return []figure{f}
	}
	part, whole, _ := strings.Cut(word, "/")
	f, ok := figureOf(part)
	g, both := figureOf(whole)
	if !ok || !both {
		return nil
	}
	return []figure{f, g}
}

// figureOf parses a word as a number.
func figureOf(word string) (figure, bool) {
	if !hasDigit(word) {
		return figure{}, false
	}
	if plain.MatchString(word) {
		return newFigure(word), true
	}
	if exponent.MatchString(word) {
		v, err := strconv.ParseFloat(word, 64)
		return figure{text: word, readings: []reading{{value: v}}}, err == nil
	}
	parts := glued.FindStringSubmatch(word)
	if parts == nil || !plain.MatchString(parts[1]) || slices.Contains(ordinals, parts[2]) {
		return figure{}, false
	}
	f := newFigure(parts[1])
	f.text = word
	f.multiply(parts[2])
	return f, true
}

// multiply applies a unit prefix: 5k is 5,000. With further letters the result may be
// in any unit up to that one: 2GB matches 2, 2,000, 2,048 and so on.
func (f *figure) multiply(unit string) {
	maxPower := strings.IndexByte("kMGTP", unit[0]) + 1
	if unit[0] == 'K' {
		maxPower = 1
	}
	if maxPower == 0 {
		return
	}
	minPower, written := 1, f.readings
	if len(unit) == 1 {
		minPower, f.readings = maxPower, nil
	}
	for _, r := range written {
		for power := minPower; power <= maxPower; power++ {
			for _, thousand := range []float64{1000, 1024} {
				times := math.Pow(thousand, float64(power))
				f.readings = append(f.readings,
					reading{value: r.value * times, about: min(r.slack, math.Abs(r.value)*maxRoundingError) * times})
			}
		}
	}
}

// maxRoundingError bounds the relative error of rounding to a multiple: 5k does not match 5,400.
const maxRoundingError = 0.05

// newFigure parses a number. A single separator with three digits after it is a
// decimal point or a thousands separator, so both readings are kept.
func newFigure(number string) figure {
	f := figure{text: number}
	digits := strings.TrimLeft(number, "+")
	separator := strings.LastIndexAny(digits, ".,")
	if separator < 0 {
		f.read(digits, "")
		return f
	}
	integer, fraction := withoutSeparators(digits[:separator]), digits[separator+1:]
	if strings.Count(digits, digits[separator:separator+1]) == 1 {
		f.read(integer, fraction)
	}
	if len(fraction) == 3 {
		f.read(integer+fraction, "")
	}
	return f
}

func (f *figure) read(integer, fraction string) {
	if v, err := strconv.ParseFloat(integer+"."+fraction, 64); err == nil {
		f.readings = append(f.readings, reading{value: v, slack: math.Pow10(-len(fraction)) / 2 * (1 + 1e-9)})
	}
}

// withoutSeparators returns number without separators.
func withoutSeparators(number string) string {
	return strings.NewReplacer(".", "", ",", "").Replace(number)
}

// is reports whether the figure is v, exact or rounded to a fraction.
func (f figure) is(v float64) bool {
	return slices.ContainsFunc(f.readings, func(r reading) bool {
		return r.value == v || math.Abs(r.value-v) <= r.slack && v != math.Trunc(v)
	})
}

// matches reports whether the figure is v, exact, rounded, or rounded to a multiple.
func (f figure) matches(v float64) bool {
	return f.is(v) || slices.ContainsFunc(f.readings, func(r reading) bool { return math.Abs(r.value-v) <= r.about })
}

// equals reports whether a reading of f matches a reading of other, exact or rounded to a fraction.
func (f figure) equals(o figure) bool {
	return slices.ContainsFunc(o.readings, func(r reading) bool { return f.is(r.value) })
}

// share returns a value and a total of the same metric, where the value is f percent of
// the total: both are of one result, or the totals of two results.
func (f figure) share(occurrences occurrenceIndex) []schemas.Source {
	for _, whole := range occurrences.numbers {
		if !whole.total || whole.value == 0 {
			continue
		}
		for _, parts := range [][]occurrence{occurrences.metrics[whole.metricKey()], occurrences.totals[whole.metric]} {
			for _, part := range parts {
				if f.is(part.value / whole.value * 100) {
					return sources(part, whole)
				}
			}
		}
	}
	return nil
}

// difference returns two values of one metric whose difference is f. A difference
// of zero counts only between a total and a group: the group is the whole.
func (f figure) difference(occurrences occurrenceIndex) []schemas.Source {
	for _, minuend := range occurrences.numbers {
		for _, less := range occurrences.peers[minuend.groupKey()] {
			if minuend.areSums(less) && f.is(minuend.value-less.value) {
				return sources(minuend, less)
			}
		}
		if occurrences.calls[minuend.call] > maxDifferences {
			continue
		}
		for _, less := range occurrences.metrics[minuend.metricKey()] {
			if f.is(minuend.value-less.value) &&
				(minuend.value > less.value || minuend.total && !less.total) {
				return sources(minuend, less)
			}
		}
	}
	return nil
}

// ratio returns two values of one group, or two totals, of different metrics of one call
// whose ratio is f.
func (f figure) ratio(occurrences occurrenceIndex) []schemas.Source {
	for _, dividend := range occurrences.numbers {
		for _, divisor := range occurrences.peers[dividend.groupKey()] {
			if dividend.areSums(divisor) && divisor.value != 0 && f.is(dividend.value/divisor.value) {
				return sources(dividend, divisor)
			}
		}
	}
	return nil
}
