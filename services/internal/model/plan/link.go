package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cairn/services/internal/estate"
)

// Problem is what is wrong with a call: a note for the reader of the answer, and the schema of a second attempt.
type Problem struct {
	Note        string
	Restriction *Restriction // nil: a second attempt would not help
}

const maxNearest = 5 // values that a note lists

// linkValues links the values of the conditions to those of the estate: case, spaces and punctuation, a number or
// boolean written as text, null for a missing value, a year or month for the dates in it. Notes name the
// changes. It returns a problem for each value that does not occur in its field.
func linkValues(a *Array, c *Call) (problems []Problem) {
	var linked []Condition
	for _, condition := range c.Filter {
		f := a.Field(condition.Field)
		if f == nil {
			problems = append(problems, Problem{Note: fmt.Sprintf("%s has no field %s", a.Key, condition.Field)})
			continue
		}
		conditions, note, problem := linkCondition(f, condition)
		if problem != nil {
			problems = append(problems, *problem)
		}
		if note != "" {
			c.Notes = append(c.Notes, note)
		}
		linked = append(linked, conditions...)
	}
	c.Filter = linked
	for _, field := range fieldsOf(linked) {
		elements := 0
		for _, o := range linked {
			if o.Field == field && (o.Op == opContains || o.Op == opLacks) {
				elements++
			}
		}
		if elements > 1 {
			problems = append(problems, Problem{Note: "one computation has one element or part of " + field})
		}
	}
	return problems
}

func linkCondition(f *Field, c Condition) (linked []Condition, note string, problem *Problem) {
	value := decodeValue(c.Value)
	denies := c.Op == opNe
	switch {
	case c.Op == opMissing && !f.optional() && f.hasEmpty():
		return []Condition{{f.Path, opEq, JSON("")}}, "", nil
	case c.Op == opMissing || c.Op == opEq && (value == nil || value == "" && !f.hasEmpty()):
		return []Condition{{f.Path, opMissing, null}}, "", nil
	case c.Op == opPresent || denies && (value == nil || value == "" && !f.hasEmpty()):
		return []Condition{{f.Path, opPresent, null}}, "", nil
	case f.object():
		op := opPresent
		if denies || value == false {
			op = opMissing
		}
		return []Condition{{f.Path, op, null}}, "", nil
	case c.Op != opEq && !denies && c.Op != opContains:
		return []Condition{{f.Path, c.Op, comparable(f, value)}}, "", nil
	case f.boolean():
		if b, ok := truth(value); ok {
			return []Condition{{f.Path, c.Op, JSON(b)}}, "", nil
		}
	case f.date():
		if between, ok := period(f.Path, fmt.Sprint(value)); ok && c.Op == opEq {
			return between, "", nil
		}
	}
	return linkValue(f, c, value)
}

var null = json.RawMessage("null")

// linkValue links a value to those of the field that are equal after folding; several are spellings of one value.
func linkValue(f *Field, c Condition, value any) (linked []Condition, note string, problem *Problem) {
	text := fmt.Sprint(value)
	if n, ok := value.(float64); ok {
		text = strconv.FormatFloat(n, 'f', -1, 64)
	}
	_, isText := value.(string)
	values, equal := f.values(), f.spellings(text)
	exact := slices.IndexFunc(values, func(v estate.Value) bool {
		return v.Text == text && (v.Type == "string") == isText
	})
	switch {
	case exact >= 0 && len(equal) < 2:
		equal = values[exact : exact+1]
	case len(equal) > 1:
		note = fmt.Sprintf("%s: %s are taken as one value", f.Path, strings.Join(textsOf(equal, maxNearest), ", "))
	case len(equal) == 1:
		if equal[0].Text != text {
			note = fmt.Sprintf("%s: %q is written %q", f.Path, text, equal[0].Text)
		}
	case c.Op == opContains && slices.ContainsFunc(values, func(v estate.Value) bool {
		return strings.Contains(v.Text, text)
	}):
		return []Condition{{f.Path, opContains, JSON(text)}}, "", nil
	default:
		return nil, "", unknownValue(f, text)
	}
	return conditionsOf(f, c, equal), note, nil
}

// conditionsOf returns the condition with the values. An element of a list is contained, not equal.
func conditionsOf(f *Field, c Condition, values []estate.Value) (linked []Condition) {
	for _, v := range values {
		op := c.Op
		switch {
		case op == opNe && f.list():
			op = opLacks
		case f.list():
			op = opContains
		case op == opContains:
			op = opEq
		}
		linked = append(linked, Condition{f.Path, op, v.JSON()})
	}
	return linked
}

// unknownValue describes a value that does not occur in the field: the field of the array that has it, or the
// nearest values.
func unknownValue(f *Field, text string) *Problem {
	p := &Problem{Restriction: &Restriction{DataKey: f.Array.Key}}
	for _, sibling := range f.Array.Fields {
		if sibling != f && sibling.scalar() && len(sibling.spellings(text)) > 0 {
			p.Restriction.Filter = append(p.Restriction.Filter, sibling.Path)
		}
	}
	values := f.values()
	switch {
	case len(p.Restriction.Filter) > 0:
		p.Note = fmt.Sprintf("no record has %s %q; %s has that value", f.Path, text, strings.Join(p.Restriction.Filter, ", "))
	case len(values) <= fewValues:
		p.Note = fmt.Sprintf("no record has %s %q; its values are %s", f.Path, text,
			strings.Join(textsOf(values, fewValues), ", "))
	default:
		p.Note = fmt.Sprintf("no record has %s %q, which has %d other values%s", f.Path, text, f.distinct(),
			nearest(text, values))
	}
	return p
}

// nearest lists the values that contain the text, or are contained in it; empty if there are none.
func nearest(text string, values []estate.Value) string {
	folded := fold(text)
	var near []estate.Value
	for _, v := range values {
		if spelling := fold(v.Text); folded != "" && spelling != "" &&
			(strings.Contains(spelling, folded) || strings.Contains(folded, spelling)) {
			near = append(near, v)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return ", such as " + strings.Join(textsOf(near, maxNearest), ", ")
}

// textsOf returns the texts of up to n values.
func textsOf(values []estate.Value, n int) (texts []string) {
	for _, v := range values[:min(n, len(values))] {
		texts = append(texts, v.Text)
	}
	if len(values) > n {
		texts = append(texts, "…")
	}
	return texts
}

// decodeValue returns a string, float64, bool or nil.
func decodeValue(raw json.RawMessage) (value any) {
	_ = json.Unmarshal(raw, &value)
	return value
}

// truth reads a boolean, or the word for one.
func truth(value any) (b, ok bool) {
	switch strings.ToLower(fmt.Sprint(value)) {
	case "true", "yes", "on", "1", "enabled":
		return true, true
	case "false", "no", "off", "0", "disabled":
		return false, true
	}
	return false, false
}

// comparable returns the operand of a comparison: a number written as text becomes one where the field has numbers.
func comparable(f *Field, value any) json.RawMessage {
	if text, ok := value.(string); ok && f.has("number") {
		if n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64); err == nil {
			return JSON(n)
		}
	}
	return JSON(value)
}

// period returns the conditions for the dates in a year or a month.
func period(path, text string) ([]Condition, bool) {
	year, month, _ := strings.Cut(text, "-")
	y, err := strconv.Atoi(year)
	if err != nil || len(year) != 4 {
		return nil, false
	}
	start, end := year, strconv.Itoa(y+1)
	if month != "" {
		m, err := strconv.Atoi(month)
		if err != nil || m < 1 || m > 12 {
			return nil, false
		}
		if start, end = fmt.Sprintf("%d-%02d", y, m), fmt.Sprintf("%d-%02d", y, m+1); m == 12 {
			end = fmt.Sprintf("%d-01", y+1)
		}
	}
	return []Condition{{path, opGte, JSON(start)}, {path, opLt, JSON(end)}}, true
}
