package offline

import (
	"slices"
	"strings"
)

// conds are the conditions that the question puts, leaving out the fields it
// asks for.
func (b *builder) conds(skip ...*field) []cond {
	var out []cond
	for _, m := range b.r.matches {
		c := cond{field: m.field, at: m.end()}
		switch m.role {
		case asValue:
			if m.field.listed() {
				out = append(out, b.inList(m))
				continue
			}
			if i := slices.IndexFunc(out, func(o cond) bool { return o.field == m.field && len(o.values) > 0 }); i >= 0 {
				out[i].values = append(out[i].values, m.values...)
				continue
			}
			c.values = m.values
			if b.s.neg[m.start()] {
				c.op = "ne"
			}
		case asNumber:
			c.num, c.op = m.num, b.comparison(m)
		case asDate:
			c.op, c.num, c.until = m.date.op, m.date.from, m.date.until
		case asField:
			if slices.Contains(skip, m.field) && (b.s.intent == count && !m.field.flag() || !b.s.intent.conditional()) || m.whole < 0.5 && !m.speaksFor() || slices.ContainsFunc(out, func(o cond) bool { return o.field == m.field }) {
				continue
			}
			if c.op = b.state(m); c.op == "" {
				continue
			}
			if text, ok := strings.CutPrefix(c.op, valueOp); ok {
				c.op, c.values = "", m.field.find(text)
			}
		default:
			continue
		}
		out = append(out, c)
	}
	return out
}

// Operators on a field with lists: the value is in it, or is not.
const (
	holds = "holds"
	lacks = "lacks"
)

// inList is the condition that a list has the value that m names, or has not.
func (b *builder) inList(m match) cond {
	c := cond{field: m.field, values: m.values, at: m.end(), op: holds}
	if b.s.neg[m.start()] {
		c.op = lacks
	}
	return c
}

// valueOp before a value's text is the state of a field that says yes and no in
// words of its own.
const valueOp = "value:"

// speaksFor says whether a part of the field's name is enough: it says yes or
// no of what the word names.
func (m match) speaksFor() bool {
	if !m.plain || m.whole < 0.25 {
		return false
	}
	_, _, polar := m.field.polar()
	return polar
}

// state says what a field that is only named asks for: a flag that is on or
// off, or that there is a value or none. "" when it is only a label.
func (b *builder) state(m match) string {
	denied := b.s.neg[m.start()] != m.denied
	if v, ok := b.stated(m); ok && m.field.has("boolean") {
		return v
	}
	if m.field.flag() {
		if denied != b.s.off {
			return "false"
		}
		return "true"
	}
	if m.field.has("boolean") && !m.field.anyDate() {
		return map[bool]string{true: "false", false: "truthy"}[denied]
	}
	if yes, no, ok := m.field.polar(); ok {
		if denied {
			return valueOp + no
		}
		return valueOp + yes
	}
	if b.s.off && m.field.textual() {
		word := b.q[b.s.offAt].low
		if i := slices.IndexFunc(m.field.values(), func(v value) bool { return strings.ToLower(v.text) == word }); i >= 0 {
			return valueOp + m.field.values()[i].text
		}
	}
	for _, o := range b.r.matches {
		if o.field == m.field && (o.role == asValue || o.role == asNumber || o.role == asDate) {
			return ""
		}
	}
	if denied {
		return "unset"
	}
	if (m.field.hollow() || m.field.dated() && m.field.sparse()) && b.s.intent.conditional() {
		return "set"
	}
	for i, steps := m.start()-1, 0; i >= 0 && steps < 5; i, steps = i-1, steps+1 {
		if oneOf(b.q[i].low, "have|has|had|having|with|carry|carries|carrying|contain|contains|include|report|reports|specify|set|define|defines|any") {
			return "set"
		}
		if o, ok := b.r.at(i, asArray, asField, asValue); ok && o.whole >= 0.5 {
			break
		}
	}
	return ""
}

// stated finds "true" or "false" said after a field.
func (b *builder) stated(m match) (string, bool) {
	for i := m.end(); i < len(b.q) && i < m.end()+4; i++ {
		if oneOf(b.q[i].low, "true|false") {
			b.s.consume(i, i+1)
			return b.q[i].low, true
		}
	}
	return "", false
}

// comparison finds how the number of m is compared: at least, more than, ….
func (b *builder) comparison(m match) string {
	for i := max(0, m.start()-3); i <= m.end(); i++ {
		for _, c := range comparisons {
			if from, _ := find(b.q[:min(len(b.q), m.end()+2)], i, c.words); from == i {
				b.s.consume(from, from+2)
				return c.op
			}
		}
	}
	return "eq"
}

var comparisons = []struct{ words, op string }{
	{"at least", "gte"}, {"at most", "lte"}, {"up to", "lte"}, {"more|greater|larger|bigger|higher than", "gt"},
	{"fewer|less|lower|smaller than", "lt"}, {"or more", "gte"}, {"or fewer|less", "lte"}, {"over|above|exceeding", "gt"},
	{"under|below", "lt"},
}
