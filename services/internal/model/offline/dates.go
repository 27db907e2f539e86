package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// dateSpan is a day, month or year in a question, as the first day in it and
// the first after it, and how it is compared.
type dateSpan struct {
	pos         []int
	from, until string
	op          string // during, lt, gte
}

var months = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

// dateSpans finds "in 2023", "before 2022-05-03", "since March 2021".
func dateSpans(q []token) []dateSpan {
	var out []dateSpan
	for i := 0; i < len(q); i++ {
		year, err := strconv.Atoi(q[i].low)
		if err != nil || len(q[i].low) != 4 || year < 1970 || year > 2099 || i == 0 {
			continue
		}
		d := dateSpan{pos: []int{i}}
		before := i - 1
		numbers := []int{year}
		for k := i + 1; k < len(q) && q[k].word == q[i].word && len(q[k].digits()) == 2; k++ {
			n, _ := strconv.Atoi(q[k].low)
			numbers, d.pos = append(numbers, n), append(d.pos, k)
		}
		if m := slices.Index(months, q[before].low); m >= 0 && len(numbers) == 1 {
			numbers, d.pos = append(numbers, m+1), append([]int{before}, d.pos...)
			before--
		}
		if before < 0 || len(numbers) > 3 {
			continue
		}
		d.from, d.until = dateRange(numbers)
		switch {
		case oneOf(q[before].low, "in|during|of|on|for"):
			d.op = "during"
		case oneOf(q[before].low, "before|until|till"):
			d.op = "lt"
		case oneOf(q[before].low, "since|from"):
			d.op = "gte"
		case oneOf(q[before].low, "after"):
			d.op, d.from = "gte", d.until
		default:
			continue
		}
		if !q[before].stop {
			d.pos = append([]int{before}, d.pos...)
		}
		out = append(out, d)
	}
	return out
}

// dateRange writes year, month and day as text that sorts: the beginning of
// the time and what is after all of it.
func dateRange(numbers []int) (from, until string) {
	switch len(numbers) {
	case 1:
		return fmt.Sprintf("%04d", numbers[0]), fmt.Sprintf("%04d", numbers[0]+1)
	case 2:
		next := fmt.Sprintf("%04d-%02d", numbers[0], numbers[1]+1)
		if numbers[1] >= 12 {
			next = fmt.Sprintf("%04d", numbers[0]+1)
		}
		return fmt.Sprintf("%04d-%02d", numbers[0], numbers[1]), next
	}
	from = fmt.Sprintf("%04d-%02d-%02d", numbers[0], numbers[1], numbers[2])
	return from, fmt.Sprintf("%04d-%02d-%02d", numbers[0], numbers[1], numbers[2]+1)
}

var isoDate = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}(-[0-9]{2}|$)`)

// dated says whether the field's values are dates that sort as text.
func (f *field) dated() bool {
	vs := f.values()
	return len(vs) > 0 && f.textual() && isoDate.MatchString(vs[0].text)
}

// anyDate says whether dates are among the field's values.
func (f *field) anyDate() bool {
	return slices.ContainsFunc(f.values(), func(v value) bool { return isoDate.MatchString(v.text) })
}

// dateMatches ties the dates of the question to the date field that it names;
// without a name, to the only one there is.
func (a *array) dateMatches(q []token, named []match) []match {
	spans := dateSpans(q)
	if len(spans) == 0 {
		return nil
	}
	var best *field
	most, ties := -1.0, 0
	for _, f := range a.fields() {
		if !f.dated() {
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
	if best == nil || ties > 1 {
		return nil
	}
	var out []match
	for _, d := range spans {
		out = append(out, match{role: asDate, field: best, pos: d.pos, date: d, score: 1.1 * float64(len(d.pos)), whole: 0.9})
	}
	return out
}
