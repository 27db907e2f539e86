package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
)

// cond is a condition on the records. It is evaluated by a filter, or by the groups of the
// field: those with its labels, or all others.
type cond struct {
	match
	filter  json.RawMessage // nil if a filter cannot express it
	inverse json.RawMessage // the negated filter; nil if a filter cannot express it
	labels  []string        // nil if groups cannot express it
	rest    bool            // labels are those of the records that do not meet it
	shown   bool            // the result should show it beside its opposite
	phrase  string          // "site Oslo", after "with" or "have", in Markdown
}

// absent is the group of records without a value; the empty string is its other label.
const absent = "null"

var none = []string{absent, "[]", "{}"}

// condition returns the condition of m; ok is false if m only names a field.
func (r reading) condition(m match) (c cond, ok bool) {
	m.denied = m.denied != r.neg[m.start()]
	if m.role == asField && (m.whole >= 0.5 || m.speaksFor()) {
		c = r.state(m)
	} else if m.role == asValue || m.role == asNumber {
		c = m.narrow()
	}
	return c, c.phrase != ""
}

// narrow selects records with one of the match's values or within its limits.
func (m match) narrow() cond {
	switch {
	case m.limits != nil:
		return m.within()
	case m.field.listed():
		return m.inList()
	}
	return m.equal()
}

// join merges two conditions on the same field: alternative values, or two limits.
func (c cond) join(o cond) (cond, bool) {
	m := c.match
	m.values, m.limits = slices.Concat(c.values, o.values), slices.Concat(c.limits, o.limits)
	m.pos = slices.Sorted(slices.Values(slices.Concat(m.pos, o.pos)))
	switch {
	case c.values != nil && o.values != nil:
		return m.equal(), !c.field.listed() && c.denied == o.denied
	case c.limits != nil && o.limits != nil:
		return m.within(), c.limits[0].op[0] != o.limits[0].op[0]
	}
	return c, false
}

// state returns the condition of a field that is named without a value: a flag that is
// set or not, or a value that is present or absent. It is empty if there is none.
func (r reading) state(m match) cond {
	f, yes := m.field, m.denied == r.off
	if i, _ := find(r.q[:min(len(r.q), m.end()+4)], m.end(), "true|false"); i >= 0 && f.has("boolean") {
		mark(r.consumed, i, i+1)
		return m.flagged(r.q[i].low == "true")
	}
	on, off := f.polar()
	switch {
	case f.flag():
		return m.flagged(yes)
	case on != nil:
		if m.values, m.denied = on, false; !yes {
			m.values = off
		}
		return m.equal()
	case m.denied && f.numeric() && f.filled() == f.column().Records:
		m.limits = []limit{{"eq", "0"}}
		return m.within()
	case m.denied || r.had(m):
		return m.present(!m.denied)
	}
	return cond{}
}

// speaksFor reports whether a part of the field's name suffices, as for a yes-or-no field.
func (m match) speaksFor() bool {
	if !m.plain || m.whole < 0.25 {
		return false
	}
	yes, _ := m.field.polar()
	return yes != nil
}

// had reports whether a word such as "have" or "with" precedes the field.
func (r reading) had(m match) bool {
	i, _ := find(r.q[:m.start()], max(0, m.start()-5),
		"have|has|had|having|with|carry|carries|carrying|contain|contains|include|report|reports|specify|set|define|defines|any")
	return i >= 0
}

// flagged selects records where the field is true, or where it is false or, if no record
// has false, missing.
func (m match) flagged(want bool) cond {
	f := m.field
	if !want && f.filled() < f.column().Records && !slices.ContainsFunc(f.column().Values,
		func(v estate.Value) bool { return v.Text == "false" }) {
		return m.present(false)
	}
	label := fmt.Sprint(want)
	return cond{match: m, filter: json.RawMessage(label), labels: []string{label}, shown: true, phrase: f.name() + " = " + label}
}

// present selects records with a value, or those where the field is null, missing or
// empty. A single filter cannot always express that.
func (m match) present(want bool) cond {
	column, lists := m.field.column(), m.field.has("array")
	var has, no json.RawMessage
	switch {
	case !lists:
		has = json.RawMessage(`{"ne":null}`)
	case column.Null == 0:
		has = json.RawMessage(`{"exists":true,"ne":[]}`)
	}
	switch {
	case lists && column.Null+column.Missing == 0:
		no = json.RawMessage(`[]`)
	case lists:
	case column.Missing == 0:
		no = json.RawMessage(`null`)
	case column.Null == 0:
		no = json.RawMessage(`{"exists":false}`)
	}
	if want {
		return cond{match: m, filter: has, inverse: no, labels: none, rest: true, shown: true, phrase: "a value of " + m.field.name()}
	}
	return cond{match: m, filter: no, inverse: has, labels: none, shown: true, phrase: "no value of " + m.field.name()}
}

// equal selects records with one of the values or, if denied, with none of them.
func (m match) equal() cond {
	c := cond{match: m, filter: in(m.values), rest: m.denied, shown: m.denied && len(m.values) > 1}
	for _, v := range m.values {
		c.labels = append(c.labels, v.Text)
	}
	than := " "
	if m.denied {
		than = " other than "
		c.filter = json.RawMessage(`{"ne":` + string(c.filter) + `}`)
	}
	if c.shown {
		c.filter = in(slices.DeleteFunc(slices.Clone(m.field.column().Values),
			func(v estate.Value) bool { return slices.Contains(c.labels, v.Text) }))
	}
	c.phrase = m.field.name() + than + enumerate(escapeAll(c.labels), " or ", 8, len(c.labels))
	return c
}

// in returns the filter for any of the values.
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

// inList selects records whose list has the value or, if denied, lacks it.
func (m match) inList() cond {
	c := cond{match: m, phrase: markdown.Escape(m.values[0].Text) + " in " + m.field.name(),
		filter: json.RawMessage(`{"contains":` + string(m.values[0].JSON()) + `}`)}
	if m.denied {
		c.filter, c.inverse, c.shown, c.phrase = nil, c.filter, true, "no "+c.phrase
	}
	return c
}

var signs = map[string]string{"gt": " more than ", "gte": " at least ", "lt": " less than ", "lte": " at most ", "eq": " of "}

// within selects records where the field's number or date is within limits.
func (m match) within() cond {
	var filters, phrases []string
	for _, l := range m.limits {
		to := l.to
		if !m.field.numeric() {
			to = `"` + to + `"`
		}
		phrases = append(phrases, signs[l.op]+l.to)
		filters = append(filters, fmt.Sprintf("%q:%s", l.op, to))
	}
	c := cond{match: m, filter: json.RawMessage("{" + strings.Join(filters, ",") + "}"),
		phrase: m.field.name() + strings.Join(phrases, " and")}
	if to, ok := strings.CutPrefix(filters[0], `"eq":`); ok {
		c.filter = json.RawMessage(to)
	}
	return c
}
