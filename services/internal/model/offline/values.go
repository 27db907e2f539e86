package offline

import (
	"maps"
	"math"
	"slices"
	"strings"

	"cairn/services/internal/estate"
)

const (
	maxRun    = 12  // words per value: a dotted name has many
	fewValues = 400 // distinct values up to which their words are matched
	maxMeant  = 12  // values per word
	longText  = 60  // length beyond which a value is prose
)

// index is the set of possible spellings of values: runs of the question's words, reduced
// to letters and digits.
type index struct {
	runs  map[string][]span
	hints [1 << 15 / 64]uint64 // Bloom filter of their beginnings, to skip most values
}

func makeIndex(q []word) *index {
	x := &index{runs: map[string][]span{}}
	for i := range q {
		text := ""
		for j := i; j < len(q) && j < i+maxRun && (j == i || !q[j].brk); j++ {
			text += q[j].text
			key := plain(text)
			cut := i > 0 && q[i].ident && q[i-1].at == q[i].at || j+1 < len(q) && q[j].ident && q[j+1].at == q[j].at
			if key != "" && !cut && slices.ContainsFunc(q[i:j+1], func(w word) bool { return !w.stop }) {
				if len(x.runs[key]) < maxOccurrences {
					x.runs[key] = append(x.runs[key], span{i, j + 1})
				}
				x.expect(hint(text, false))
			}
		}
	}
	return x
}

func (x *index) expect(h int) { x.hints[h/64] |= 1 << (h % 64) }

func (x *index) expects(h int) bool { return x.hints[h/64]&(1<<(h%64)) != 0 }

// plain returns the stem of a text's letters and digits in lower case.
func plain(text string) string {
	buf := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if c := text[i]; c >= 'A' && c <= 'Z' {
			buf = append(buf, c+'a'-'A')
		} else if letter(c) {
			buf = append(buf, c)
		}
	}
	return stem(string(buf))
}

func letter(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// hint hashes the first three letters and digits of a text, or of its first word.
func hint(text string, word bool) (h int) {
	for i, n := 0, 0; i < len(text) && n < 3; i++ {
		if letter(text[i]) {
			h, n = h<<5|int(text[i]&31), n+1
		} else if word {
			break
		}
	}
	return h
}

// mayHold reports whether a value, or a word in its first n bytes, may begin like a run of
// the question.
func (x *index) mayHold(text string, n int) bool {
	for i := 0; i < len(text) && i < n; i++ {
		if begins := i == 0 || !letter(text[i-1]) || text[i] < 'a'; begins && x.expects(hint(text[i:], true)) {
			return true
		}
	}
	return x.expects(hint(text, false))
}

// valueMatches finds values of a field that the question names, whole or by a word. It
// prefers frequent values: of two fields the classifying one is meant.
func (f *field) valueMatches(q []word, x *index) []match {
	values := f.column().Values
	if f.listed() {
		values = f.column().Elements
	} else if !f.textual() {
		return nil
	}
	few, n := len(values) <= fewValues, 1
	if few {
		n = longText
	}
	var out []match
	partly := map[int]*match{}
	for _, v := range values {
		if v.Type != "string" || !x.mayHold(v.Text, n) {
			continue
		}
		runs := x.runs[plain(v.Text)]
		for _, r := range runs {
			if m := (match{role: asValue, field: f, values: []estate.Value{v}, whole: 1, score: 1.1 * float64(r[1]-r[0])}); written(q, r, v.Text) {
				for i := r[0]; i < r[1]; i++ {
					m.pos = append(m.pos, i)
				}
				out = append(out, m)
			}
		}
		if len(runs) == 0 && few && len(v.Text) <= longText {
			f.noteParts(q, x, v, partly)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(partly)) {
		if m := partly[i]; len(m.values) <= maxMeant {
			out = append(out, *m)
		}
	}
	for i := range out {
		out[i].weigh(q)
	}
	return out
}

// weigh adjusts the score of a match of values: up for frequent ones, down for common
// words.
func (m *match) weigh(q []word) {
	n := 0
	for _, v := range m.values {
		n += v.Count
	}
	m.score += 0.04 * min(6, math.Log1p(float64(n)))
	if m.bland(q) {
		m.score *= 0.5
	}
}

// bland reports whether a value is a common word that may match by chance.
func (m match) bland(q []word) bool {
	at := m.start()
	return m.role == asValue && len(m.pos) == 1 && (fillers[q[at].low] || verbs[q[at].low]) && !predicated(q, at)
}

// written reports whether a value of digits and punctuation is written like the run: 2024
// is not 2.0.24. Small numbers require the field's name.
func written(q []word, r span, text string) bool {
	if strings.Trim(text, "0123456789.,:-/ ") != "" {
		return true
	}
	return q[r[0]].raw == text && q[r[1]-1].at == q[r[0]].at && (len(text) > 4 || strings.Trim(text, "0123456789") != "")
}

// noteParts records v for each word of the question that is one of its words; "ubuntu"
// matches "ubuntu2404" too.
func (f *field) noteParts(q []word, x *index, v estate.Value, partly map[int]*match) {
	words := nameWords(v.Text)
	for _, w := range words {
		runs := x.runs[stem(w)]
		if k := strings.IndexAny(w, "0123456789"); len(runs) == 0 && k >= 3 {
			runs = x.runs[stem(w[:k])]
		}
		for _, r := range runs {
			i := r[0]
			if len(words) > 3 || r[1] > i+1 || q[i].stop || fillers[q[i].low] || q[i].digits() != "" || len(q[i].low) < 2 ||
				platforms[q[i].low] && strings.Contains(v.Text, " ") {
				continue
			}
			if partly[i] == nil {
				partly[i] = &match{role: asValue, field: f, pos: []int{i}, score: 0.5 + 0.3/float64(len(words)), whole: 0.5}
			}
			if len(partly[i].values) <= maxMeant { // one more marks it as ambiguous
				partly[i].values = append(partly[i].values, v)
			}
		}
	}
}
