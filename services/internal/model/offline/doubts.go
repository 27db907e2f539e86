package offline

import (
	"cmp"
	"slices"
	"strings"

	"cairn/services/internal/markdown"
)

const unclearQuestion = "I cannot tell what the question means."

// doubts returns the reason why an answer would not be safe: an unexplained word, a field
// that the plan does not use, or a computation that no single call does. It is empty for
// a safe plan. Words that only describe are noted in the plan.
func (r reading) doubts(p *plan) string {
	var lost, idle []string
	number := false
	for _, i := range r.unexplained() {
		switch {
		case r.renamed(i):
		case r.describes(i):
			idle = append(idle, r.q[i].text)
		default:
			lost, number = append(lost, r.q[i].text), number || r.q[i].digits() != ""
		}
	}
	if len(idle) > 0 {
		p.notes = append(p.notes, "I left "+quoted(idle)+" out of account: the data has no such field or value.")
	}
	untold := func(c cond) bool { return c.filter == nil }
	ratio, _ := find(r.q, 0, "ratio")
	switch {
	case number:
		return "I cannot tell which field the number is compared with."
	case len(lost) > 0:
		return notContained(lost)
	case p.group != nil && p.group.listed() && !p.names:
		return "I cannot tell the figures by " + p.group.name() + ", of which a record has several; please ask for one of them."
	case slices.ContainsFunc(p.conds, untold), len(p.goals) > 1 && slices.ContainsFunc(p.goals, untold):
		return "I cannot tell which records these are, only how many have no such value."
	case ratio >= 0 && len(p.goals) > 0 && len(p.goals[0].values) > 1:
		return "I cannot tell the ratio of one to the other; please ask for the number of each."
	case r.either(*p):
		return "I cannot tell which records meet one of two conditions on different fields; please ask for each."
	}
	return r.unused(p)
}

// quoted returns words of the question in quotation marks, in Markdown.
func quoted(words []string) string { return `"` + markdown.Escape(strings.Join(words, " ")) + `"` }

func notContained(words []string) string { return "The data does not contain " + quoted(words) + "." }

// notFound refuses because of the first phrase with unexplained words, or else because of
// all unexplained words.
func (r reading) notFound(phrases ...span) string {
	open := func(i int) bool { return r.q[i].content() && (r.by == nil || r.by[i] < 0 && !r.consumed[i]) }
	said := func(i int) bool { return !r.q[i].stop }
	for _, counts := range []func(int) bool{open, said} {
		for _, of := range append(phrases, span{0, len(r.q)}) {
			var words []string
			for i := of[0]; i < of[1]; i++ {
				if counts(i) {
					words = append(words, r.q[i].text)
				}
			}
			if len(words) > 0 {
				return notContained(words)
			}
		}
	}
	return unclearQuestion
}

// describes reports whether the word at i only describes the next ones: a platform of the
// whole estate, or a word before a field name. It is false for a noun that may denote the
// records: "guests arrived".
func (r reading) describes(i int) bool {
	w, k := r.q[i], i+1
	if k < len(r.q) && r.q[k].at == w.at && r.by[k] >= 0 {
		return false // a part of a word: "part-time"
	}
	for k < len(r.q) && !r.q[k].brk && (fillers[r.q[k].low] && r.by[k] < 0 || platforms[w.low] && platforms[r.q[k].low] ||
		oneOf(r.q[k].low, "a|an|any|the|no")) {
		k++
	}
	_, field := r.at(k, asField)
	field = field && (!r.focus.has(i) || r.names(r.focus))
	return field && !r.q[k].brk && !w.ident && w.low == w.text && !narrows(w.low) || platforms[w.low] && k < len(r.q) &&
		(r.by[k] >= 0 || k > i+1)
}

// names reports whether the phrase denotes records of the array.
func (r reading) names(of span) bool {
	for i := of[0]; i < of[1]; i++ {
		if _, ok := r.at(i, asArray, asGeneric); ok {
			return true
		}
	}
	return false
}

// narrows reports whether a word before a noun restricts its state, by itself or by its
// ending. Such a word cannot be ignored.
func narrows(low string) bool {
	return adjectives[low] || slices.ContainsFunc([]string{"ed", "ing", "able", "ible", "less"},
		func(e string) bool { return strings.HasSuffix(low, e) })
}

// renamed reports whether a parenthesis after the word gives its meaning.
func (r reading) renamed(i int) bool {
	for k := i + 1; k < min(len(r.q), i+6); k++ {
		if r.q[k].paren && r.by[k] >= 0 {
			return true
		}
	}
	return false
}

// either reports whether "or" joins conditions on two fields: the conditions of a plan are
// conjunctive.
func (r reading) either(p plan) bool {
	or, _ := find(r.q, 0, "or")
	conds := slices.Concat(p.conds, p.goals)
	slices.SortFunc(conds, func(x, y cond) int { return cmp.Compare(x.start(), y.start()) })
	i := slices.IndexFunc(conds, func(c cond) bool { return c.end() > or })
	return or >= 0 && i > 0 && r.by[or] < 0 && conds[i].start() > or && conds[i-1].field != conds[i].field
}

// unused refuses if the question names a field that the plan does not use, or negates the
// records. It notes a field that the question may mean in place of the measure.
func (r reading) unused(p *plan) string {
	_, many := find(r.q, 0, "how many")
	for _, m := range r.matches {
		switch at := m.start(); {
		case r.focus.has(at) && (r.intent != count || m.role != asField || !m.field.sums()), p.group == m.field && p.group != nil:
		case m.role == asArray && r.neg[at] && p.group != nil:
			return "I cannot tell which values of " + p.group.name() + " have none of the records."
		case m.role == asField && m.whole >= 0.5 && many != at && r.wants(m.span()) && p.measure != m.field && !p.on(m.field):
			return "I cannot tell what the question means by " + m.field.name() + "."
		}
	}
	for _, m := range r.rivals {
		if o := r.matches[r.by[m.start()]]; p.measure != nil && p.measure == o.field {
			p.notes = append(p.notes, "I took "+p.measure.name()+"; "+m.field.name()+" could be meant as well.")
		}
	}
	return ""
}
