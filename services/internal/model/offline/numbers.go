package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/services/internal/estate"
)

// limit is what a field is compared with.
type limit struct{ op, to string } // op as in a filter, or eq

var comparisons = []struct{ words, op string }{
	{"at least", "gte"}, {"at most", "lte"}, {"up to", "lte"}, {"or more", "gte"}, {"or fewer|less", "lte"},
	{"more|greater|larger|bigger|higher|longer|older than", "gt"}, {"fewer|less|lower|smaller|shorter|younger than", "lt"},
	{"over|above|exceeding", "gt"}, {"under|below", "lt"},
}

// betweens stand between a field and its number.
var betweens = set("is are of equal equals to at least most more less fewer than over under above below exactly = set was were")

// withNumber widens a field's match by the number that stands before, within
// or after it, and by how it is compared.
func withNumber(q []word, m match) (match, bool) {
	i := numberAt(q, m)
	if i < 0 {
		return m, false
	}
	m.role, m.pos, m.score = asNumber, append(slices.Clone(m.pos), i), m.score+1
	slices.Sort(m.pos)
	l := limit{"eq", q[i].digits()}
	for _, c := range comparisons {
		from, to := find(q[:min(len(q), m.end()+2)], max(0, m.start()-3), c.words)
		if from < 0 || l.op != "eq" {
			continue
		}
		l.op = c.op
		for ; from < to; from++ {
			if !q[from].stop && !slices.Contains(m.pos, from) {
				m.pos = append(m.pos, from)
			}
		}
	}
	slices.Sort(m.pos)
	m.limits = []limit{l}
	return m, true
}

// numberAt finds the number that belongs to a field: -1 for none.
func numberAt(q []word, m match) int {
	from := max(0, m.start()-1)
	for from > 0 && m.start()-from < 4 && oneOf(q[from].low, "or|more|fewer|less") {
		from--
	}
	for i := from; i < len(q) && i < m.end()+4; i++ {
		switch {
		case slices.Contains(m.pos, i):
		case q[i].digits() != "":
			return i
		case i >= m.end() && !betweens[q[i].low]:
			return -1
		}
	}
	return -1
}

// date is a year, month or day in a question.
type date struct {
	pos         []int
	from, until string // its first day, and the first after it
	op          string // the preposition before
}

var months = strings.Fields("january february march april may june july august september october november december")

// dates finds "in 2023", "before 2022-05-03", "since March 2021".
func dates(q []word) []date {
	var out []date
	for i, w := range q {
		year, err := strconv.Atoi(w.low)
		if err != nil || len(w.low) != 4 || year < 1900 || year > 2099 || i == 0 {
			continue
		}
		d, at := date{pos: []int{i}}, []int{year}
		for k := i + 1; k < len(q) && q[k].at == w.at && len(q[k].digits()) == 2; k++ {
			n, _ := strconv.Atoi(q[k].low)
			at, d.pos = append(at, n), append(d.pos, k)
		}
		before := i - 1
		if m := slices.Index(months, q[before].low); m >= 0 && len(at) == 1 && before > 0 {
			at, d.pos, before = append(at, m+1), append([]int{before}, d.pos...), before-1
		}
		if d.op = q[before].low; len(at) > 3 || !oneOf(d.op, "in|during|of|on|for|before|until|till|since|from|after") {
			continue
		}
		for k, n := range at {
			d.from += fmt.Sprintf("%02d-", n)
			if k == len(at)-1 {
				n++
			}
			d.until += fmt.Sprintf("%02d-", n)
		}
		d.from, d.until = strings.TrimSuffix(d.from, "-"), strings.TrimSuffix(d.until, "-")
		out = append(out, d)
	}
	return out
}

// limits says how a field is bounded by the date. Dates sort as text, though
// "2022-13" is none.
func (d date) limits() []limit {
	switch d.op {
	case "before", "until", "till":
		return []limit{{"lt", d.from}}
	case "since", "from":
		return []limit{{"gte", d.from}}
	case "after":
		return []limit{{"gte", d.until}}
	}
	return []limit{{"gte", d.from}, {"lt", d.until}}
}

var isoDate = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}(-[0-9]{2}|$)`)

// dated says whether the field's values are dates that sort as text.
func (f *field) dated() bool {
	vs := f.column().Values
	return f.textual() && len(vs) > 0 && isoDate.MatchString(vs[0].Text)
}

// yearly says whether the field's values are years.
func (f *field) yearly() bool {
	vs := f.column().Values
	return f.numeric() && len(vs) > 0 && !slices.ContainsFunc(vs, func(v estate.Value) bool {
		return len(v.Text) != 4 || v.Text < "1900" || v.Text > "2099"
	})
}

// dateMatches ties the dates of the question to the date field that it names
// best; without a name, to the only one there is.
func (a *array) dateMatches(q []word, named []match) []match {
	found := dates(q)
	if len(found) == 0 {
		return nil
	}
	var best *field
	most, ties := -1.0, 0
	for _, f := range a.fields() {
		if !f.dated() && !f.yearly() {
			continue
		}
		score := 0.0
		for _, m := range named {
			if m.field == f {
				score = max(score, m.score)
			}
		}
		switch {
		case score > most:
			best, most, ties = f, score, 1
		case score == most:
			ties++
		}
	}
	var out []match
	for _, d := range found {
		if ties == 1 && (best.dated() || len(d.from) == 4) {
			out = append(out, match{role: asNumber, field: best, pos: d.pos, limits: d.limits(), score: 1.1*float64(len(d.pos)) + 1.5/float64(len(d.pos)*len(d.pos)), whole: 0.9})
		}
	}
	return out
}
