package offline

import (
	"cmp"
	"slices"
	"strings"
)

// reading is one interpretation of a question for an array.
type reading struct {
	*shape
	array *array
	every []link  // all candidate links
	links []*link // the selected ones; they do not overlap
	by    []*link // for each word its link, or nil
	used  []bool  // words that the grammar and the conditions explain
	score float64
}

// Costs of an unexplained word, and the most that a value can gain by explaining it.
const (
	penalty  = 0.5
	perValue = 1.35 + penalty
)

// margins by which the best interpretation must exceed the others.
const (
	arrayMargin = 0.1  // of the score of a reading
	fieldMargin = 0.95 // of the score of a link
)

// read returns the reading with the highest score and, if another array scores about as
// high, that array. It reads values only of arrays that can still have the highest score,
// in descending order of score, because reading columns dominates the time.
func read(s *shape, arrays []*array, similar Similar) (best reading, rival *array) {
	x := newMatcher(s.q)
	best, rival = x.read(s, arrays)
	if similar == nil || best.array == nil || !x.relate(best.array, s.q, best.unrelated(), similar) {
		return best, rival
	}
	return x.read(s, arrays)
}

func (x matcher) read(s *shape, arrays []*array) (best reading, rival *array) {
	var named []reading
	for _, a := range arrays {
		if a.ended() {
			return reading{shape: s}, nil
		}
		named = append(named, choose(s, a, slices.Concat(a.arrayLinks(s.q, x), a.fieldLinks(s.q, x))))
	}
	slices.SortStableFunc(named, func(a, b reading) int { return cmp.Compare(b.score, a.score) })
	spellings := newIndex(s)
	for _, r := range named {
		if best.array != nil && r.score+perValue*float64(len(r.unexplained())) < best.score-arrayMargin {
			continue
		}
		r = r.readValues(spellings)
		switch {
		case best.array == nil || r.score > best.score+arrayMargin:
			best, rival = r, nil
		case r.score > best.score:
			best, rival = r, best.array
		case r.score >= best.score-arrayMargin:
			rival = r.array
		}
	}
	return best, rival
}

// readValues adds links to values.
func (r reading) readValues(x *index) reading {
	every := slices.Clone(r.every)
	r.array.readColumns()
	for _, f := range r.array.fields() {
		if r.array.ended() {
			break
		}
		every = append(every, f.valueLinks(r.q, x)...)
	}
	return choose(r.shape, r.array, every)
}

// choose selects from all candidates the links that explain the most.
func choose(s *shape, a *array, every []link) reading {
	r := reading{shape: s, array: a, every: every, by: make([]*link, len(s.q)), used: slices.Clone(s.consumed)}
	named := map[*field][]link{}
	for _, l := range every {
		if a.ended() {
			return r
		}
		if l.role == asField && l.whole >= 0.5 && l.plain {
			named[l.field] = append(named[l.field], l)
		}
	}
	scored, order := slices.Clone(every), make([]*link, 0, len(every))
	for i := range scored {
		if a.ended() {
			return r
		}
		l := &scored[i]
		if l.score += l.contextScore(s, named) + l.roleScore(s); !r.tooWeak(l) {
			order = append(order, l)
		}
	}
	slices.SortStableFunc(order, func(x, y *link) int { return cmp.Compare(y.score, x.score) })
	for _, l := range order {
		if a.ended() {
			return r
		}
		r.selectLink(l)
	}
	r.resolveRivals()
	r.score -= penalty * float64(len(r.unexplained()))
	for i := s.focus[0]; i < s.focus[1]; i++ {
		if l := r.at(i, asArray, asField); l != nil {
			r.score += 0.7 * l.whole / float64(len(l.pos))
		}
	}
	return r
}

// resolveRivals drops rival values whose field has another value in the question, because a record has one value per field.
func (r *reading) resolveRivals() {
	for _, l := range r.links {
		if r.array.ended() {
			return
		}
		if l.rival != nil && slices.ContainsFunc(r.links, func(o *link) bool {
			return o.role == asValue && o.rival == nil && o.field == l.rival.field
		}) {
			l.rival = nil
		}
	}
}

// selectLink selects l unless a selected link covers one of its words.
func (r *reading) selectLink(l *link) {
	if l.role == asValue && len(l.pos) == 1 && r.enclosed(l.start()) {
		return
	}
	for _, i := range l.pos {
		o := r.by[i]
		if o == nil {
			continue
		}
		if o.role == l.role && o.field != l.field && slices.Equal(o.pos, l.pos) {
			r.markRival(o, l)
		}
		return
	}
	for _, i := range l.pos {
		r.by[i] = l
	}
	r.links = append(r.links, l)
	r.score += l.score
}

// enclosed reports whether the words around the one at i are a name.
func (r reading) enclosed(i int) bool {
	return slices.ContainsFunc(r.links, func(l *link) bool {
		return l.role == asField && l.whole >= 0.9 && len(l.pos) > 2 && l.start() < i && slices.Contains(l.pos, i+1)
	})
}

// markRival records that l is as good as o, which is selected.
func (r *reading) markRival(o, l *link) {
	duplicate := len(o.values) == 1 && len(l.values) == 1 && o.values[0] == l.values[0]
	closer := l.role == asField && l.field.numeric() && o.field.numeric() && l.whole > o.whole
	good := l.score >= fieldMargin*o.score && l.whole >= o.whole
	if !duplicate && o.rival == nil && (good || closer) {
		o.rival = l
	}
}

// tooWeak reports whether l may be chance: a small part of a name. In the words that the question
// matchOperation for, a part is enough.
func (r reading) tooWeak(l *link) bool {
	for _, c := range r.compared { // "start with"
		if oneOf(c.op, "start|end|contain") && l.start() < c.end && l.end() > c.at {
			return true
		}
	}
	low, one := r.q[l.start()].low, len(l.pos) == 1
	switch l.role {
	case asField:
		verb := !l.plain && (verbs[low] || states[low]) && !r.is(l.start()-1, "who")
		if one && (verb || fillers[low] && l.whole < 0.5) {
			return true
		}
		return l.whole < 0.35 && !r.focus.has(l.start()) && !r.shape.by.has(l.start())
	case asArray:
		return l.whole < 0.2
	case asValue:
		before := r.low(l.start() - 1)
		if before == "from" && l.introduced("to") || before == "to" && l.introduced("from") {
			return true // a destination is not where from
		}
		bland := fillers[low] || verbs[low] && l.whole < 1
		return one && l.score < 1.5 && (bland && !r.predicated(l.start()) || affirmative[low] || negative[low])
	}
	return false
}

// prepositions are words of fields whose values a preposition introduces.
var prepositions = map[string]string{
	"from": "origin|source|start|departure|sender|src", "to": "destination|target|end|arrival|receiver|recipient|dst|dest",
}

// introduced reports whether the preposition introduces values of the link's field.
func (l link) introduced(preposition string) bool {
	names := prepositions[preposition]
	return names != "" && slices.ContainsFunc(l.field.parts, func(p part) bool { return p.low == preposition || oneOf(p.low, names) })
}

// contextScore prefers a value whose field is named at most two words away, as in "prow-build cluster", or by a preposition. named has the
// links to names by field.
func (l link) contextScore(s *shape, named map[*field][]link) (bonus float64) {
	if l.role != asValue {
		return 0
	}
	for _, n := range named[l.field] {
		if d := max(n.start()-l.end(), l.start()-n.end()); d >= 0 && d < 3 {
			bonus = max(bonus, 0.4*n.whole)
		}
	}
	if l.introduced(s.low(l.start() - 1)) {
		bonus = max(bonus, 0.3)
	}
	return bonus
}

// roleScore scores the expected role at a position: records after "how many", a field after "which", "how many different" and "per", a flag
// as a condition elsewhere.
func (l link) roleScore(s *shape) float64 {
	inFocus := s.focus.has(l.start())
	switch {
	case l.role == asArray && inFocus && s.op != list && s.op != top:
		return 0.6 * l.whole
	case l.role != asField || inFocus && (s.op.conditional() || s.op == aggregate) || s.op == combine:
		return 0
	case inFocus || s.by.has(l.start()):
		return 0.4 * l.whole
	case s.op.conditional() && l.field.isBool() && l.whole >= 0.5:
		return l.whole
	case slices.ContainsFunc(s.compared, func(c comparison) bool { return l.start() >= c.at-4 && l.end() <= c.end+4 }):
		return 0
	}
	return -0.3 * l.score // redundant
}

// conditional reports whether the answer counts records that meet a condition.
func (o operation) conditional() bool { return o == count || o == share || o == exists || o == all }

// unexplained returns the content words that nothing explains.
func (r reading) unexplained() (out []int) {
	for i, w := range r.q {
		known := r.by[i] != nil || r.used[i] || w.stop && w.number == "" || fillers[w.low] && !(adjectives[w.low] && r.predicated(i))
		if !known && !r.linking(i) && !r.unit(i) && !r.renamed(i) && !(suffixes[w.low] && r.at(i-1, asField, asValue) != nil) {
			out = append(out, i)
		}
	}
	return out
}

// unrelated returns the unexplained words that may denote a name.
func (r reading) unrelated() (out []int) {
	for _, i := range r.unexplained() {
		if w := r.q[i]; w.number == "" && !w.ident && letters(w.text) {
			out = append(out, i)
		}
	}
	return out
}

// linking reports whether the verb at i only links the words around it: "made by Philips", "do they run", but neither "are running" nor
// "installed hosts".
func (r reading) linking(i int) bool {
	low := r.q[i].low
	after := r.at(i-1, asValue) != nil || r.at(i-1, asField) != nil && r.hasPossessive(r.by[i-1])
	switch {
	case verbs[low], states[low] && (after || r.op == top && r.is(i+1, "the|most|least|often")):
		return true
	case !states[low] || r.predicated(i):
		return false
	case !strings.HasSuffix(low, "ing") && !strings.HasSuffix(low, "ed") && low != "set":
		return true
	}
	linked := strings.HasSuffix(low, "ing") || r.at(i-1, asArray) != nil || r.is(i-1, auxiliaries)
	for k := i + 1; k < len(r.q) && !r.q[k].brk; k++ {
		if w := r.q[k]; r.by[k] != nil || w.number != "" || w.date != "" {
			return k > i+1 || linked && r.at(k, asField, asValue) != nil
		} else if !w.stop && !r.used[k] && !fillers[w.low] {
			return false
		}
	}
	return false
}

// renamed reports whether a parenthesis after the word gives its meaning.
func (r reading) renamed(i int) bool {
	for k := i + 1; k < min(len(r.q), i+6); k++ {
		if r.q[k].paren {
			return r.by[k] != nil
		}
	}
	return false
}

// unit reports whether the word at i is the unit of a number.
func (r reading) unit(i int) bool {
	return units[r.q[i].low] != "" && i > 0 && (r.q[i-1].number != "" || r.q[i-1].low == "in") || r.used[i]
}

// predicated reports whether the word at i ends a predicate after "are".
func (r reading) predicated(i int) bool {
	last := i+1 == len(r.q) || r.q[i+1].stop && !oneOf(r.q[i+1].low, "by|from|of|as|to|for|at|on|in|with|under") || r.q[i+1].brk
	if !last || r.is(i-1, "the|a|an|in|on|at|by|of|for|with|from|to|their|its|per") {
		return false
	}
	be, _ := find(r.q[:i], 0, "is|are|was|were|been|being")
	return be >= 0
}

// at returns the link of one of the roles at word i; nil if there is none.
func (r reading) at(i int, roles ...role) *link {
	if i < 0 || i >= len(r.by) || r.by[i] == nil || !slices.Contains(roles, r.by[i].role) {
		return nil
	}
	return r.by[i]
}

// target returns the target of a phrase: the field named by its last understood word, or the records of the array.
func (r reading) target(of span) (f *field, records bool) {
	for i := of[1] - 1; i >= of[0]; i-- {
		if l := r.at(i, asField); l != nil && (l.whole >= 0.6 || l.plain && l.whole >= 0.4 || l.whole >= 0.3 && r.is(i, measures)) {
			return l.field, false
		}
		if r.at(i, asArray, asGeneric, asValue) != nil {
			return nil, true
		}
	}
	return nil, false
}
