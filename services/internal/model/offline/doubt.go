package offline

import (
	"slices"
	"strings"
)

const unclearQuestion = "I cannot tell what is asked."

// maxIgnored is how many words an answer may leave out of account.
const maxIgnored = 2

// doubts says why an answer would not be safe, or else which words it leaves
// out of account. A word that narrows the question must not be dropped.
func doubts(q []token, s shape, r reading, p plan) (refuse string, ignored []string) {
	var lost []string
	rest := r.unexplained(q, s)
	for _, i := range rest {
		if named(q, r, i) {
			continue
		}
		ok, told := tolerable(q, r, i)
		if r.ofField(q, s, i) {
			ok = false
		}
		switch {
		case s.measured[0] <= i && i < s.measured[1], strings.HasSuffix(q[i].low, "est"):
			lost = append(lost, q[i].text)
		case p.everything() && r.narrows(i):
			lost = append(lost, q[i].text)
		case !ok, q[i].digits() != "", measures[q[i].stem], narrowing[q[i].stem], metrics[q[i].low] != "", r.strange[q[i].stem]:
			lost = append(lost, q[i].text)
		case told:
			ignored = append(ignored, q[i].text)
		}
	}
	if m, ok := idle(r, s, p); ok {
		return "I cannot tell what is asked of " + m.field.path + ".", nil
	}
	if p.intent.conditional() && len(lost) == 0 && s.denies(q) && !p.denies(s) {
		return "I cannot tell what must not be.", nil
	}
	if s.off && !explained(r, s.offAt) && len(lost) == 0 && !p.switchedOff() {
		return "The data does not contain what is switched off.", nil
	}
	if len(ignored) > maxIgnored || p.names && len(p.conds) == 0 {
		lost = append(lost, ignored...)
	}
	if slices.ContainsFunc(lost, func(w string) bool { return (token{low: w}).digits() != "" }) {
		return "I cannot tell which field the number is compared with.", nil
	}
	if len(lost) > 0 {
		return "The data does not contain " + quoted(lost) + ".", nil
	}
	return "", ignored
}

// everything says whether the plan counts or lists all records of its array.
func (p plan) everything() bool {
	return p.intent.conditional() && len(p.conds) == 0 && p.goal == nil
}

// narrows says whether the word at i stands right before the name of the
// records, as a kind of them does: "arm hosts".
func (r reading) narrows(i int) bool {
	m, ok := r.at(i+1, asArray)
	return ok && m.start() == i+1 && !r.q[i+1].brk && !brands[r.q[i].low]
}

// ofField says whether the word at i says something of the field named before
// it, as a value of it does that is not there: "with user jenkins".
func (r reading) ofField(q []token, s shape, i int) bool {
	m, named := r.at(i-1, asField)
	inFocus := i > s.focus[0] && i <= s.focus[1]
	return named && m.field.textual() && !q[i].brk && !inFocus && !appendix[q[i].stem]
}

// switchedOff says whether the plan has a condition on what is off or missing.
func (p plan) switchedOff() bool {
	off := func(c cond) bool { return c.op == "false" || c.op == "unset" || negative[strings.ToLower(c.labels())] }
	return p.goal != nil && off(*p.goal) || slices.ContainsFunc(p.conds, off)
}

// denies says whether the question denies something that carries meaning.
func (s shape) denies(q []token) bool {
	for i, no := range s.neg {
		if no && !q[i].stop && !s.aside[i] && !fillers[q[i].low] {
			return true
		}
	}
	return false
}

// denies says whether a condition of the plan comes from what is denied.
func (p plan) denies(s shape) bool {
	denied := func(c cond) bool {
		return s.neg[c.at-1] || slices.ContainsFunc(nameParts(c.labels()), func(w string) bool { return w == "no" || w == "not" || w == "none" })
	}
	return p.goal != nil && denied(*p.goal) || slices.ContainsFunc(p.conds, denied) || slices.ContainsFunc(p.also, denied)
}

// idle finds a field that the question names outside of what it counts and
// that the plan does nothing with: something is asked of it.
func idle(r reading, s shape, p plan) (match, bool) {
	if p.intent == fields {
		return match{}, false
	}
	least := 0.5
	if p.intent.conditional() {
		least = 0.35
	}
	for _, m := range r.matches {
		inFocus := s.focus[0] <= m.start() && m.start() < s.focus[1] && !r.verbIn(m.start(), m.end())
		if m.role != asField || inFocus || m.whole < least || r.onlyFillers(m) || p.uses(m.field) || p.intent != compare && beside(r, m) || p.intent == breakdown && r.tallied(m) {
			continue
		}
		return m, true
	}
	return match{}, false
}

// tallied says whether m is what there is "how many" of: each group's number.
func (r reading) tallied(m match) bool {
	_, end := find(r.q, 0, "how many")
	return end == m.start()
}

// uses says whether the plan counts by f or puts a condition on it.
func (p plan) uses(f *field) bool {
	on := func(c cond) bool { return c.field == f }
	return p.group == f || strings.HasSuffix(p.metric, ":"+f.path) || p.goal != nil && on(*p.goal) || slices.ContainsFunc(p.conds, on) || slices.ContainsFunc(p.also, on)
}

// beside says whether a value or a name of records stands next to m, which then
// only says what that is: "the prow-build cluster".
func beside(r reading, m match) bool {
	for _, o := range r.matches {
		if d := distance(o, m); o.role != asField && o.role != asNumber && d >= 0 && d <= 1 && !r.verbBetween(o, m) {
			return true
		}
	}
	return false
}

// onlyFillers says whether m explains nothing that needs explaining.
func (r reading) onlyFillers(m match) bool {
	return !slices.ContainsFunc(m.pos, func(i int) bool { return !fillers[r.q[i].low] })
}

// verbBetween says whether "are" or "have" joins the two.
func (r reading) verbBetween(a, b match) bool {
	return r.verbIn(min(a.end(), b.end()), max(a.start(), b.start()))
}

func (r reading) verbIn(from, to int) bool {
	return slices.ContainsFunc(r.q[from:max(from, to)], func(t token) bool {
		return oneOf(t.low, "is|are|was|were|have|has|do|does|without|no|not")
	})
}

// named says whether a parenthesis behind the word names what it means.
func named(q []token, r reading, i int) bool {
	for k := i + 1; k < len(q) && k <= i+3; k++ {
		if q[k].paren {
			_, ok := r.at(k, asValue, asField)
			return ok
		}
	}
	return false
}

// tolerable says whether the word at i, which nothing explains, may be left
// out: it only describes what follows, or it is no name. told says whether the
// answer should mention it.
func tolerable(q []token, r reading, i int) (ok, told bool) {
	t := q[i]
	describes := i+1 < len(q) && !q[i+1].brk && !q[i+1].stop
	switch {
	case brands[t.low]:
		return describes && (explained(r, i+1) || fillers[q[i+1].low]) || i > 0 && q[i-1].word == t.word, true
	case t.ident, predicated(q, i):
		return false, true
	case t.text != t.low && !t.first:
		return describes && t.text == strings.ToUpper(t.text), true
	case describes && participle(t.low):
		return false, true
	case describes:
		return true, true
	}
	return !afterPreposition(q, i) && !determined(q, r, i), true
}

// participle says whether a word before a noun says in what state things are,
// by its ending: such a word narrows what is meant.
func participle(low string) bool {
	for _, ending := range []string{"ed", "ing", "able", "ible", "less"} {
		if strings.HasSuffix(low, ending) && len(low) > len(ending)+2 {
			return true
		}
	}
	return false
}

func explained(r reading, i int) bool { return r.by[i] >= 0 }

// determined says whether an article or a verb that takes an object stands
// before the word and what describes it, as before nouns.
func determined(q []token, r reading, i int) bool {
	k := i - 1
	for k > 0 && !q[k].stop && !explained(r, k) && !q[k].brk && !transitive[q[k].low] {
		k--
	}
	return k >= 0 && (transitive[q[k].low] || oneOf(q[k].low, "a|an|the|our|my|your|any|many|no|of|every|each|these|those|do|does|did|have|has|had|with|without"))
}

func afterPreposition(q []token, i int) bool {
	for k := i - 1; k >= 0 && k >= i-2; k-- {
		if oneOf(q[k].low, "in|on|at|from|by|per|for|with|under") {
			return true
		}
		if !q[k].stop {
			return false
		}
	}
	return false
}

// notFound refuses for want of what the first of the spans with words asks, or
// else of any words that nothing explains.
func (b *builder) notFound(spans ...[2]int) string {
	for _, sp := range append(spans, [2]int{0, len(b.q)}) {
		var words []string
		for i := sp[0]; i < sp[1]; i++ {
			if t := b.q[i]; b.r.by[i] < 0 && !t.stop && !b.s.consumed[i] && (!fillers[t.low] || measures[t.stem]) {
				words = append(words, t.text)
			}
		}
		if len(words) > 0 {
			return "The data does not contain " + quoted(words) + "."
		}
	}
	return b.notThere(spans[0])
}

// notThere refuses for want of what the words of the span ask.
func (b *builder) notThere(span [2]int) string {
	var words []string
	for i := span[0]; i < span[1]; i++ {
		if !b.q[i].stop {
			words = append(words, b.q[i].text)
		}
	}
	if len(words) == 0 {
		return unclearQuestion
	}
	return "The data does not contain " + quoted(words) + "."
}

// missing refuses when no array explains anything.
func missing(q []token, s shape, r reading) string {
	var words []string
	for i, t := range q {
		if !t.stop && !s.consumed[i] && !fillers[t.low] {
			words = append(words, t.text)
		}
	}
	if len(words) == 0 {
		return unclearQuestion
	}
	return "The data does not contain " + quoted(words) + "."
}

func quoted(words []string) string {
	return `"` + strings.Join(words, " ") + `"`
}
