package render

import (
	"math"
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
type words struct{ total, none, more string }

// spoken are the languages that the words are known in, the first where
// another is wanted: figures are written in that other's way.
var (
	spoken = []language.Tag{language.English, language.German, language.French, language.Spanish}
	known  = []words{
		{"total", "(none)", "%d more"},
		{"gesamt", "(ohne)", "%d weitere"},
		{"total", "(sans)", "%d de plus"},
		{"total", "(sin)", "%d más"},
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
	return t.printer.Sprint(number.Decimal(v, number.MaxFractionDigits(3)))
}

func (t tongue) count(n int) string { return t.printer.Sprintf(t.more, n) }

// label is the name of a group; those without a value have none.
func (t tongue) label(name string) string {
	if name == "null" {
		return t.none
	}
	return strings.Join(strings.Fields(name), " ")
}
