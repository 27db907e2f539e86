package render

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// tongue is the language of the reader.
type tongue struct {
	printer *message.Printer
	words
}

// words are the few of our own.
type words struct {
	total, none, more, by, or string
	contains, present, absent string // of a field
}

// noValue is the group of the records without a value.
const noValue = "null"

// spoken are the languages that the words are known in, the first where
// another is wanted: figures are written in that other's way.
var (
	spoken = []language.Tag{language.English, language.German, language.French, language.Spanish}
	known  = []words{
		{"total", "(none)", "%d more", "by", "or", "contains", "present", "absent"},
		{"gesamt", "(ohne)", "%d weitere", "nach", "oder", "enthält", "vorhanden", "nicht vorhanden"},
		{"total", "(sans)", "%d de plus", "par", "ou", "contient", "présent", "absent"},
		{"total", "(sin)", "%d más", "por", "o", "contiene", "presente", "ausente"},
	}
	matcher = language.NewMatcher(spoken)
)

func tongueOf(name string) tongue {
	tag, err := language.Parse(name)
	if err != nil {
		tag = language.English
	}
	_, at, _ := matcher.Match(tag)
	return tongue{message.NewPrinter(tag), known[at]}
}

// figure is v as the reader writes numbers.
func (t tongue) figure(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	text := rounded(v)
	v, _ = strconv.ParseFloat(text, 64) // it was just written
	return t.printer.Sprint(number.Decimal(v, number.MaxFractionDigits(len(text))))
}

// shows reports whether v is shown as the number that text is.
func (t tongue) shows(v float64, text string) bool {
	return text == rounded(v) || text == t.figure(v)
}

// rounded is v with three decimals at most, or small as it is with three digits.
func rounded(v float64) string {
	decimals := 3
	if size := math.Abs(v); size > 0 && size < 0.1 {
		decimals = 2 - int(math.Floor(math.Log10(size)))
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
}

func (t tongue) count(n int) string { return t.printer.Sprintf(t.more, n) }

// label is the name of a group; those without a value have none.
func (t tongue) label(name string) string {
	if name == noValue {
		return t.none
	}
	return strings.Join(strings.Fields(name), " ")
}
