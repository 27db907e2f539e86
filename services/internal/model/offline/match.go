package offline

import (
	"math"
	"slices"
	"strings"
)

// role says what a match takes words of the question for.
type role int

const (
	asArray   role = iota // the array's name
	asField               // a field's name
	asValue               // values of a field
	asDate                // a time that a field's dates are compared with
	asNumber              // a number with the name of a numeric field
	asGeneric             // "entries": the records of whatever array
	asLabel               // a word about something else that is named
)

// match is one way to understand some words of a question.
type match struct {
	role   role
	field  *field
	values []value  // asValue
	num    string   // asNumber
	bland  bool     // asValue: a word such as "default"
	date   dateSpan // asDate
	pos    []int    // the tokens it explains, ascending
	score  float64
	whole  float64 // share of the name that the words cover, 0 to 1
	plain  bool    // by the very words, no synonyms
	denied bool    // by the word for the opposite: "unpatched"
}

func (m match) start() int { return m.pos[0] }
func (m match) end() int   { return m.pos[len(m.pos)-1] + 1 }

// part is a word of a name, and how much it says.
type part struct {
	low    string // as written
	stem   string
	weight float64
	leaf   bool
}

// parts cuts a dotted path into words. Parents count less than the last
// segment, unless that says nothing by itself.
func parts(path string) []part {
	segments := strings.Split(path, ".")
	last := len(segments) - 1
	var out []part
	telling := false
	for i := last; i >= 0; i-- {
		leaf := i == last || !telling && i == last-1
		for _, w := range nameParts(segments[i]) {
			p := part{w, stem(w), 1, leaf}
			switch {
			case p.stem == "type" || p.stem == "kind":
				p.weight = 0.5
			case vague[p.stem]:
				p.weight = 0.3
			case leaf:
				telling = true
			}
			if !leaf {
				p.weight *= 0.4
			}
			out = append(out, p)
		}
	}
	return out
}

// nameMatches finds where the question speaks of a name. Words of the name
// may stand in any order, and apart when apart says so: at most two other words
// that carry meaning may come between.
func nameMatches(q []token, ps []part, apart bool) []match {
	var out []match
	for i := range q {
		if q[i].stop || !begins(q, i, ps) {
			continue
		}
		if len(out) > 0 && slices.Contains(out[len(out)-1].pos, i) {
			continue
		}
		if m, ok := nameMatchAt(q, ps, i, apart); ok {
			out = append(out, m)
		}
	}
	return out
}

// begins says whether the word at i, alone or with the next, is in the name.
func begins(q []token, i int, ps []part) bool {
	joined := ""
	if i+1 < len(q) && !q[i+1].brk {
		joined = stem(q[i].low + q[i+1].low)
	}
	return slices.ContainsFunc(ps, func(p part) bool { return alike(q[i].stem, p.stem) > 0 || p.stem == joined })
}

// far is what a word counts less for each word between it and the others.
const far = 0.85

func nameMatchAt(q []token, ps []part, i int, apart bool) (match, bool) {
	used := make([]bool, len(ps))
	m := match{plain: true}
	var got, leaf, all float64
	for j, gap, skipped := i, 0, 0; j < len(q) && gap <= 2; j++ {
		if j > i && (q[j].brk || q[j].stop && !apart || oneOf(q[j].low, "has|have|had|with|without")) {
			break
		}
		k, fit := bestPart(q[j], ps, used)
		joined := k < 0 && j+1 < len(q) && !q[j].stop && !q[j+1].brk
		if joined {
			k, fit = bestPart(token{stem: stem(q[j].low + q[j+1].low)}, ps, used)
			joined = k >= 0 && fit == 1
		}
		if k < 0 || fit < 1 && joined {
			skipped++
			if !q[j].stop || q[j].low == "and" {
				gap++
			}
			continue
		}
		used[k] = true
		m.score += fit * (0.4 + 0.6*ps[k].weight) * math.Pow(far, float64(skipped))
		gap, skipped = 0, 0
		m.plain = m.plain && fit == 1
		m.pos = append(m.pos, j)
		if joined {
			j++
			m.pos = append(m.pos, j)
		}
		got += ps[k].weight * fit
		if ps[k].leaf {
			leaf += ps[k].weight
		}
	}
	if leaf < 0.3 || len(m.pos) == 0 {
		return match{}, false
	}
	for _, p := range ps {
		all += p.weight
	}
	m.whole = got / all
	m.score *= 0.6 + 0.4*m.whole
	return m, true
}

// bestPart is the unused word of a name that fits the token best, -1 for none.
func bestPart(t token, ps []part, used []bool) (best int, fit float64) {
	best = -1
	if t.stop {
		return
	}
	for k, p := range ps {
		if f := alike(t.stem, p.stem); f > 0 && !used[k] && (f > fit || f == fit && p.weight > ps[best].weight) {
			best, fit = k, f
		}
	}
	return best, fit
}

// arrayMatches finds where the question names the array, or its records in
// general.
func (a *array) arrayMatches(q []token) []match {
	out := nameMatches(q, a.parts, false)
	for i := range out {
		out[i].role = asArray
		out[i].score *= 1.25
		head := lastWord(a.key)
		if !slices.ContainsFunc(out[i].pos, func(p int) bool { return alike(q[p].stem, head) > 0 }) {
			out[i].score *= 0.4
			out[i].whole *= 0.5
		}
	}
	for i, t := range q {
		if !t.stop && genericNouns[t.stem] {
			out = append(out, match{role: asGeneric, pos: []int{i}, score: 0.1})
		}
	}
	return out
}

// lastWord is the stem of the last word of a key: what a record is.
func lastWord(key string) string {
	words := nameParts(key)
	if len(words) == 0 {
		return ""
	}
	return stem(words[len(words)-1])
}

// fieldMatches finds where the question names fields of the array, and where
// it gives numbers with them.
func (a *array) fieldMatches(q []token) []match {
	var out []match
	for _, f := range a.fields() {
		out = append(out, f.opposites(q)...)
		out = append(out, f.mentions(q)...)
		for _, m := range nameMatches(q, f.parts, true) {
			m.role, m.field = asField, f
			switch {
			case f.has("object"):
				m.score *= 0.6
			case f.numeric() && f.spelt(q, m):
				m.score += literal
			}
			out = append(out, m)
			if n, ok := withNumber(q, m); ok && f.numeric() {
				out = append(out, n)
			}
		}
	}
	return out
}

// literal is what a numeric field gains when the question has its very words:
// "cpu" is rather cpu_percent than cpus.
const literal = 0.25

func (f *field) spelt(q []token, m match) bool {
	return slices.ContainsFunc(f.parts, func(p part) bool {
		return p.leaf && slices.ContainsFunc(m.pos, func(i int) bool { return q[i].low == p.low })
	})
}

// mentions finds the field's name written as one word: "containersCount".
func (f *field) mentions(q []token) []match {
	leaf := f.path[strings.LastIndex(f.path, ".")+1:]
	if words := nameParts(leaf); len(words) < 2 || strings.ToLower(leaf) != strings.Join(words, "") {
		return nil
	}
	var out []match
	for i, t := range q {
		if t.low == strings.ToLower(leaf) {
			out = append(out, match{role: asField, field: f, pos: []int{i}, score: 1.5, whole: 1, plain: true})
		}
	}
	return out
}

// opposites finds words that deny a field that says yes or no, or has lists:
// "unpatched", "untagged". Values are looked at last: reading them takes time.
func (f *field) opposites(q []token) []match {
	var out []match
	for i, t := range q {
		if !f.opposed(t.low) {
			continue
		}
		if _, _, polar := f.polar(); polar || f.flag() || f.has("array") {
			out = append(out, match{role: asField, field: f, pos: []int{i}, score: 1.2, whole: 1, plain: true, denied: true})
		}
	}
	return out
}

// opposed says whether the word is one of the field's name with a prefix that
// denies.
func (f *field) opposed(low string) bool {
	for _, prefix := range []string{"un", "non", "not", "de"} {
		rest, ok := strings.CutPrefix(low, prefix)
		if ok && len(rest) > 2 && slices.ContainsFunc(f.parts, func(p part) bool { return p.leaf && p.stem == stem(rest) && !vague[p.stem] }) {
			return true
		}
	}
	return false
}

// withNumber widens a field's match by the number that stands in or next to it.
func withNumber(q []token, m match) (match, bool) {
	i := numberAt(q, m)
	if i < 0 {
		return m, false
	}
	out := m
	out.role, out.num = asNumber, q[i].digits()
	out.pos = append(slices.Clone(m.pos), i)
	slices.Sort(out.pos)
	out.score += 1
	return out, true
}

// numberAt finds the number that belongs to a field: before it, within, or
// after, with no more than a comparison between. -1 for none.
func numberAt(q []token, m match) int {
	from := max(0, m.start()-1)
	for from > 0 && m.start()-from < 4 && oneOf(q[from].low, "or|more|fewer|less") {
		from--
	}
	for i := from; i < m.end(); i++ {
		if q[i].digits() != "" && !slices.Contains(m.pos, i) {
			return i
		}
	}
	for i := m.end(); i < len(q) && i < m.end()+4; i++ {
		if q[i].digits() != "" {
			return i
		}
		if !numberGlue[q[i].low] {
			break
		}
	}
	return -1
}

// numberGlue stands between a field and its number.
var numberGlue = set("is are of equal equals to at least most more less than over under above below exactly = set")
