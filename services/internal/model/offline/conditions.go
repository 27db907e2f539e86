package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/services/internal/estate"
)

// cond is a condition on one field. Which records meet it is told by a filter,
// or by the groups of the field: those with its labels, or with any others.
type cond struct {
	field  *field
	filter json.RawMessage // nil when no filter can say it
	labels []string        // nil when groups cannot tell
	rest   bool            // labels and, in a goal, filter are of those that do not meet it
	shown  bool            // a result is to show it beside its opposite
	values []estate.Value
	phrase string // "site Oslo", after "with" or "have"
	at     int    // where in the question
}

// absent is the group of the records without a value; the others are empty.
const absent = "null"

var none = []string{absent, "[]", "{}"}

// condition is what m asks of the records; false when it only names a field.
func (r reading) condition(m match) (cond, bool) {
	c, ok := cond{}, true
	f, denied := m.field, r.neg[m.start()] != m.denied
	switch {
	case m.role == asValue && f.listed():
		c = inList(f, m.values, denied)
	case m.role == asValue:
		c = equal(f, m.values, denied)
	case m.role == asNumber:
		c = within(f, m.limits)
	case m.role == asField:
		c, ok = r.state(m, denied)
	default:
		return c, false
	}
	c.field, c.at = f, m.end()
	return c, ok && len(m.values)+len(c.phrase) > 0
}

// state is what a field that is only named asks for: a flag that is on or off,
// or that there is a value or none.
func (r reading) state(m match, denied bool) (cond, bool) {
	f, yes := m.field, !denied && !r.off
	for i := m.end(); i < len(r.q) && i < m.end()+4; i++ {
		if oneOf(r.q[i].low, "true|false") && f.has("boolean") {
			mark(r.consumed, i, i+1)
			return flagged(f, r.q[i].low == "true"), true
		}
	}
	if f.flag() {
		return flagged(f, yes || denied && r.off), true
	}
	if on, offs := f.polar(); on != nil {
		if !yes {
			on = offs
		}
		return equal(f, on, false), true
	}
	if f.has("boolean") && !f.dated() {
		if !yes {
			return flagged(f, false), true
		}
		return cond{filter: json.RawMessage(`{"ne":false,"exists":true}`), phrase: "a " + f.path, shown: true}, true
	}
	hollow := !slices.ContainsFunc(f.types, func(t string) bool { return t != "null" })
	sparse := f.filled() < f.column().Records
	switch {
	case denied:
		return unset(f), true
	case r.had(m), hollow, sparse && r.intent.conditional() && (f.dated() || !r.focus.has(m.start())):
		return cond{filter: json.RawMessage(`{"ne":null}`), labels: none, rest: true, shown: true, phrase: "a value of " + f.path}, true
	}
	return cond{}, false
}

// had says whether records are said to have the field: "have", "with" or the
// like stands before, and no other name between.
func (r reading) had(m match) bool {
	for i, n := m.start()-1, 0; i >= 0 && n < 5; i, n = i-1, n+1 {
		if oneOf(r.q[i].low, "have|has|had|having|with|carry|carries|carrying|contain|contains|include|report|reports|specify|set|define|defines|any") {
			return true
		}
		if o, ok := r.at(i, asArray, asField, asValue); ok && o.whole >= 0.5 {
			break
		}
	}
	return false
}

// flagged asks for records where f is true, or where it is false or, when no
// record says so, not there.
func flagged(f *field, want bool) cond {
	label, filter := fmt.Sprint(want), fmt.Sprint(want)
	if !want && !slices.ContainsFunc(f.column().Values, func(v estate.Value) bool { return v.Text == "false" }) && f.filled() < f.column().Records {
		return unset(f)
	}
	return cond{filter: json.RawMessage(filter), labels: []string{label}, shown: true, phrase: f.path + " = " + label}
}

// unset asks for records without a value: where the field is null, or where it
// is not there, or empty. One filter cannot say all of that.
func unset(f *field) cond {
	c := cond{labels: none, shown: true, phrase: "no value of " + f.path}
	switch column := f.column(); {
	case column.Null > 0 && column.Missing == 0:
		c.filter = json.RawMessage(`null`)
	case column.Null == 0 && column.Missing > 0:
		c.filter = json.RawMessage(`{"exists":false}`)
	case f.has("array"):
		c.filter = json.RawMessage(`[]`)
	case column.Null == 0:
		c.filter = json.RawMessage(`null`)
	}
	return c
}

// equal asks for records with one of the values, or denied with none of them.
func equal(f *field, values []estate.Value, denied bool) cond {
	c := cond{values: values, phrase: f.path + " " + labels(values), rest: denied, shown: denied && len(values) > 1}
	for _, v := range values {
		c.labels = append(c.labels, v.Text)
	}
	if !denied {
		c.filter = in(values)
		return c
	}
	c.phrase = f.path + " other than " + labels(values)
	if c.filter = []byte(`{"ne":` + string(in(values)) + `}`); len(values) > 1 {
		c.filter = in(slices.DeleteFunc(slices.Clone(f.column().Values), func(v estate.Value) bool { return slices.Contains(c.labels, v.Text) }))
	}
	return c
}

// in is the filter for any of the values.
func in(values []estate.Value) json.RawMessage {
	var out []string
	for _, v := range values {
		out = append(out, string(v.JSON()))
	}
	if len(out) == 1 {
		return json.RawMessage(out[0])
	}
	return json.RawMessage(`{"in":[` + strings.Join(out, ",") + `]}`)
}

// inList asks for records whose list has a value, or has it not.
func inList(f *field, values []estate.Value, denied bool) cond {
	c := cond{values: values, rest: denied, shown: denied, phrase: labels(values) + " in " + f.path}
	if c.filter = json.RawMessage(`{"contains":` + string(values[0].JSON()) + `}`); denied {
		c.phrase = "no " + c.phrase
	}
	return c
}

var signs = map[string]string{"gt": " more than ", "gte": " at least ", "lt": " less than ", "lte": " at most ", "eq": " of "}

// within asks for records where the field's number or date is within limits.
func within(f *field, limits []limit) cond {
	var filters, phrases []string
	for _, l := range limits {
		to := l.to
		if !f.numeric() {
			to = `"` + to + `"`
		}
		phrases = append(phrases, signs[l.op]+l.to)
		if l.op == "eq" {
			return cond{filter: json.RawMessage(to), phrase: f.path + signs["eq"] + l.to}
		}
		filters = append(filters, fmt.Sprintf("%q:%s", l.op, to))
	}
	return cond{filter: json.RawMessage("{" + strings.Join(filters, ",") + "}"), phrase: f.path + strings.Join(phrases, " and")}
}

func labels(values []estate.Value) string {
	var out []string
	for _, v := range values {
		out = append(out, v.Text)
	}
	if len(out) > 8 {
		return fmt.Sprintf("%s and %d others", strings.Join(out[:8], ", "), len(out)-8)
	}
	return strings.Join(out, " or ")
}

// join makes one condition of two on the same field: either of two values, or
// two limits.
func (c cond) join(o cond) (cond, bool) {
	limits := func(c cond) bool { return c.values == nil && strings.HasPrefix(string(c.filter), `{"`) && !c.shown }
	switch {
	case c.values != nil && o.values != nil && !c.field.listed() && c.rest == o.rest:
		out := equal(c.field, append(slices.Clone(c.values), o.values...), c.rest)
		out.field, out.at = c.field, max(c.at, o.at)
		return out, true
	case limits(c) && limits(o) && c.filter[2] != o.filter[2]:
		c.filter = slices.Concat(c.filter[:len(c.filter)-1], []byte(","), o.filter[1:])
		c.phrase += " and" + strings.TrimPrefix(o.phrase, c.field.path)
		return c, true
	}
	return c, false
}
