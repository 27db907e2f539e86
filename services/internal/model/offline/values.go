package offline

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"cairn/services/internal/estate"
)

const (
	maxRun    = 12  // words that a value may take: a dotted name has many
	fewValues = 400 // in a column that is compared word by word; more is names
	maxPartly = 100 // in a column where a word of a value may mean it
	maxMeant  = 12  // values that a word may mean
	longText  = 60  // beyond which a value is prose
)

// index holds what values may be spelt as: runs of the question's words by
// their letters and digits, and single words by their stems.
type index struct {
	runs  map[string][]span
	stems map[string][]int
	hints [1024]bool // of how both begin, to pass over most values at once
}

func makeIndex(q []word) *index {
	x := &index{runs: map[string][]span{}, stems: map[string][]int{}}
	for i, w := range q {
		var run, short []byte
		for j := i; j < len(q) && j < i+maxRun && (j == i || !q[j].brk); j++ {
			run = appendPlain(run, q[j].text)
			short = appendPlain(short, cmp.Or(spellings[q[j].low], q[j].text))
			if len(run) > 0 && whole(q, i, j+1) && slices.ContainsFunc(q[i:j+1], func(w word) bool { return !w.stop }) {
				x.runs[string(run)] = append(x.runs[string(run)], span{i, j + 1})
				if string(short) != string(run) {
					x.runs[string(short)] = append(x.runs[string(short)], span{i, j + 1})
				}
			}
		}
		if !w.stop && whole(q, i, i+1) && len(w.low) > 1 && w.digits() == "" {
			s := stem(cmp.Or(spellings[w.low], w.low))
			x.stems[w.stem] = append(x.stems[w.stem], i)
			if s != w.stem {
				x.stems[s] = append(x.stems[s], i)
			}
		}
	}
	for key := range x.runs {
		x.hints[hint(key+" ")] = true
	}
	for key := range x.stems {
		x.hints[hint(key+" ")] = true
	}
	return x
}

func hint(text string) int { return int(text[0]&31)<<5 | int(text[1]&31) }

func plain(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// mayHold says whether a word of a value, of those that begin in its first n
// bytes, begins as one of the question.
func (x *index) mayHold(text string, n int) bool {
	for i := 0; i+1 < len(text) && i < n; i++ {
		begins := i == 0 || !plain(text[i-1]) || text[i] < 'a'
		if begins && plain(text[i]) && (!plain(text[i+1]) || x.hints[hint(text[i:])]) {
			return true
		}
	}
	return len(text) == 1 || len(text) > 1 && !plain(text[0])
}

// whole says whether the run cuts no identifier apart.
func whole(q []word, i, j int) bool {
	before := i > 0 && q[i].ident && q[i-1].at == q[i].at
	after := j < len(q) && q[j-1].ident && q[j].at == q[j-1].at
	return !before && !after
}

// appendPlain appends the letters and digits of s, in lower case.
func appendPlain(buf []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			buf = append(buf, c+'a'-'A')
		case plain(c):
			buf = append(buf, c)
		}
	}
	return buf
}

// valueMatches finds the values of a field that the question names. Values of
// many records are favoured: of two fields the one that sorts them is meant.
func (f *field) valueMatches(q []word, x *index) []match {
	values := f.column().Values
	if f.listed() {
		values = f.column().Elements
	} else if !f.textual() {
		return nil
	}
	var out []match
	partly := map[int]*match{}
	var buf []byte
	few, n := len(values) <= fewValues, 1
	if few {
		n = longText
	}
	for _, v := range values {
		if v.Type != "string" || !x.mayHold(v.Text, n) {
			continue
		}
		buf = appendPlain(buf[:0], v.Text)
		runs := sameDigits(q, x.runs[string(buf)], v.Text, buf)
		for _, r := range runs {
			m := match{role: asValue, field: f, values: []estate.Value{v}, whole: 1, score: 1.1 * float64(r[1]-r[0])}
			for i := r[0]; i < r[1]; i++ {
				m.pos = append(m.pos, i)
			}
			out = append(out, m)
		}
		if len(runs) == 0 && few && len(v.Text) <= longText {
			out = append(out, f.byWords(q, x, v, partly)...)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(partly)) {
		if m := partly[i]; len(m.values) <= maxMeant && !slices.ContainsFunc(out, func(o match) bool { return slices.Contains(o.pos, i) }) {
			out = append(out, *m)
		}
	}
	for i, m := range out {
		n := 0
		for _, v := range m.values {
			n += v.Count
		}
		out[i].score += 0.04 * min(6, math.Log1p(float64(n)))
		if m.bland(q) {
			out[i].score *= 0.5
		}
	}
	return out
}

// bland says whether a value is a plain word that happens to be one, too.
func (m match) bland(q []word) bool {
	at := m.start()
	return m.role == asValue && len(m.pos) == 1 && (fillers[q[at].low] || verbs[q[at].low]) && !predicated(q, at)
}

// sameDigits keeps, for a value of digits and punctuation, the runs that are
// written like it: 2024 is not 2.0.24. Small numbers need a field's name.
func sameDigits(q []word, runs []span, text string, plain []byte) []span {
	if len(runs) == 0 || strings.Trim(string(plain), "0123456789") != "" {
		return runs
	}
	return slices.DeleteFunc(slices.Clone(runs), func(r span) bool {
		return len(text) < 5 && text == string(plain) || q[r[0]].raw != text || q[r[1]-1].at != q[r[0]].at
	})
}

// byWords compares word by word: all words of the value make a match at once,
// some of them are noted in partly, by the word of the question.
func (f *field) byWords(q []word, x *index, v estate.Value, partly map[int]*match) []match {
	words := nameWords(v.Text)
	mayPart := len(words) <= 3 && f.column().Distinct <= maxPartly
	m := match{role: asValue, field: f, values: []estate.Value{v}, whole: 1}
	full := len(words) > 0 && len(words) <= 6
	for _, w := range words {
		at := x.stems[stem(w)]
		if len(at) == 0 {
			full = false
			if k := strings.IndexAny(w, "0123456789"); k >= 3 {
				at = x.stems[stem(w[:k])] // "ubuntu" for "ubuntu2404"
			}
		}
		m.pos = append(m.pos, at...)
		for _, i := range at {
			if mayPart && !fillers[q[i].low] && !(platforms[q[i].low] && strings.Contains(v.Text, " ")) {
				if partly[i] == nil {
					partly[i] = &match{role: asValue, field: f, pos: []int{i}, score: 0.5 + 0.3/float64(len(words)), whole: 0.5}
				}
				partly[i].values = append(partly[i].values, v)
			}
		}
	}
	slices.Sort(m.pos)
	m.pos = slices.Compact(m.pos)
	if !full || len(m.pos) != len(words) || m.end()-m.start() > len(words)+1 {
		return nil
	}
	for _, i := range m.pos {
		delete(partly, i)
	}
	m.score = float64(len(m.pos))
	return []match{m}
}
