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
	field   *field
	filter  json.RawMessage // nil when no filter can say it
	inverse json.RawMessage // without a filter, that of those that do not meet it
	labels  []string        // nil when groups cannot tell
	rest    bool            // labels are of those that do not meet it
	shown   bool            // a result is to show it beside its opposite
	values  []estate.Value  // that are named
	phrase  string          // "site Oslo", after "with" or "have"
	at      int             // where in the question
}

// absent is the group of the records without a value; the others are empty.
const absent = "null"

var none = []string{absent, "[]", "{}"}

// condition is what m asks of the records; false when it only names a field.
func (r reading) condition(m match) (c cond, ok bool) {
	f, denied := m.field, r.neg[m.start()] != m.denied
	switch {
	case m.role == asValue && f.listed():
		c = inList(f, m.values, denied)
	case m.role == asValue:
		c = equal(f, m.values, denied)
	case m.role == asNumber:
		c = within(f, m.limits)
	case m.role == asField && (m.whole >= 0.5 || m.speaksFor()):
		c = r.state(m, denied)
	}
	c.field, c.at = f, m.end()
	return c, c.phrase != ""
}

// speaksFor says whether a part of the field's name is enough: it says yes or
// no of what the word names.
func (m match) speaksFor() bool {
	if !m.plain || m.whole < 0.25 {
		return false
	}
	yes, _ := m.field.polar()
	return yes != nil
}

// state is what a field that is only named asks for: a flag that is on or off,
// or that there is a value or none. It is empty when nothing is asked.
func (r reading) state(m match, denied bool) cond {
	f := m.field
	yes := denied == r.off
	if i, _ := find(r.q[:min(len(r.q), m.end()+4)], m.end(), "true|false"); i >= 0 && f.has("boolean") {
		mark(r.consumed, i, i+1)
		return flagged(f, r.q[i].low == "true")
	}
	on, offs := f.polar()
	switch {
	case f.flag():
		return flagged(f, yes)
	case on != nil && yes:
		return equal(f, on, false)
	case on != nil:
		return equal(f, offs, false)
	case denied && f.numeric() && f.filled() == f.column().Records:
		return within(f, []limit{{"eq", "0"}})
	case denied:
		return unset(f)
	case r.had(m):
		return cond{filter: json.RawMessage(`{"ne":null}`), labels: none, rest: true, shown: true, phrase: "a value of " + f.path}
	}
	return cond{}
}

// had says whether records are said to have the field: "have", "with" or the
// like stands before.
func (r reading) had(m match) bool {
	for i := m.start() - 1; i >= max(0, m.start()-5); i-- {
		if oneOf(r.q[i].low, "have|has|had|having|with|carry|carries|carrying|contain|contains|include|report|reports|specify|set|define|defines|any") {
			return true
		}
	}
	return false
}

// flagged asks for records where f is true, or where it is false or, when no
// record says so, not there.
func flagged(f *field, want bool) cond {
	if !want && !slices.ContainsFunc(f.column().Values, func(v estate.Value) bool { return v.Text == "false" }) && f.filled() < f.column().Records {
		return unset(f)
	}
	label := fmt.Sprint(want)
	return cond{filter: json.RawMessage(label), labels: []string{label}, shown: true, phrase: f.path + " = " + label}
}

// unset asks for records without a value: where the field is null, not there,
// or empty. One filter cannot say all of that.
func unset(f *field) cond {
	c := cond{labels: none, shown: true, phrase: "no value of " + f.path, inverse: json.RawMessage(`{"ne":null}`)}
	switch column := f.column(); {
	case f.filled() == column.Records && f.has("array"):
		c.filter = json.RawMessage(`[]`)
	case f.has("array"):
	case column.Missing == 0:
		c.filter = json.RawMessage(`null`)
	case column.Null == 0:
		c.filter = json.RawMessage(`{"exists":false}`)
	}
	return c
}

// equal asks for records with one of the values, or denied with none of them.
func equal(f *field, values []estate.Value, denied bool) cond {
	c := cond{field: f, values: values, filter: in(values), rest: denied, shown: denied && len(values) > 1}
	for _, v := range values {
		c.labels = append(c.labels, v.Text)
	}
	others := slices.DeleteFunc(slices.Clone(f.column().Values), func(v estate.Value) bool { return slices.Contains(c.labels, v.Text) })
	c.phrase = f.path + " " + strings.Join(c.labels[:min(8, len(values))], " or ")
	if len(values) > 8 {
		c.phrase += fmt.Sprintf(" or %d others", len(values)-8)
	}
	if denied {
		c.phrase = strings.Replace(c.phrase, f.path, f.path+" other than", 1)
		if c.filter = []byte(`{"ne":` + string(c.filter) + `}`); len(values) > 1 {
			c.filter = in(others)
		}
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
	has := json.RawMessage(`{"contains":` + string(values[0].JSON()) + `}`)
	c := cond{values: values, shown: denied, phrase: values[0].Text + " in " + f.path}
	if c.filter = has; denied {
		c.filter, c.inverse, c.phrase = nil, has, "no "+c.phrase
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
		filters = append(filters, fmt.Sprintf("%q:%s", l.op, to))
	}
	c := cond{filter: json.RawMessage("{" + strings.Join(filters, ",") + "}"), phrase: f.path + strings.Join(phrases, " and")}
	if to, ok := strings.CutPrefix(filters[0], `"eq":`); ok {
		c.filter = json.RawMessage(to)
	}
	return c
}

// join makes one condition of two on the same field: either of two values, or
// two limits.
func (c cond) join(o cond) (cond, bool) {
	limits := func(c cond) bool {
		return c.labels == nil && strings.HasPrefix(string(c.filter), `{"`) && !c.field.listed()
	}
	switch {
	case c.values != nil && o.values != nil && !c.field.listed() && c.rest == o.rest:
		out := equal(c.field, append(slices.Clone(c.values), o.values...), c.rest)
		out.at = max(c.at, o.at)
		return out, true
	case limits(c) && limits(o) && c.filter[2] != o.filter[2]:
		c.filter = slices.Concat(c.filter[:len(c.filter)-1], []byte(","), o.filter[1:])
		c.phrase += " and" + strings.TrimPrefix(o.phrase, c.field.path)
		return c, true
	}
	return c, false
}
