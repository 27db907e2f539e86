package render

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// signs are the operators of a filter that need no words.
var signs = map[string]string{"ne": "≠", "gt": ">", "gte": "≥", "lt": "<", "lte": "≤"}

// title says what a table is of: which records, in which groups.
func (in tongue) title(a asked) string {
	text := a.DataKey + " " + in.by + " " + a.GroupBy
	if all := in.conditions(a.Filter); len(all) > 0 {
		text += " (" + strings.Join(all, ", ") + ")"
	}
	return text
}

// conditions are those of a filter, in the order of its fields.
func (in tongue) conditions(filter map[string]jsontext.Value) []string {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(filter)) {
		var tests map[string]jsontext.Value
		if json.Unmarshal(filter[field], &tests) != nil || tests == nil {
			all = append(all, field+" = "+in.value(filter[field]))
		}
		for _, op := range slices.Sorted(maps.Keys(tests)) {
			all = append(all, field+" "+in.test(op, tests[op]))
		}
	}
	return all
}

// test is what an operator asks of a field.
func (in tongue) test(op string, with jsontext.Value) string {
	switch op {
	case "exists":
		if with.Kind() == jsontext.KindTrue {
			return in.present
		}
		return in.absent
	case "contains":
		return in.contains + " " + in.value(with)
	case "in":
		var values []jsontext.Value
		_ = json.Unmarshal(with, &values) // what is no list has given no table
		var texts []string
		for _, v := range values {
			texts = append(texts, in.value(v))
		}
		return "= " + strings.Join(texts, " "+in.or+" ")
	}
	return signs[op] + " " + in.value(with)
}

// value is v as people write it. Text that looks like another value is quoted;
// integers, which may be years or numbers of things, stay as they are.
func (in tongue) value(v jsontext.Value) string {
	text := strings.TrimSpace(string(v))
	switch v.Kind() {
	case jsontext.KindNull:
		return in.none
	case jsontext.KindString:
		var s string
		if json.Unmarshal(v, &s) == nil && !jsontext.Value(s).IsValid() {
			text = strings.Join(strings.Fields(s), " ")
		}
	case jsontext.KindNumber:
		var f float64
		if json.Unmarshal(v, &f) == nil && strings.ContainsAny(text, ".eE") {
			text = in.figure(f)
		}
	}
	return text
}
