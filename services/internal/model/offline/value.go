package offline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// grams are the runs of the question's tokens by their letters and digits, to
// be looked up for each value of a column.
type grams struct {
	runs  map[string][][2]int // from and to, not included
	stems map[string][]int    // single words
}

// maxRun is how many tokens a value may take: a dotted or dashed name has many.
const maxRun = 12

func makeGrams(q []token) grams {
	g := grams{map[string][][2]int{}, map[string][]int{}}
	for i := range q {
		g.addRuns(q, i)
		if !q[i].stop && (!q[i].ident || alone(q, i)) && len(q[i].low) > 1 && q[i].digits() == "" {
			g.stems[q[i].stem] = append(g.stems[q[i].stem], i)
			if short, ok := spellings[q[i].low]; ok {
				g.stems[stem(short)] = append(g.stems[stem(short)], i)
			}
		}
	}
	return g
}

// addRuns adds the runs that begin at token i, as written and in short forms.
func (g grams) addRuns(q []token, i int) {
	var full, short []byte
	for j := i; j < len(q) && j < i+maxRun && (j == i || !q[j].brk); j++ {
		full = appendNorm(full, q[j].text)
		short = appendNorm(short, cmp.Or(spellings[q[j].low], q[j].text))
		if !wholeIdents(q, i, j+1) || allStop(q[i:j+1]) {
			continue
		}
		run := [2]int{i, j + 1}
		g.runs[string(full)] = append(g.runs[string(full)], run)
		if string(short) != string(full) {
			g.runs[string(short)] = append(g.runs[string(short)], run)
		}
	}
}

// alone says whether the token is all of its written word.
func alone(q []token, i int) bool { return wholeIdents(q, i, i+1) }

// wholeIdents says whether the run cuts no identifier apart.
func wholeIdents(q []token, i, j int) bool {
	before := i > 0 && q[i].ident && q[i-1].word == q[i].word
	after := j < len(q) && q[j-1].ident && q[j].word == q[j-1].word
	return !before && !after
}

func allStop(q []token) bool {
	return !slices.ContainsFunc(q, func(t token) bool { return !t.stop })
}

// valueMatches finds the values of a field that the question names.
func (f *field) valueMatches(q []token, g grams) []match {
	values := f.values()
	switch {
	case f.listed():
		values = f.column().elements
	case !f.textual():
		return nil
	}
	var out []match
	parts := map[int]*match{} // by token: values of which the token is a part
	var buf []byte
	few := len(values) <= fewValues
	for _, v := range values {
		buf = appendNorm(buf[:0], v.text)
		if len(buf) == 0 {
			continue
		}
		if runs, ok := g.runs[string(buf)]; ok && !onlyDigits(v.text) {
			runs = sameDigits(q, runs, v.text, buf)
			for _, r := range runs {
				out = append(out, exact(q, f, v, r))
			}
		} else if few && len(v.text) <= longText {
			out = append(out, f.looseMatches(q, g, v, parts)...)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(parts)) {
		m := parts[i]
		if len(m.values) <= maxMeant && !slices.ContainsFunc(out, func(o match) bool { return slices.Contains(o.pos, i) }) {
			out = append(out, *m)
		}
	}
	for i := range out {
		out[i].score += f.commonness(out[i].values)
		if f.personal() && !slices.ContainsFunc(q, func(t token) bool { return logins[t.stem] }) {
			out[i].score -= 0.5
		}
		if f.identifying() && len(out[i].pos) == 1 && !q[out[i].start()].ident {
			out[i].score -= 0.2
			if strings.EqualFold(f.path, "name") {
				out[i].score += 0.15
			}
		}
	}
	return out
}

const (
	// fewValues is how many a column may have for its values to be compared
	// word by word: more is a column of names, which are said as they are.
	fewValues = 400
	// maxPartly is how many a column may have for a word of a value to mean it.
	maxPartly = 100
	// maxMeant is how many values a word may mean: one in more of them says
	// what the values are.
	maxMeant = 12
	// longText is the length beyond which a value is prose.
	longText = 60
)

// sameDigits keeps, for a value of digits and punctuation, the runs that are
// written like it: 2024 is not 2.0.24.
func sameDigits(q []token, runs [][2]int, text string, norm []byte) [][2]int {
	if strings.Trim(string(norm), "0123456789") != "" {
		return runs
	}
	var out [][2]int
	for _, r := range runs {
		if q[r[0]].raw == text && q[r[1]-1].word == q[r[0]].word {
			out = append(out, r)
		}
	}
	return out
}

// onlyDigits says whether a value is a small number written as text: it is
// asked for beside the name of its field.
func onlyDigits(text string) bool {
	return strings.Trim(text, "0123456789") == "" && len(text) < 5
}

func exact(q []token, f *field, v value, run [2]int) match {
	m := match{role: asValue, field: f, values: []value{v}, whole: 1}
	for i := run[0]; i < run[1]; i++ {
		m.pos = append(m.pos, i)
	}
	m.score = 1.1 * float64(len(m.pos))
	if len(m.pos) == 1 {
		if m.bland = bland[strings.ToLower(v.text)] || verbs[q[run[0]].low] && !predicated(q, run[0]); m.bland {
			m.score *= 0.5
		}
	}
	return m
}

// looseMatches compares word by word: all words of the value make a match at
// once, some of them are noted in parts.
func (f *field) looseMatches(q []token, g grams, v value, partly map[int]*match) []match {
	words := nameParts(v.text)
	mayPart := len(words) <= 3 && !f.identifying() && f.column().distinct <= maxPartly
	if len(words) == 0 || len(words) > 6 {
		return nil
	}
	m := match{role: asValue, field: f, values: []value{v}}
	for _, w := range words {
		at := g.stems[stem(w)]
		if len(at) == 0 {
			at = prefixed(g, w)
		}
		for _, i := range at {
			m.pos = append(m.pos, i)
			if mayPart && !fillers[q[i].low] && !(brands[q[i].low] && strings.Contains(v.text, " ")) {
				notePart(partly, f, v, i, len(words))
			}
		}
	}
	slices.Sort(m.pos)
	m.pos = slices.Compact(m.pos)
	if len(m.pos) != len(words) || m.end()-m.start() > len(words)+1 || !allWords(g, words) {
		return nil
	}
	for _, i := range m.pos {
		delete(partly, i)
	}
	m.whole = 1
	m.score = 1.0 * float64(len(m.pos))
	return []match{m}
}

func allWords(g grams, words []string) bool {
	for _, w := range words {
		if len(g.stems[stem(w)]) == 0 {
			return false
		}
	}
	return true
}

// prefixed finds tokens with which a word of a value begins before its digits:
// "ubuntu" for "ubuntu2404".
func prefixed(g grams, w string) []int {
	i := strings.IndexAny(w, "0123456789")
	if i < 3 {
		return nil
	}
	return g.stems[stem(w[:i])]
}

func notePart(partly map[int]*match, f *field, v value, i, words int) {
	m := partly[i]
	if m == nil {
		m = &match{role: asValue, field: f, pos: []int{i}, score: 0.5 + 0.3/float64(words), whole: 0.5}
		partly[i] = m
	}
	if !slices.ContainsFunc(m.values, func(o value) bool { return o.text == v.text }) {
		m.values = append(m.values, v)
	}
}
