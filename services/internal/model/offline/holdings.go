package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// alternatives says what can be asked instead: of the array that the question
// is about, or else of all. It holds no figures, so names with digits are left
// out.
func (p plan) alternatives(arrays []*array) string {
	var b strings.Builder
	if p.array != nil && p.refuse != unclearQuestion {
		fmt.Fprintf(&b, "Of these records it holds: %s.\n", p.array.fieldNames(30))
		arrays = append([]*array{p.array}, arrays...)
	} else {
		b.WriteString("The data holds:\n")
		for _, a := range arrays[:min(len(arrays), 40)] {
			fmt.Fprintf(&b, "- %s: %s\n", a.key, a.fieldNames(12))
		}
	}
	i := slices.IndexFunc(arrays, func(a *array) bool { return !strings.ContainsAny(a.key, "0123456789") })
	a := arrays[max(i, 0)]
	fmt.Fprintf(&b, "You could ask: How many %s are there", a.noun(2))
	if f := a.sorter(); f != nil {
		b.WriteString(" per " + f.path)
	}
	return b.String() + "?"
}

// fieldNames lists up to n fields.
func (a *array) fieldNames(n int) string {
	var names []string
	for _, f := range a.fields() {
		if !strings.ContainsAny(f.path, "0123456789") {
			names = append(names, f.path)
		}
	}
	if len(names) > n {
		names = append(names[:n], "…")
	}
	return strings.Join(names, ", ")
}

// overviewText says, for each array, how many records there are and of what
// kinds.
func overviewText(arrays []*array, results []json.RawMessage) string {
	text := "The data in numbers:"
	for i, raw := range results[:min(len(results), len(arrays))] {
		var s stats
		if json.Unmarshal(raw, &s) != nil || s.Error != nil {
			continue
		}
		text += fmt.Sprintf("\n- %s %s", number(s.total()), arrays[i].noun(s.total()))
		var kinds []string
		for _, g := range s.lines() {
			kinds = append(kinds, g.label+" "+number(g.n))
		}
		if len(kinds) > 5 {
			kinds = append(kinds[:5], "…")
		}
		if f := arrays[i].sorter(); f != nil && len(kinds) > 0 {
			text += fmt.Sprintf(", by %s: %s", f.path, strings.Join(kinds, ", "))
		}
	}
	for i, a := range arrays[min(len(arrays), overviewArrays):] {
		text += map[bool]string{true: "\nFurther arrays: ", false: ", "}[i == 0] + a.key
	}
	return text
}

// sayFields lists the fields that inspect_schema found.
func (p plan) sayFields(raw json.RawMessage) string {
	var schema struct {
		Fields []string `json:"fields"`
		Count  float64  `json:"count"`
	}
	if json.Unmarshal(raw, &schema) != nil {
		return "The fields could not be read."
	}
	return fmt.Sprintf("The %s have the fields %s. There are %s records.", p.array.noun(2), strings.Join(schema.Fields, ", "), number(schema.Count))
}
