package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
)

// cond is a match that narrows the records. Which of them meet it is told by a
// filter, or by the groups of the field: those with its labels, or all others.
type cond struct {
	match
	filter  json.RawMessage // nil when no filter can say it
	inverse json.RawMessage // of the records that do not meet it; nil likewise
	labels  []string        // nil when groups cannot tell
	rest    bool            // labels are of those that do not meet it
	shown   bool            // a result is to show it beside its opposite
	phrase  string          // "site Oslo", after "with" or "have", in Markdown
}

// absent is the group of the records without a value; the others are empty.
const absent = "null"

var none = []string{absent, "[]", "{}"}

// condition is what m asks of the records; false when it only names a field.
func (r reading) condition(m match) (c cond, ok bool) {
	m.denied = m.denied != r.neg[m.start()]
	if m.role == asField && (m.whole >= 0.5 || m.speaksFor()) {
		c = r.state(m)
	} else if m.role == asValue || m.role == asNumber {
		c = m.narrow()
	}
	return c, c.phrase != ""
}

// narrow asks for records with one of the match's values or within its limits.
func (m match) narrow() cond {
	switch {
	case m.limits != nil:
		return m.within()
	case m.field.listed():
		return m.inList()
	}
	return m.equal()
}

// join makes one condition of two on the same field: either of two values, or
// two limits.
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

// state is what a field that is only named asks for: a flag that is on or off,
// or that there is a value or none. It is empty when nothing is asked.
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

// speaksFor says whether a part of the field's name is enough: it says yes or
// no of what the word names.
func (m match) speaksFor() bool {
	if !m.plain || m.whole < 0.25 {
		return false
	}
	yes, _ := m.field.polar()
	return yes != nil
}

// had says whether records are said to have the field: "have", "with" or the
// like stands before.
func (r reading) had(m match) bool {
	i, _ := find(r.q[:m.start()], max(0, m.start()-5), "have|has|had|having|with|carry|carries|carrying|contain|contains|include|report|reports|specify|set|define|defines|any")
	return i >= 0
}

// flagged asks for records where the field is true, or where it is false or,
// when no record says so, not there.
func (m match) flagged(want bool) cond {
	f := m.field
	if !want && f.filled() < f.column().Records && !slices.ContainsFunc(f.column().Values, func(v estate.Value) bool { return v.Text == "false" }) {
		return m.present(false)
	}
	label := fmt.Sprint(want)
	return cond{match: m, filter: json.RawMessage(label), labels: []string{label}, shown: true, phrase: f.name() + " = " + label}
}

// present asks for records that have a value, or else for those where the
// field is null, not there or empty. One filter cannot always say that.
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

// equal asks for records with one of the values, or denied with none of them.
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
		c.filter = in(slices.DeleteFunc(slices.Clone(m.field.column().Values), func(v estate.Value) bool { return slices.Contains(c.labels, v.Text) }))
	}
	c.phrase = m.field.name() + than + enumerate(escapeAll(c.labels), " or ", 8, len(c.labels))
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

// inList asks for records whose list has the value, or has it not.
func (m match) inList() cond {
	c := cond{match: m, phrase: markdown.Escape(m.values[0].Text) + " in " + m.field.name(), filter: json.RawMessage(`{"contains":` + string(m.values[0].JSON()) + `}`)}
	if m.denied {
		c.filter, c.inverse, c.shown, c.phrase = nil, c.filter, true, "no "+c.phrase
	}
	return c
}

var signs = map[string]string{"gt": " more than ", "gte": " at least ", "lt": " less than ", "lte": " at most ", "eq": " of "}

// within asks for records where the field's number or date is within limits.
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
	c := cond{match: m, filter: json.RawMessage("{" + strings.Join(filters, ",") + "}"), phrase: m.field.name() + strings.Join(phrases, " and")}
	if to, ok := strings.CutPrefix(filters[0], `"eq":`); ok {
		c.filter = json.RawMessage(to)
	}
	return c
}
