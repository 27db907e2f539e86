package render

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"cairn/services/internal/markdown"
)

// locale formats text and numbers for a reader.
type locale struct {
	printer *message.Printer
	words
}

// words are the translated words of a table.
type words struct {
	total, none, rest, per, or, not string
	contains, starts                string // of a text
	present, absent                 string // of a field
}

// noValue is the group of records without a value.
const noValue = "null"

// languages are those with translations. For any other language, words are
// English and numbers have the format of that language.
var (
	languages    = []language.Tag{language.English, language.German, language.French, language.Spanish}
	translations = []words{
		{"total", "(none)", "%d more", "by", "or", "not", "contains", "starts with", "present", "absent"},
		{"gesamt", "(ohne)", "%d weitere", "nach", "oder", "nicht", "enthält", "beginnt mit", "vorhanden",
			"nicht vorhanden"},
		{"total", "(sans)", "%d de plus", "par", "ou", "pas", "contient", "commence par", "présent", "absent"},
		{"total", "(sin)", "%d más", "por", "o", "no", "contiene", "empieza por", "presente", "ausente"},
	}
	matcher = language.NewMatcher(languages)
)

func newLocale(name string) locale {
	tag, err := language.Parse(name)
	if err != nil {
		tag = language.English
	}
	_, index, _ := matcher.Match(tag)
	return locale{message.NewPrinter(tag), translations[index]}
}

// figure formats v in the locale.
func (l locale) figure(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	text := markdown.Number(v)
	v, _ = strconv.ParseFloat(text, 64) // the text is a valid number
	return l.printer.Sprint(number.Decimal(v, number.MaxFractionDigits(len(text))))
}

// isFormatted reports whether text is f as formatted here or in the answer.
func (l locale) isFormatted(f figure, text string) bool {
	if f.text != "" {
		return text == f.text || text == markdown.Escape(f.text)
	}
	return text == markdown.Number(f.number) || text == l.figure(f.number)
}

func (l locale) count(n int) string { return l.printer.Sprintf(l.rest, n) }

// label returns the displayed name of a group.
func (l locale) label(name string) string {
	if name == noValue {
		return l.none
	}
	return strings.Join(strings.Fields(name), " ")
}

// title describes a table: its records, and the fields that group or order them.
func (l locale) title(a query, fields []string) string {
	text := a.DataKey
	if len(fields) > 0 {
		text += " " + l.per + " " + strings.Join(fields, ", ")
	}
	conditions := append(l.conditions(a.Filter), l.conditions(a.Having)...)
	var alternatives []string
	for _, f := range a.AnyOf {
		alternatives = append(alternatives, strings.Join(l.conditions(f), " + "))
	}
	if len(alternatives) > 0 {
		conditions = append(conditions, strings.Join(alternatives, " "+l.or+" "))
	}
	if len(conditions) > 0 {
		text += " (" + strings.Join(conditions, ", ") + ")"
	}
	return text
}

// conditions returns the conditions of a filter, ordered by field.
func (l locale) conditions(filter map[string]jsontext.Value) []string {
	var texts []string
	for _, field := range slices.Sorted(maps.Keys(filter)) {
		tests := l.tests(filter[field])
		if tests == nil {
			tests = []string{"= " + l.value(filter[field])}
		}
		for _, test := range tests {
			texts = append(texts, field+" "+test)
		}
	}
	return texts
}

// tests formats the operators of a condition, which is nil for a value.
func (l locale) tests(condition jsontext.Value) (texts []string) {
	var tests map[string]jsontext.Value
	_ = json.Unmarshal(condition, &tests) // a value has no operators
	for _, op := range slices.Sorted(maps.Keys(tests)) {
		if op != "ignore_case" { // says how others compare
			texts = append(texts, l.test(op, tests[op]))
		}
	}
	return texts
}

// test formats an operator and its operand.
func (l locale) test(op string, operand jsontext.Value) string {
	switch op {
	case "exists":
		if operand.Kind() == jsontext.KindTrue {
			return l.present
		}
		return l.absent
	case "contains":
		return l.contains + " " + l.value(operand)
	case "starts_with":
		return l.starts + " " + l.value(operand)
	case "not":
		return l.not + " (" + strings.Join(l.tests(operand), ", ") + ")"
	case "in":
		if operand.Kind() == jsontext.KindBeginObject {
			break // values of another array
		}
		var values []jsontext.Value
		_ = json.Unmarshal(operand, &values) // the tool rejects anything but a list
		var texts []string
		for _, v := range values {
			texts = append(texts, l.value(v))
		}
		return "= " + strings.Join(texts, " "+l.or+" ")
	}
	var reference struct {
		DataKey string                    `json:"data_key"` // empty: the field of the same record
		Field   string                    `json:"field"`
		Filter  map[string]jsontext.Value `json:"filter"`
	}
	if operand.Kind() == jsontext.KindBeginObject && json.Unmarshal(operand, &reference) == nil {
		text := signs[op] + " " + strings.Trim(reference.DataKey+"."+reference.Field, ".")
		if tests := l.conditions(reference.Filter); len(tests) > 0 {
			text += " (" + strings.Join(tests, ", ") + ")"
		}
		return text
	}
	return signs[op] + " " + l.value(operand)
}

// value formats v for the reader. A string that looks like another type stays quoted;
// integers, which may be years or identifiers, are not grouped.
func (l locale) value(v jsontext.Value) string {
	text := strings.TrimSpace(string(v))
	switch v.Kind() {
	case jsontext.KindNull:
		return l.none
	case jsontext.KindString:
		var s string
		if json.Unmarshal(v, &s) == nil && !jsontext.Value(s).IsValid() {
			text = strings.Join(strings.Fields(s), " ")
		}
	case jsontext.KindNumber:
		var f float64
		if json.Unmarshal(v, &f) == nil && strings.ContainsAny(text, ".eE") {
			text = l.figure(f)
		}
	}
	return text
}

// signs are the mathematical signs of operators.
var signs = map[string]string{
	"eq": "=", "ne": "≠", "gt": ">", "gte": "≥", "lt": "<", "lte": "≤", "in": "∈", "matches": "~",
}
