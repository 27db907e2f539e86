package analyze

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// figure is a number in a text.
type figure struct {
	text     string
	percent  bool
	readings []reading // 1.234 may be a little more than one, or a thousand
}

// reading is what a figure may mean.
type reading struct {
	value float64
	slack float64 // how far a fraction may be from it that was rounded
	about float64 // how far any number may be: 5.2k is said of 5,230
}

var (
	// A word is a run of letters, digits and what joins them: web-1, 10.0.0.1 and
	// 2024-05-01 are names, no figures.
	word = regexp.MustCompile(`[-+]?(?:\d[\d.,]*[eE]\+\d|[\pL\pN_])[\pL\pN_.,:/@-]*%?`)
	// plain is a number as people write them.
	plain = regexp.MustCompile(`^[-+]?(\d{1,3}([.,]\d{3})+([.,]\d+)?|\d+([.,]\d+)?)$`)
	// exponent is one as programs do.
	exponent = regexp.MustCompile(`^[-+]?\d+(\.\d+)?[eE][-+]?\d+$`)
	// glued is a number with letters behind it: 4711GB, 12x, 40Gbit/s. That some
	// product is called so shows in the results.
	glued = regexp.MustCompile(`^([-+]?\d[\d.,]*)(\pL+)(?:/\pL+)?$`)
	// numbering is that of the items of a list.
	numbering = regexp.MustCompile(`(?m)^\s*\d+[.)]\s`)
)

// ordinals make a number a place in an order.
var ordinals = []string{"st", "nd", "rd", "th"}

// figuresOf are the numbers of a text, in their order.
func figuresOf(text string) []figure {
	text = numbering.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
	var all []figure
	for _, at := range word.FindAllStringIndex(text, -1) {
		w := strings.TrimRight(text[at[0]:at[1]], ".,:/@-_")
		number, attached := strings.CutSuffix(w, "%")
		found := figuresIn(number)
		if len(found) > 0 {
			rest := strings.TrimLeft(text[at[1]:], " \u00a0\u202f")
			found[len(found)-1].percent = attached || strings.HasPrefix(rest, "%") || strings.HasPrefix(rest, "percent")
		}
		all = append(all, found...)
	}
	return all
}

// figuresIn are the numbers that a word is: one, or two as in 16/30.
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

// figureOf is the number that a word is, if it is one.
func figureOf(word string) (figure, bool) {
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

// multiply reads what the unit makes of the number: 5k is 5,000. With more
// behind it, the results may be in any of the units up to that one: 2GB are 2,
// 2,000 or 2,048, and so on.
func (f *figure) multiply(unit string) {
	most := strings.IndexByte("kMGTP", unit[0]) + 1
	if unit[0] == 'K' {
		most = 1
	}
	if most == 0 {
		return
	}
	least, written := 1, f.readings
	if len(unit) == 1 {
		least, f.readings = most, nil
	}
	for _, r := range written {
		for power := least; power <= most; power++ {
			for _, thousand := range []float64{1000, 1024} {
				times := math.Pow(thousand, float64(power))
				f.readings = append(f.readings, reading{value: r.value * times, about: min(r.slack, math.Abs(r.value)*mostAbout) * times})
			}
		}
	}
}

// mostAbout bounds what rounding to a multiple takes: 5k is not said of 5,400.
const mostAbout = 0.05

// newFigure reads a number. A single mark with three digits behind it may begin
// the decimals, or separate thousands.
func newFigure(number string) figure {
	f := figure{text: number}
	digits := strings.TrimLeft(number, "+")
	mark := strings.LastIndexAny(digits, ".,")
	if mark < 0 {
		f.read(digits, "")
		return f
	}
	whole, fraction := only(digits[:mark]), digits[mark+1:]
	if strings.Count(digits, digits[mark:mark+1]) == 1 {
		f.read(whole, fraction)
	}
	if len(fraction) == 3 {
		f.read(whole+fraction, "")
	}
	return f
}

func (f *figure) read(whole, fraction string) {
	if v, err := strconv.ParseFloat(whole+"."+fraction, 64); err == nil {
		f.readings = append(f.readings, reading{value: v, slack: math.Pow10(-len(fraction)) / 2 * (1 + 1e-9)})
	}
}

// only is the sign and the digits of a number.
func only(number string) string { return strings.NewReplacer(".", "", ",", "").Replace(number) }

// is reports whether the figure is v, as it is or rounded.
func (f figure) is(v float64) bool {
	return slices.ContainsFunc(f.readings, func(r reading) bool {
		return r.value == v || math.Abs(r.value-v) <= r.slack && v != math.Trunc(v)
	})
}

// says reports whether the figure is v, which may be rounded to a multiple.
func (f figure) says(v float64) bool {
	return f.is(v) || slices.ContainsFunc(f.readings, func(r reading) bool { return math.Abs(r.value-v) <= r.about })
}

// equals reports whether two figures may mean the same.
func (f figure) equals(other figure) bool {
	return slices.ContainsFunc(other.readings, func(r reading) bool { return f.is(r.value) })
}
