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
	slack float64 // how far a number may be from it that was rounded
}

var (
	// A word is a run of letters, digits and what joins them: web-1, 10.0.0.1 and
	// 2024-05-01 are names, no figures.
	word = regexp.MustCompile(`[-+]?[\pL\pN_][\pL\pN_.,:/@-]*%?`)
	// plain is a number as people write them.
	plain = regexp.MustCompile(`^[-+]?(\d{1,3}([.,]\d{3})+([.,]\d+)?|\d+([.,]\d+)?)$`)
	// numbering is that of the items of a list.
	numbering = regexp.MustCompile(`(?m)^\s*\d+[.)]\s`)
)

// figuresOf are the numbers of a text, in their order.
func figuresOf(text string) []figure {
	text = numbering.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
	var all []figure
	for _, at := range word.FindAllStringIndex(text, -1) {
		w := strings.TrimRight(text[at[0]:at[1]], ".,:/@-_")
		number, attached := strings.CutSuffix(w, "%")
		if !plain.MatchString(number) {
			continue
		}
		f := newFigure(number)
		rest := strings.TrimLeft(text[at[1]:], " \u00a0\u202f")
		f.percent = attached || strings.HasPrefix(rest, "%") || strings.HasPrefix(rest, "percent")
		all = append(all, f)
	}
	return all
}

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
		f.readings = append(f.readings, reading{v, math.Pow10(-len(fraction)) / 2 * (1 + 1e-9)})
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

// equals reports whether two figures may mean the same.
func (f figure) equals(other figure) bool {
	return slices.ContainsFunc(other.readings, func(r reading) bool { return f.is(r.value) })
}
