package offline

import (
	"cmp"
	"slices"
)

// reading is one interpretation of a question for an array.
type reading struct {
	*shape
	array   *array
	every   []match // all candidate matches
	matches []match // the selected matches; they do not overlap
	rivals  []match // numeric fields that the words of another match fit too
	by      []int   // for each word the index of its match, or -1
	score   float64
}

// Costs of an unexplained word, and the most that a value can gain by explaining it.
const (
	penalty  = 0.5
	perValue = 1.35 + penalty
)

// read returns the reading that explains the most; ok is false if none explains anything.
// Values are looked up only in arrays that could still win, the most promising first,
// because reading columns dominates the time.
func read(s *shape, arrays []*array) (best reading, ok bool) {
	var named []reading
	v := newVocabulary(s.q)
	for _, a := range arrays {
		if a.ctx.Err() != nil {
			return reading{shape: s}, false
		}
		named = append(named, readNames(s, a, v))
	}
	slices.SortStableFunc(named, func(x, y reading) int { return cmp.Compare(y.score, x.score) })
	x := makeIndex(s.q)
	for _, r := range named {
		if best.array != nil && r.score+perValue*float64(len(r.unexplained())) <= best.score {
			continue
		}
		if r = r.readValues(x); best.array == nil || r.score > best.score {
			best = r
		}
	}
	return best, slices.ContainsFunc(best.matches, func(m match) bool { return m.role != asGeneric })
}

// readNames matches names of the array and its fields.
func readNames(s *shape, a *array, v *vocabulary) reading {
	return choose(s, a, slices.Concat(a.arrayMatches(s.q, v), a.fieldMatches(s.q, v)))
}

// readValues adds matches of values, numbers and dates.
func (r reading) readValues(x *index) reading {
	every := slices.Concat(r.every, r.array.dateMatches(r.q, r.every))
	r.array.readColumns()
	for _, f := range r.array.fields() {
		if r.array.ctx.Err() != nil {
			break
		}
		every = append(every, f.valueMatches(r.q, x)...)
	}
	return choose(r.shape, r.array, every)
}

// choose selects from all candidates the matches that explain the most.
func choose(s *shape, a *array, every []match) reading {
	r := reading{shape: s, array: a, every: every, by: slices.Repeat([]int{-1}, len(s.q))}
	near := newNeighbours(every)
	order := make([]*match, 0, len(every))
	for i, m := range every {
		if i%checkMatches == 0 && a.ctx.Err() != nil {
			break
		}
		if m.score += near.bonus(m) + m.asked(s); !r.tooWeak(m) {
			order = append(order, &m)
		}
	}
	slices.SortStableFunc(order, func(x, y *match) int { return cmp.Compare(y.score, x.score) })
	for _, m := range order {
		r.take(*m)
	}
	r.score -= penalty * float64(len(r.unexplained()))
	for i := s.focus[0]; i < s.focus[1]; i++ {
		if m, ok := r.at(i, asArray, asField); ok {
			r.score += 0.7 * m.whole / float64(len(m.pos))
		}
	}
	return r
}

// take adds m unless one of its words is explained already.
func (r *reading) take(m match) {
	for _, i := range m.pos {
		if r.by[i] < 0 {
			continue
		}
		if o := r.matches[r.by[i]]; m.role == asField && m.plain && m.whole >= 0.4 && m.field.numeric() && o.field != m.field &&
			len(o.pos) == len(m.pos) {
			r.rivals = append(r.rivals, m)
		}
		return
	}
	for _, i := range m.pos {
		r.by[i] = len(r.matches)
	}
	r.matches = append(r.matches, m)
	r.score += m.score
}

// tooWeak says whether m touches what is expressly not meant, or may be chance:
// a small part of a name, or a plain word that is also a value. In what is
// asked for a part is enough.
func (r reading) tooWeak(m match) bool {
	switch {
	case slices.ContainsFunc(m.pos, func(i int) bool { return r.aside[i] }):
		return true
	case m.role == asValue:
		return m.score < 0.85 && m.bland(r.q)
	case m.role == asField:
		return m.whole < 0.35 && !r.focus.has(m.start()) && !r.shape.by.has(m.start()) && !m.speaksFor()
	}
	return m.role == asArray && m.whole < 0.2
}

// checkMatches is the number of matches or values after which loops check their
// context.
const checkMatches = 1 << 10

// neighbours are the positions at which a question names fields.
type neighbours struct{ starts, ends map[neighbour]float64 }

// neighbour is a field whose name starts or ends at a word.
type neighbour struct {
	field *field
	at    int
}

func newNeighbours(every []match) neighbours {
	n := neighbours{map[neighbour]float64{}, map[neighbour]float64{}}
	for _, m := range every {
		if m.role == asField && m.whole >= 0.5 && m.plain {
			start, end := neighbour{m.field, m.start()}, neighbour{m.field, m.end()}
			n.starts[start], n.ends[end] = max(n.starts[start], m.whole), max(n.ends[end], m.whole)
		}
	}
	return n
}

// bonus prefers a value whose field is named at most two words away: the "prow-build
// cluster" is a cluster.
func (n neighbours) bonus(m match) (bonus float64) {
	for d := range 3 {
		if m.role == asValue {
			bonus = max(bonus, 0.4*n.starts[neighbour{m.field, m.end() + d}], 0.4*n.ends[neighbour{m.field, m.start() - d}])
		}
	}
	return bonus
}

// asked scores the expected role at a position: records after "how many", a field after
// "which", "how many different" and "per", a flag or a number as a condition elsewhere.
func (m match) asked(s *shape) float64 {
	inFocus := s.focus.has(m.start())
	switch {
	case m.role == asArray && inFocus && s.intent != list && s.intent != top:
		return 0.6 * m.whole
	case m.role != asField || inFocus && (s.intent.conditional() || s.intent == metric):
		return 0
	case inFocus || s.by.has(m.start()):
		return 0.4 * m.whole
	case s.intent.conditional() && m.field.flag():
		return m.whole
	}
	return -0.3 * m.score // a redundant match
}

// unexplained returns the content words without a match.
func (r reading) unexplained() []int {
	var out []int
	for i, w := range r.q {
		if (w.content() || states[w.low] && predicated(r.q, i)) && r.by[i] < 0 && !r.consumed[i] {
			out = append(out, i)
		}
	}
	return out
}

// predicated reports whether the word at i ends a predicate after "are".
func predicated(q []word, i int) bool {
	last := i+1 == len(q) || q[i+1].stop || q[i+1].brk
	for k := i - 1; k >= 0 && last && q[k].stop; k-- {
		if oneOf(q[k].low, "is|are|was|were|been|being") {
			return true
		}
	}
	return false
}

// at returns the match of one of the roles at word i.
func (r reading) at(i int, roles ...role) (match, bool) {
	if i < 0 || i >= len(r.by) || r.by[i] < 0 {
		return match{}, false
	}
	m := r.matches[r.by[i]]
	return m, slices.Contains(roles, m.role)
}
