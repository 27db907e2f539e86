package render

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// locale formats text and numbers for a reader.
type locale struct {
	printer *message.Printer
	words
}

// words are the translated words of a table.
type words struct {
	total, none, more, by, or, not string
	contains, present, absent      string // of a field
}

// noValue is the group of records without a value.
const noValue = "null"

// languages are those with translations. For another one words are English, and
// numbers keep its format.
var (
	languages    = []language.Tag{language.English, language.German, language.French, language.Spanish}
	translations = []words{
		{"total", "(none)", "%d more", "by", "or", "not", "contains", "present", "absent"},
		{"gesamt", "(ohne)", "%d weitere", "nach", "oder", "nicht", "enthält", "vorhanden", "nicht vorhanden"},
		{"total", "(sans)", "%d de plus", "par", "ou", "pas", "contient", "présent", "absent"},
		{"total", "(sin)", "%d más", "por", "o", "no", "contiene", "presente", "ausente"},
	}
	matcher = language.NewMatcher(languages)
)

func newLocale(name string) locale {
	tag, err := language.Parse(name)
	if err != nil {
		tag = language.English
	}
	_, at, _ := matcher.Match(tag)
	return locale{message.NewPrinter(tag), translations[at]}
}

// figure formats v in the locale.
func (l locale) figure(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	text := rounded(v)
	v, _ = strconv.ParseFloat(text, 64) // rounded returns a valid number
	return l.printer.Sprint(number.Decimal(v, number.MaxFractionDigits(len(text))))
}

// isFormatted reports whether text is v as formatted here or in the answer.
func (l locale) isFormatted(v float64, text string) bool {
	return text == rounded(v) || text == l.figure(v)
}

// rounded formats v with at most three decimals, or three significant digits if it is small.
func rounded(v float64) string {
	decimals := 3
	if size := math.Abs(v); size > 0 && size < 0.1 {
		decimals = 2 - int(math.Floor(math.Log10(size)))
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
}

func (l locale) count(n int) string { return l.printer.Sprintf(l.more, n) }

// label returns the displayed name of a group.
func (l locale) label(name string) string {
	if name == noValue {
		return l.none
	}
	return strings.Join(strings.Fields(name), " ")
}
