package offline

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"cairn/services/internal/estate"
)

// limit is the operand of a comparison with a field.
type limit struct{ op, to string } // op as in a filter, or eq

var comparisons = []struct{ words, op string }{
	{"at least", "gte"}, {"at most", "lte"}, {"up to", "lte"}, {"or more", "gte"}, {"or fewer|less", "lte"},
	{"more|greater|larger|bigger|higher|longer|older|heavier|taller|wider|faster than", "gt"},
	{"fewer|less|lower|smaller|shorter|younger|lighter|slower|cheaper than", "lt"},
	{"over|above|exceeding", "gt"}, {"under|below", "lt"},
}

// withNumber extends a field's match by a number directly before, within or after it, and
// the operator.
func withNumber(q []word, m match) (match, bool) {
	from := max(0, m.start()-1)
	for from > 0 && m.start()-from < 4 && oneOf(q[from].low, "or|more|fewer|less") {
		from--
	}
	i := from
	for i < len(q) && i < m.end()+4 && q[i].digits() == "" && (i < m.end() || betweens[q[i].low]) {
		i++
	}
	if i == len(q) || q[i].digits() == "" {
		return m, false
	}
	end := min(len(q), m.end()+2)
	l := limit{"eq", q[i].digits()}
	m.role, m.pos, m.score = asNumber, append(slices.Clone(m.pos), i), m.score+1
	for _, c := range comparisons {
		at, to := find(q[:max(end, i)], max(0, m.start()-3), c.words)
		for ; at >= 0 && at < to; at++ {
			if l.op = c.op; !slices.Contains(m.pos, at) {
				m.pos = append(m.pos, at)
			}
		}
	}
	slices.Sort(m.pos)
	m.limits = []limit{l}
	return m, true
}

// dateMatches finds "in 2023" or "before 2022-05-03" and assigns it to the best-named
// field of dates or years, or to the only one.
func (a *array) dateMatches(q []word, named []match) []match {
	var out []match
	dated := sync.OnceValue(func() *field { return a.dated(named, false) })
	datedOrYears := sync.OnceValue(func() *field { return a.dated(named, true) })
	for i, w := range q {
		if i == 0 || w.digits() == "" || !isYear(w.low) {
			continue
		}
		m := match{role: asNumber, pos: []int{i}, whole: 0.9}
		for k := i + 1; k < len(q) && q[k].at == w.at && len(m.pos) < 3; k++ {
			m.pos = append(m.pos, k)
		}
		if m.limits, m.field = bounds(q, m.pos, q[i-1].low), dated(); len(m.pos) == 1 {
			m.field = datedOrYears()
		}
		if m.field != nil && m.limits != nil {
			m.score = 1.1*float64(len(m.pos)) + 1.5/float64(len(m.pos)*len(m.pos))
			out = append(out, m)
		}
	}
	return out
}

// bounds returns the limits of the date at pos, depending on the word before it. Dates
// compare as strings, so "2022-13" is a valid bound.
func bounds(q []word, pos []int, before string) []limit {
	first, next := "", ""
	for _, i := range pos {
		n, _ := strconv.Atoi(q[i].low)
		first, next = first+fmt.Sprintf("-%02d", n), first+fmt.Sprintf("-%02d", n+1)
	}
	first, next = first[1:], next[1:]
	switch {
	case oneOf(before, "before|until|till"):
		return []limit{{"lt", first}}
	case oneOf(before, "since|from"):
		return []limit{{"gte", first}}
	case before == "after":
		return []limit{{"gte", next}}
	case oneOf(before, "in|during|of|on|for"):
		return []limit{{"gte", first}, {"lt", next}}
	}
	return nil
}

// dated returns the best-named field of dates, or of years; nil if two are named equally
// well.
func (a *array) dated(named []match, years bool) (best *field) {
	most := -1.0
	scores := map[*field]float64{}
	for _, m := range named {
		if m.field != nil {
			scores[m.field] = max(scores[m.field], m.score)
		}
	}
	for _, f := range a.fields() {
		if !f.dates() && !(years && f.years()) {
			continue
		}
		score := scores[f]
		if score == most {
			best = nil
		} else if score > most {
			best, most = f, score
		}
	}
	return best
}

// dates reports whether the field has dates, which compare as strings.
func (f *field) dates() bool {
	if !f.textual() {
		return false
	}
	values := f.column().Values
	return len(values) > 0 && len(values[0].Text) > 6 && values[0].Text[4] == '-' && isYear(values[0].Text[:4])
}

// years reports whether all numbers of the field are years.
func (f *field) years() bool {
	if !f.numeric() {
		return false
	}
	values := f.column().Values
	return len(values) > 0 && !slices.ContainsFunc(values, func(v estate.Value) bool { return !isYear(v.Text) })
}

func isYear(text string) bool { return len(text) == 4 && text >= "1900" && text <= "2099" }
