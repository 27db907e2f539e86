package render

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// signs are the operators that are written as signs.
var signs = map[string]string{"ne": "≠", "gt": ">", "gte": "≥", "lt": "<", "lte": "≤"}

// title describes a table: its records and its groups.
func (l locale) title(a query) string {
	text := a.DataKey + " " + l.by + " " + a.GroupBy
	if all := l.conditions(a.Filter); len(all) > 0 {
		text += " (" + strings.Join(all, ", ") + ")"
	}
	return text
}

// conditions returns the conditions of a filter, ordered by field.
func (l locale) conditions(filter map[string]jsontext.Value) []string {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(filter)) {
		var tests map[string]jsontext.Value
		if json.Unmarshal(filter[field], &tests) != nil || tests == nil {
			all = append(all, field+" = "+l.value(filter[field]))
		}
		for _, op := range slices.Sorted(maps.Keys(tests)) {
			all = append(all, field+" "+l.test(op, tests[op]))
		}
	}
	return all
}

// test formats an operator and its operand.
func (l locale) test(op string, with jsontext.Value) string {
	switch op {
	case "exists":
		if with.Kind() == jsontext.KindTrue {
			return l.present
		}
		return l.absent
	case "contains":
		return l.contains + " " + l.value(with)
	case "in":
		var values []jsontext.Value
		_ = json.Unmarshal(with, &values) // the tool rejects anything but a list
		var texts []string
		for _, v := range values {
			texts = append(texts, l.value(v))
		}
		return "= " + strings.Join(texts, " "+l.or+" ")
	}
	return signs[op] + " " + l.value(with)
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
