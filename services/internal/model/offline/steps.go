package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// step is a tool call that a plan needs.
type step struct {
	tool  string
	input any
}

const (
	inspectSchema = "inspect_schema"
	computeStats  = "compute_stats"
)

// overviewArrays is how many arrays an overview breaks down.
const overviewArrays = 12

// steps are the calls of the plan, in order. They depend on nothing but the
// plan, so that each turn of the conversation finds the same ones.
func (p plan) steps(arrays []*array) []step {
	switch {
	case p.refuse != "":
		return nil
	case p.intent == overview:
		return overviewSteps(arrays)
	case p.intent == fields:
		return []step{{inspectSchema, inspectInput{p.array.key}}}
	}
	if p.apart() {
		return []step{{computeStats, p.input(nil)}, {computeStats, p.input(nil, append([]cond{*p.goal}, p.also...)...)}}
	}
	return []step{{computeStats, p.input(p.group)}}
}

func overviewSteps(arrays []*array) []step {
	var out []step
	for _, a := range arrays[:min(len(arrays), overviewArrays)] {
		in := statsInput{DataKey: a.key, Filter: map[string]json.RawMessage{}, Metrics: []string{"count"}}
		if f := a.sorter(); f != nil {
			in.GroupBy = f.path
		}
		out = append(out, step{computeStats, in})
	}
	return out
}

// sorter is the field that best sorts the records into a few kinds: the first
// that nearly all have, with 2 to 12 values.
func (a *array) sorter() *field {
	for _, f := range a.fields() {
		if !f.textual() || strings.Contains(f.path, ".") {
			continue
		}
		c := f.column()
		if len(c.values) >= 2 && len(c.values) <= 12 && c.records > 2*len(c.values) {
			return f
		}
	}
	return nil
}

// text is the plan's answer, from the results of its steps.
func (p plan) text(arrays []*array, results []json.RawMessage) string {
	switch {
	case p.refuse != "":
		return p.refuse + "\n\n" + p.alternatives(arrays)
	case p.intent == overview:
		return overviewText(arrays, results)
	case p.intent == fields:
		return p.sayFields(results[0])
	}
	return p.answer(results)
}

// alternatives says what can be asked instead: of the array that the question
// is about, or else of all.
func (p plan) alternatives(arrays []*array) string {
	if p.array == nil || p.refuse == unclearQuestion {
		return holdings(arrays)
	}
	return fmt.Sprintf("Of these records it holds: %s.\n%s", p.array.fieldNames(30), example(append([]*array{p.array}, arrays...)))
}

// holdings lists what the data holds, without figures, and a question that it
// can answer.
func holdings(arrays []*array) string {
	var b strings.Builder
	b.WriteString("The data holds:\n")
	for _, a := range arrays[:min(len(arrays), 40)] {
		fmt.Fprintf(&b, "- %s: %s\n", a.key, a.fieldNames(12))
	}
	return b.String() + example(arrays)
}

// fieldNames lists up to n fields. Names with digits are left out: they look
// like figures.
func (a *array) fieldNames(n int) string {
	var names []string
	for _, f := range a.fields() {
		switch {
		case strings.ContainsAny(f.path, "0123456789"):
		case len(names) == n:
			return strings.Join(names, ", ") + ", …"
		default:
			names = append(names, f.path)
		}
	}
	return strings.Join(names, ", ")
}

// example is a question about the first of the arrays whose name has no digits.
func example(arrays []*array) string {
	i := slices.IndexFunc(arrays, func(a *array) bool { return !strings.ContainsAny(a.key, "0123456789") })
	a := arrays[max(i, 0)]
	p := plan{array: a}
	if f := a.sorter(); f != nil {
		return fmt.Sprintf("You could ask: How many %s are there per %s?", p.noun(2), f.path)
	}
	return fmt.Sprintf("You could ask: How many %s are there?", p.noun(2))
}

// overviewText says, for each array, how many records there are and of what
// kinds.
func overviewText(arrays []*array, results []json.RawMessage) string {
	var b strings.Builder
	b.WriteString("The data in numbers:\n")
	for i, raw := range results[:min(len(results), len(arrays))] {
		s, ok := readStats(raw)
		if !ok {
			continue
		}
		p := plan{array: arrays[i]}
		fmt.Fprintf(&b, "- %s %s", number(s.Total), p.noun(s.Total))
		lines := s.ranked()
		if f := arrays[i].sorter(); f != nil && len(lines) > 0 {
			var kinds []string
			for _, g := range lines[:min(len(lines), 5)] {
				kinds = append(kinds, g.label+" "+number(g.n))
			}
			fmt.Fprintf(&b, ", by %s: %s%s", f.path, strings.Join(kinds, ", "), map[bool]string{true: ", …"}[len(lines) > 5])
		}
		b.WriteString("\n")
	}
	if len(arrays) > overviewArrays {
		var rest []string
		for _, a := range arrays[overviewArrays:] {
			rest = append(rest, a.key)
		}
		b.WriteString("Further arrays: " + strings.Join(rest, ", ") + ".")
	}
	return strings.TrimSpace(b.String())
}

// sayFields lists the fields that inspect_schema found.
func (p plan) sayFields(raw json.RawMessage) string {
	var schema struct {
		Fields []string `json:"fields"`
		Count  int      `json:"count"`
	}
	if json.Unmarshal(raw, &schema) != nil {
		return "The fields could not be read."
	}
	return fmt.Sprintf("The %s have the fields %s. There are %d records.", p.noun(2), strings.Join(schema.Fields, ", "), schema.Count)
}
