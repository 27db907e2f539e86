package offline

import (
	"cmp"
	"slices"
)

// reading is one understanding of a question: what of it speaks of an array.
type reading struct {
	q       []token
	array   *array
	matches []match // no two take the same token
	by      []int   // for each token the match that explains it, or -1
	score   float64
	strange map[string]bool // what the records of the arrays are called
}

// bestReading reads the question for each array and keeps the reading that
// explains the most. Values are looked up only in arrays that could still win
// by them, the most promising first: reading columns is what takes time.
func bestReading(q []token, s shape, arrays []*array) (reading, bool) {
	var names []reading
	for _, a := range arrays {
		names = append(names, readNames(q, s, a))
	}
	slices.SortStableFunc(names, func(x, y reading) int { return cmp.Compare(y.score, x.score) })
	g, heads := makeGrams(q), map[string]bool{}
	for _, a := range arrays {
		heads[lastWord(a.key)] = true
	}
	var best reading
	for _, r := range names {
		if best.array != nil && r.atBest(q, s) <= best.score {
			continue
		}
		full := read(q, s, r.array, g)
		full.strange = heads
		full.score -= astray * float64(full.strangers(s))
		if best.array == nil || full.score > best.score {
			best = full
		}
	}
	told := slices.ContainsFunc(best.matches, func(m match) bool { return m.role != asGeneric })
	return best, told
}

// What a word that no name explains may be worth when a value does.
const (
	penalty  = 0.5
	perValue = 1.35 + penalty
)

// astray is what a reading loses for a name of records that it does not
// explain: the question is about another array.
const astray = 1.0

// strangers counts the words that name records of another array and that
// nothing explains.
func (r reading) strangers(s shape) int {
	n := 0
	for _, i := range r.unexplained(r.q, s) {
		if r.strange[r.q[i].stem] && !brands[r.q[i].low] {
			n++
		}
	}
	return n
}

// atBest is the score that a reading by names may come to with values.
func (r reading) atBest(q []token, s shape) float64 {
	free := 0
	for i, t := range q {
		if !t.stop && !s.consumed[i] && !fillers[t.low] && r.by[i] < 0 {
			free++
		}
	}
	return r.score + perValue*float64(free)
}

// readNames understands what it can by the names of the array and its fields.
func readNames(q []token, s shape, a *array) reading {
	return choose(q, s, a, slices.Concat(a.arrayMatches(q), a.fieldMatches(q)))
}

// read understands by names, values and dates.
func read(q []token, s shape, a *array, g grams) reading {
	named := a.fieldMatches(q)
	all := slices.Concat(a.arrayMatches(q), named, a.dateMatches(q, named), a.kindMatches(q))
	for _, f := range a.fields() {
		for _, m := range f.valueMatches(q, g) {
			if len(m.pos) > 1 || q[m.start()].stem != lastWord(a.key) {
				all = append(all, m)
			}
		}
	}
	return choose(q, s, a, all)
}

// choose takes, of all that could be meant, the matches that explain the most.
func choose(q []token, s shape, a *array, all []match) reading {
	favourNeighbours(all)
	all = slices.DeleteFunc(all, func(m match) bool { return s.tooWeak(m) })
	favourAsked(all, s)
	slices.SortStableFunc(all, func(x, y match) int { return cmp.Compare(y.score, x.score) })
	r := reading{q: q, array: a, by: make([]int, len(q))}
	for i := range r.by {
		r.by[i] = -1
	}
	for _, m := range all {
		r.take(m)
	}
	r.score += r.headBonus(s) - penalty*float64(len(r.unexplained(q, s)))
	return r
}

// tooWeak says whether m touches what is expressly not meant, or is a small
// part of a name, which may be chance. In what is asked for a part is enough.
func (s shape) tooWeak(m match) bool {
	if slices.ContainsFunc(m.pos, func(i int) bool { return s.aside[i] }) {
		return true
	}
	if m.bland && m.score < 0.8 {
		return true
	}
	inFocus, inBy := s.asks(m)
	return m.role == asField && m.whole < 0.35 && !inFocus && !inBy && !m.speaksFor() || m.role == asArray && m.whole < 0.2
}

// asks says whether m begins in what is asked for, and in what it is asked by.
func (s shape) asks(m match) (inFocus, inBy bool) {
	in := func(span [2]int) bool { return span[0] <= m.start() && m.start() < span[1] }
	return in(s.focus), in(s.by)
}

// headBonus favours the array whose records are what is asked for.
func (r reading) headBonus(s shape) float64 {
	asked, ranked := 0.0, 0.0
	for i := s.measured[0]; i < s.measured[1]; i++ {
		if m, ok := r.at(i, asArray); ok {
			ranked = max(ranked, 0.8*m.whole)
		}
	}
	for i := s.focus[0]; i < s.focus[1]; i++ {
		if m, ok := r.at(i, asArray); ok {
			asked = max(asked, 0.8*m.whole)
		}
		if m, ok := r.at(i, asField); ok {
			asked = max(asked, 0.6*m.whole)
		}
	}
	return asked + ranked
}

// firstLook is the array that the question seems to be about by names alone;
// nil when they say nothing.
func firstLook(q []token, arrays []*array) *array {
	s := parse(q)
	if s.intent == overview || refersBack(q) {
		return nil
	}
	if named := namedArrays(q, s, arrays); len(named) > 0 {
		arrays = named
	}
	if len(arrays) == 1 {
		return arrays[0] // no fields need to be read for this
	}
	var best reading
	for _, a := range arrays {
		if r := readNames(q, s, a); len(r.matches) > 0 && (best.array == nil || r.score > best.score) {
			best = r
		}
	}
	return best.array
}

// namedArrays are the arrays that the question may name: those whose own names
// explain about as much of it as any does.
func namedArrays(q []token, s shape, arrays []*array) []*array {
	scores := make([]float64, len(arrays))
	for i, a := range arrays {
		if r := choose(q, s, a, a.arrayMatches(q)); slices.ContainsFunc(r.matches, func(m match) bool { return m.role == asArray }) {
			scores[i] = r.score
		}
	}
	best := slices.Max(scores)
	var out []*array
	for i, a := range arrays {
		if best > 0.5 && scores[i] >= best-0.5 {
			out = append(out, a)
		}
	}
	return out
}

// take adds m when none of its tokens is explained yet.
func (r *reading) take(m match) {
	for _, i := range m.pos {
		if r.by[i] >= 0 {
			return
		}
	}
	if m.role == asValue && m.whole < 1 && slices.ContainsFunc(r.matches, func(o match) bool {
		return o.role == asValue && o.field == m.field && o.whole == 1
	}) {
		m.role = asLabel // a word about a value that is named in full
	}
	for _, i := range m.pos {
		r.by[i] = len(r.matches)
	}
	r.matches = append(r.matches, m)
	r.score += m.score
}

// favourNeighbours prefers a value whose field is named next to it: the
// "prow-build cluster" is a cluster.
func favourNeighbours(all []match) {
	for i := range all {
		v := &all[i]
		if v.role != asValue {
			continue
		}
		best := 0.0
		for _, f := range all {
			if f.role != asField || f.field != v.field || f.whole < 0.5 || !f.plain || overlap(f.pos, v.pos) {
				continue
			}
			if gap := distance(f, *v); gap <= 2 {
				best = max(best, 0.4*f.whole)
			}
		}
		v.score += best
	}
}

// favourAsked prefers what the grammar wants at a place: records after "how
// many", a field after "which", "how many different" and "per".
func favourAsked(all []match, s shape) {
	for i := range all {
		m := &all[i]
		inFocus, inBy := s.asks(*m)
		switch {
		case s.intent == fields && m.role == asField:
			m.score *= 0.3 // it is asked what the fields are
		case !inFocus && !inBy && m.role == asField && s.intent.conditional() && m.field.flag():
			m.score += m.whole
		case !inFocus && !inBy && m.role == asField && s.intent.conditional() && m.field.numeric():
			m.score *= 0.7 // a number asks for a number beside it
		case !inFocus && !inBy && m.role == asField && (s.intent == list || s.intent == breakdown || s.intent == top):
			m.score *= 0.7 // it would say nothing
		case inBy && m.role == asField:
			m.score += 0.6 * m.whole
		case inFocus && m.role == asField && s.counted && m.field.quantity():
			m.score += 0.5 // "how many snapshots": the snapshot count
		case inFocus && m.role == asArray && (s.counted || s.intent == share):
			m.score += 0.6 * m.whole
		case inFocus && m.role == asField && !s.counted && (s.intent == distinct || s.intent == top || s.intent == list || s.intent == breakdown):
			m.score += 0.4 * m.whole
		}
	}
}

func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(i int) bool { return slices.Contains(b, i) })
}

func distance(a, b match) int {
	if a.start() > b.start() {
		a, b = b, a
	}
	return b.start() - a.end()
}

// unexplained are the tokens that carry meaning and that nothing explains.
func (r reading) unexplained(q []token, s shape) []int {
	var out []int
	for i, t := range q {
		if !t.stop && r.by[i] < 0 && !s.consumed[i] && !r.ofArray(t) && (!fillers[t.low] || narrowing[t.stem] && predicated(q, i)) {
			out = append(out, i)
		}
	}
	return out
}

// ofArray says whether the word is in the name of the array and so true of all
// its records: the "enabled services" are enabled.
func (r reading) ofArray(t token) bool {
	return t.stem != lastWord(r.array.key) && slices.ContainsFunc(r.array.parts, func(p part) bool { return p.stem == t.stem && p.leaf })
}

// predicated says whether the word at i ends what "are" says of something.
func predicated(q []token, i int) bool {
	last := i+1 == len(q) || q[i+1].stop || q[i+1].brk
	for k := i - 1; k >= 0 && last && q[k].stop; k-- {
		if oneOf(q[k].low, "is|are|was|were|been|being") {
			return true
		}
	}
	return false
}

// at gives the match of that role at token i.
func (r reading) at(i int, roles ...role) (match, bool) {
	if i < 0 || i >= len(r.by) || r.by[i] < 0 {
		return match{}, false
	}
	m := r.matches[r.by[i]]
	return m, slices.Contains(roles, m.role)
}
