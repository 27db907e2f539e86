package offline

import (
	"slices"
	"strings"

	"cairn/services/internal/estate"
)

// role is the meaning of the words of a match.
type role int

const (
	asArray   role = iota // the array's name
	asField               // a field's name
	asValue               // values of a field
	asNumber              // a number or time that a field is compared with
	asGeneric             // "entries": the records of whatever array
)

// match is one interpretation of some words of a question.
type match struct {
	role   role
	field  *field
	values []estate.Value // asValue
	limits []limit        // asNumber
	pos    []int          // the words it explains, ascending
	score  float64
	whole  float64 // share of the name that the words cover, 0 to 1
	plain  bool    // by telling words of its own, no synonyms
	denied bool    // by the word for the opposite: "unpatched"
}

func (m match) start() int { return m.pos[0] }
func (m match) end() int   { return m.pos[len(m.pos)-1] + 1 }
func (m match) span() span { return span{m.start(), m.end()} }

// part is a word of a name and its weight.
type part struct {
	low, stem string
	weight    float64
	leaf      bool // of the last segment, or of one before that tells more
}

// parts cuts a dotted path into words. Parents count less than the last
// segment, unless that says nothing by itself. Of very long names only the last
// segments have parts.
func parts(path string) []part {
	segments := strings.Split(path, ".")
	var out []part
	telling := false
	for i := len(segments) - 1; i >= 0; i-- {
		leaf := !telling && i >= len(segments)-2
		for _, w := range nameWords(segments[i]) {
			if len(out) == maxNameWords {
				return out
			}
			p := part{w, stem(w), 1, leaf}
			switch {
			case oneOf(w, "type|kind"):
				p.weight = 0.5
			case vague[p.stem]:
				p.weight = 0.3
			default:
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

// nameMatches finds a name in the question. Its words may be in any order and, if apart is
// set, with function words between them.
func nameMatches(q []word, ps []part, apart bool) (out []match) {
	for i := range q {
		if len(out) == maxOccurrences {
			break
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

// nameMatchAt matches a name from word i on. The score grows with the number of matched
// words and the quality of each match.
func nameMatchAt(q []word, ps []part, i int, apart bool) (match, bool) {
	var used []int
	m := match{plain: true}
	var got, leaf, all float64
	for j, gap := i, 0; j < len(q) && gap <= 2; j++ {
		if j > i && (q[j].brk || q[j].stop && !apart || oneOf(q[j].low, "has|have|had|with|without")) {
			break
		}
		k, fit := bestPart(q[j], ps, used)
		switch {
		case k < 0 && j == i:
			return m, false
		case k < 0 && q[j].stop && q[j].low != "and":
			continue
		case k < 0:
			gap++
			continue
		}
		used, gap = append(used, k), 0
		m.pos, m.plain = append(m.pos, j), m.plain && fit == 1 && !fillers[q[j].low]
		m.score += fit * (0.4 + 0.6*ps[k].weight)
		got += ps[k].weight * fit
		if ps[k].leaf {
			leaf += ps[k].weight
		}
	}
	for _, p := range ps {
		all += p.weight
	}
	m.whole = got / all
	m.score *= 0.6 + 0.4*m.whole
	return m, leaf >= 0.3
}

// bestPart returns the index of the unused part that fits w best; -1 if none does.
func bestPart(w word, ps []part, used []int) (best int, fit float64) {
	best = -1
	for k, p := range ps {
		if f := alike(w.stem, p.stem); !w.stop && f > 0 && !slices.Contains(used, k) && (f > fit || f == fit && p.weight > ps[best].weight) {
			best, fit = k, f
		}
	}
	return best, fit
}

// arrayMatches finds the name of the array, or a general word for records. Without the
// noun for its records the score is low.
func (a *array) arrayMatches(q []word, v *vocabulary) []match {
	var out []match
	head := ""
	if v.names(a.key) {
		out, head = nameMatches(q, parts(a.key), false), a.head()
	}
	for i := range out {
		out[i].role = asArray
		out[i].score *= 1.25
		if !slices.ContainsFunc(out[i].pos, func(p int) bool { return alike(q[p].stem, head) > 0 }) {
			out[i].score *= 0.4
			out[i].whole *= 0.5
		}
	}
	for i, w := range q {
		if generics[w.stem] && !w.stop {
			out = append(out, match{role: asGeneric, pos: []int{i}, score: 0.1})
		}
	}
	return out
}

// fieldMatches finds names of fields of the array, and numbers beside them.
func (a *array) fieldMatches(q []word, v *vocabulary) []match {
	var out []match
	for _, f := range a.fields() {
		if a.ctx.Err() != nil {
			return nil
		}
		if !v.names(f.path) {
			continue
		}
		name := parts(f.path)
		out = append(out, f.opposites(q, name)...)
		for _, m := range nameMatches(q, name, true) {
			m.role, m.field = asField, f
			if n, ok := withNumber(q, m); ok && f.numeric() {
				out = append(out, n)
			}
			spelt := func(p part) bool {
				return p.leaf && slices.ContainsFunc(m.pos, func(i int) bool { return q[i].low == p.low })
			}
			if f.numeric() && slices.ContainsFunc(name, spelt) {
				m.score += 0.25 // "cpu" is rather cpu_percent than cpus
			}
			out = append(out, m)
		}
	}
	return out
}

// opposites finds words that negate a yes-or-no field or a list: "unpatched", "untagged".
func (f *field) opposites(q []word, name []part) []match {
	var out []match
	for i, w := range q {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(w.low, "non"), "un")
		if (ok || rest != w.low) && len(out) < maxOccurrences &&
			slices.ContainsFunc(name, func(p part) bool { return p.leaf && p.stem == stem(rest) }) &&
			(f.flag() || f.has("array") || f.textual() && f.column().Distinct == 2) {
			out = append(out, match{role: asField, field: f, pos: []int{i}, score: 1.2, whole: 1, plain: true, denied: true})
		}
	}
	return out
}
