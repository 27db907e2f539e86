package offline

import (
	"slices"
	"strings"
)

// doubts says why an answer would not be safe: a word that nothing explains, a
// field that the plan does nothing with, or what no one call computes. "" when
// it is safe; words that only describe are noted.
func (r reading) doubts(p *plan) string {
	var lost []string
	number := false
	for _, i := range r.unexplained() {
		switch {
		case r.renamed(i):
		case r.describes(i):
			p.ignored = append(p.ignored, r.q[i].text)
		default:
			lost, number = append(lost, r.q[i].text), number || r.q[i].digits() != ""
		}
	}
	ratio, _ := find(r.q, 0, "ratio")
	switch {
	case number:
		return "I cannot tell which field the number is compared with."
	case len(lost) > 0:
		return "The data does not contain " + quoted(lost) + "."
	case p.group != nil && p.group.listed() && !p.names:
		return "I cannot tell the figures by " + p.group.path + ", of which a record has several; please ask for one of them."
	case slices.ContainsFunc(slices.Concat(p.conds, p.goals[min(1, len(p.goals)):]), func(c cond) bool { return c.filter == nil }), len(p.goals) > 1 && p.goals[0].filter == nil:
		return "I cannot tell which records these are, only how many have no such value."
	case ratio >= 0 && len(p.goals) > 0 && len(p.goals[0].values) > 1:
		return "I cannot tell the ratio of one to the other; please ask for the number of each."
	case r.either(*p):
		return "I cannot tell which records meet one of two conditions on different fields; please ask for each."
	}
	return r.idle(p)
}

func quoted(words []string) string { return `"` + strings.Join(words, " ") + `"` }

// narrows says whether a word before a noun tells in what state things are, by
// what it is or its ending: it cannot be left out.
func narrows(low string) bool {
	return adjectives[low] || slices.ContainsFunc([]string{"ed", "ing", "able", "ible", "less"}, func(e string) bool { return strings.HasSuffix(low, e) })
}

// describes says whether the word at i only describes what follows: a platform
// that the whole estate is of, or a word before the name of a field.
func (r reading) describes(i int) bool {
	w, k := r.q[i], i+1
	for k < len(r.q) && !r.q[k].brk && (fillers[r.q[k].low] && r.by[k] < 0 || platforms[w.low] && platforms[r.q[k].low] || oneOf(r.q[k].low, "a|an|any|the|no")) {
		k++
	}
	if _, ok := r.at(k, asField); ok && !r.q[k].brk && !w.ident && w.low == w.text && !narrows(w.low) {
		return true
	}
	return platforms[w.low] && k < len(r.q) && (r.by[k] >= 0 || k > i+1)
}

// renamed says whether a parenthesis behind the word names what it means.
func (r reading) renamed(i int) bool {
	for k := i + 1; k < len(r.q) && k <= i+5; k++ {
		if _, ok := r.at(k, asValue, asField); r.q[k].paren && ok {
			return true
		}
	}
	return false
}

// either says whether an "or" stands between conditions on two fields: all
// conditions of a plan hold at once.
func (r reading) either(p plan) bool {
	or, _ := find(r.q, 0, "or")
	var last *field
	for i := range r.q {
		m, ok := r.at(i, asValue, asNumber, asField)
		switch {
		case !ok || !p.on(m.field):
		case i > or:
			return or >= 0 && r.by[or] < 0 && last != nil && last != m.field
		default:
			last = m.field
		}
	}
	return false
}

// idle refuses when the question names a field outside of what it counts and
// the plan does nothing with it, or denies the records themselves. It notes
// the field that could be meant in place of the measure.
func (r reading) idle(p *plan) string {
	for _, m := range r.matches {
		used := p.group == m.field || p.measure == m.field || p.on(m.field)
		if m.role == asArray && r.neg[m.start()] && !r.focus.has(m.start()) && p.group != nil {
			return "I cannot tell which values of " + p.group.path + " have none of the records."
		}
		if m.role == asField && !used && m.whole >= 0.5 && !r.focus.has(m.start()) && !r.label(m) {
			return "I cannot tell what is asked of " + m.field.path + "."
		}
	}
	for _, m := range r.rivals {
		if o := r.matches[r.by[m.start()]]; p.measure != nil && p.measure == o.field {
			p.rival = m.field
		}
	}
	return ""
}

// label says whether a field only says what a value or a name of records next
// to it is: "the prow-build cluster"; or what there are "how many" of.
func (r reading) label(m match) bool {
	_, many := find(r.q, 0, "how many")
	return many == m.start() || !r.wants(span{m.start(), m.end()}) || !r.shape.by.has(m.start()) && slices.ContainsFunc(r.matches, func(o match) bool {
		d := m.distance(o)
		return o.role == asArray && d == 0 || o.role == asValue && (o.field == m.field || o.end() < m.start()) && d >= 0 && d <= 1
	})
}

// notFound refuses for want of what the first of the phrases with unexplained
// words asks, or else of all words that nothing explains.
func (r reading) notFound(phrases ...span) string {
	for _, open := range []bool{true, false} {
		for _, of := range append(phrases, span{0, len(r.q)}) {
			var words []string
			for i := of[0]; i < of[1]; i++ {
				free := i >= len(r.by) || r.by[i] < 0 && !r.consumed[i]
				if !r.q[i].stop && (free && r.q[i].content() || !open) {
					words = append(words, r.q[i].text)
				}
			}
			if len(words) > 0 {
				return "The data does not contain " + quoted(words) + "."
			}
		}
	}
	return unclearQuestion
}
