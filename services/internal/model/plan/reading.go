package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/services/internal/estate"
)

// A claim is a condition that the question states.
type claim struct {
	mention
	Condition
	among     []*Field // other fields that have the value as well
	ambiguous bool     // one of them fits as well
}

// A reading is what the words of a question say about the records of one array.
type reading struct {
	array   *Array
	claims  []claim
	unclear string    // why the conditions cannot be read
	fields  []mention // that the question names, without those of claims
	noun    int       // the word that names the records; -1: none
	covered []bool    // words that a claim, a field or the noun explains
}

// readFor reads the question for an array.
func readFor(q *Question, a *Array) *reading {
	if r := q.readings[a]; r != nil {
		return r
	}
	r := &reading{array: a, noun: -1, covered: make([]bool, len(q.words))}
	q.readings[a] = r
	r.noun = nounOf(q, a)
	mentions := q.mentions(a)
	claimValues(q, r)
	r.coverNoun(q)
	for _, m := range mentions {
		if m.value == nil && !r.covers(m) && preferred(mentions, m) {
			r.fields = append(r.fields, m)
		}
	}
	for _, m := range r.fields {
		r.coverName(q, m)
	}
	claimNumbers(q, r)
	claimParts(q, r)
	claimFields(q, r)
	return r
}

// covers reports whether all words of a mention are explained already.
func (r *reading) covers(m mention) bool { return !slices.Contains(r.covered[m.start:m.end], false) }

// coverNoun covers the noun of the records, wherever it occurs, and the other words of the data key.
func (r *reading) coverNoun(q *Question) {
	key := slices.Concat(r.array.words, r.array.outer)
	for i, w := range q.words {
		named := slices.ContainsFunc(key, func(name string) bool {
			return !lexicon.stops[w.low] && (Singular(w.low) == Singular(name) || Singular(w.low) != w.low && alike(w, name))
		})
		if r.noun >= 0 && w.stem == q.words[r.noun].stem || named {
			r.covered[i] = true
		}
	}
}

// coverName covers the words that a field's path has.
func (r *reading) coverName(q *Question, m mention) {
	for i := m.start; i < m.end; i++ {
		if m.whole || slices.ContainsFunc(m.field.words, func(name string) bool { return alike(q.words[i], name) }) {
			r.covered[i] = true
		}
	}
}

// nounOf returns the word that names the records: as the data key does, or what is counted if the key names nothing or
// its records are those of a type that the question names.
func nounOf(q *Question, a *Array) int {
	if position, ok := q.names(a); ok {
		return position
	}
	position := subject(q)
	switch {
	case position < 0 || isPart(q, a, position):
		return -1
	case a.Noun() != "records" && len(a.words) == 0: // by the kind of the records
		if Singular(q.low(position)) == Singular(a.Noun()) {
			return position
		}
	case len(a.words) == 0 && a.Parent == nil && !a.mixed():
		return position
	case strings.HasSuffix(a.Key, recursive): // "lvm volumes"
		if slices.ContainsFunc(q.mentions(a), func(m mention) bool { return m.value != nil && m.end == position }) {
			return position
		}
	}
	return -1
}

// isPart reports whether the word names a field of the records, or a part of them: an object, a list or a number.
func isPart(q *Question, a *Array, position int) bool {
	return slices.ContainsFunc(a.Fields, func(f *Field) bool {
		if f.Level > 0 || f.leaf == 0 {
			return false
		}
		entity := f.leaf == 2 && (f.words[1] == "id" || f.words[1] == "uuid") && alike(q.words[position], f.words[0]) &&
			f.distinct() < a.Count
		itself := entity || len(f.words) == 1 && Singular(q.low(position)) == Singular(f.words[0])
		denotes := func(name string) bool { return !lexicon.vague[name] && alike(q.words[position], name) }
		counted := f.has("number") && slices.ContainsFunc(f.name(), denotes)
		return itself || counted || (f.has("object") || f.has("array")) && alike(q.words[position], f.words[f.leaf-1])
	})
}

// subject returns the head of the noun phrase that names the records: after how many, which, most, number of and
// list; before per and by; -1 if there is none.
func subject(q *Question) int {
	if position := topBy(q); position > 0 {
		return position // top 3 sites by hosts
	}
	ranked := q.has("most", "fewest") // which site has the most hosts
	for i, w := range q.words {
		next := q.low(i + 1)
		switch {
		case next == "":
		case w.low == "many" && q.low(i-1) == "how", w.low == "of" && q.low(i-1) == "number", w.low == "most",
			w.low == "fewest":
			if position := pluralAfter(q, i); position > 0 {
				return position
			}
		case !ranked && !lexicon.stops[next] && (w.low == "which" || w.low == "list" || w.low == "what"):
			return i + 1
		case (next == "per" || next == "by") && !lexicon.stops[w.low]:
			return i
		}
	}
	position := slices.IndexFunc(q.words, func(w word) bool { return w.low == "which" || w.low == "what" })
	if position >= 0 && q.low(position+1) != "" && !lexicon.stops[q.low(position+1)] {
		return position + 1
	}
	return -1
}

// topBy returns the word after by of "top 3 sites by hosts" if it names an array; -1 otherwise.
func topBy(q *Question) int {
	position := 1 + slices.IndexFunc(q.words, func(w word) bool { return w.low == "by" })
	if q.low(0) != "top" || position < 2 || position == len(q.words) {
		return -1
	}
	if !slices.ContainsFunc(q.v.Arrays, func(a *Array) bool { named, ok := q.names(a); return ok && named == position }) {
		return -1
	}
	return position
}

// pluralAfter returns the first plural noun within four words; -1 if there is none.
func pluralAfter(q *Question, start int) int {
	for i := start + 1; i < min(len(q.words), start+5) && !(i > start+1 && q.words[i].brk) &&
		!lexicon.stops[q.low(i)]; i++ {
		if Singular(q.low(i)) != q.low(i) {
			return i
		}
	}
	return -1
}

// namesDate reports whether a field of dates is named at the word.
func (r *reading) namesDate(position int) bool {
	return slices.ContainsFunc(r.fields, func(m mention) bool { return m.start == position && m.field.date() })
}

// claimParts claims the values that have a proper noun of the question that nothing else explains: Frankfurt of
// "Frankfurt FRA1". Several fields must have it in the same number of records.
func claimParts(q *Question, r *reading) {
	for i, w := range q.words {
		if i == 0 || r.covered[i] || !properNoun.MatchString(w.text) {
			continue
		}
		var first []claim
		records := map[int]bool{}
		for _, f := range r.array.Fields {
			parts, count := partsOf(r.array, f, w.low)
			if len(parts) == 0 {
				continue
			}
			if records[count] = true; first != nil {
				continue
			}
			for _, v := range parts {
				c := claim{mention: mention{field: f, value: &v, start: i, end: i + 1, words: 1},
					Condition: Condition{f.Path, opEq, v.JSON()}}
				if denied(q, c.mention) {
					c.Op = opNe
				}
				first = append(first, c)
			}
		}
		if len(records) == 1 {
			r.claims = append(r.claims, first...)
			r.covered[i] = true
		}
	}
}

// properNoun matches a capitalized word.
var properNoun = regexp.MustCompile(`^\p{Lu}\p{Ll}{3,}$`)

// partsOf returns the short values of a field of the records themselves that have a word, and the number of their
// records; none if they are many, or name single records.
func partsOf(a *Array, f *Field, low string) (parts []estate.Value, count int) {
	const maxValues, maxWords = 5, 4
	if f.Level > 0 || !f.has("string") || f.distinct() > maxMentions || f.distinct() == a.Count {
		return nil, 0
	}
	for _, v := range f.values() {
		if words := nameWords(v.Text); len(words) <= maxWords && slices.Contains(words, low) {
			parts, count = append(parts, v), count+v.Count
		}
	}
	if len(parts) > maxValues {
		return nil, 0
	}
	return parts, count
}

// besideValue reports whether the word stands next to a value.
func (r *reading) besideValue(position int) bool {
	return slices.ContainsFunc(r.claims, func(c claim) bool {
		return c.value != nil && (c.end == position || c.start == position+1)
	})
}

func (r *reading) cover(m mention) {
	for i := m.start; i < m.end; i++ {
		r.covered[i] = true
	}
}

// preferred reports whether no other field is named by the same words more exactly.
func preferred(mentions []mention, m mention) bool {
	return !slices.ContainsFunc(mentions, func(o mention) bool {
		return o.value == nil && o.field != m.field && o.start <= m.start && m.end <= o.end &&
			(o.words > m.words || o.words == m.words &&
				(o.exact && !m.exact || o.exact == m.exact && o.field.Level < m.field.Level))
	})
}

// claimValues claims the values that the question names, the longest phrases first.
func claimValues(q *Question, r *reading) {
	mentions := q.mentions(r.array)
	spans, names := map[[2]int][]mention{}, map[*Field]mention{}
	for _, m := range mentions {
		if m.value == nil {
			names[m.field] = m
		} else {
			spans[[2]int{m.start, m.end}] = append(spans[[2]int{m.start, m.end}], m)
		}
	}
	for _, m := range mentions {
		if m.value == nil || slices.Contains(r.covered[m.start:m.end], true) || isName(q, r, m) {
			continue
		}
		best, among, ambiguous := bestValue(spans[[2]int{m.start, m.end}], names)
		constant := best.field.distinct() < 2 && !best.field.optional()
		if constant && best.field.Level > 0 && subject(q) == best.start { // the question counts the enclosing records
			continue
		}
		r.cover(best)
		if constant { // all records have the value
			continue
		}
		if best.field.list() && slices.ContainsFunc(r.claims, func(c claim) bool { return c.mention.field == best.field }) {
			r.unclear = "it has several elements of " + best.field.Path
		}
		c := Condition{Field: best.field.Path, Op: opEq, Value: best.value.JSON()}
		if denied(q, best) {
			c.Op = opNe
		}
		r.claims = append(r.claims, claim{best, c, among, ambiguous})
	}
}

// isName reports whether the words of a value name the records, or a field if the value is in another inflection.
func isName(q *Question, r *reading, m mention) bool {
	if r.noun >= 0 && m.end <= r.noun+1 && r.noun-m.start < len(r.array.words) &&
		!slices.ContainsFunc(q.words[m.start:m.end], func(w word) bool {
			return !slices.ContainsFunc(r.array.words, func(name string) bool { return alike(w, name) })
		}) {
		return true // aws of "aws endpoints"
	}
	return !m.exact && slices.ContainsFunc(q.mentions(r.array), func(o mention) bool {
		return o.value == nil && o.exact && o.start <= m.start && m.end <= o.end && o.field.Level == 0
	})
}

func (r *reading) claim(m mention, c Condition) {
	r.claims = append(r.claims, claim{mention: m, Condition: c})
}

// bestValue returns the mention that fits best of those by the same words: its field is named next to it, it is
// exact, or of the records themselves; the other fields that have the value; and whether one of them fits as well.
func bestValue(same []mention, names map[*Field]mention) (best mention, among []*Field, ambiguous bool) {
	fit := func(m mention) int { return 10*distance(m, names) + 4*map[bool]int{false: 1}[m.exact] + m.field.Level }
	best = same[0]
	for _, m := range same[1:] {
		if fit(m) < fit(best) {
			best = m
		}
	}
	for _, m := range same {
		if m.field == best.field || m.field.distinct() < 2 || slices.Contains(among, m.field) {
			continue
		}
		among = append(among, m.field)
		ambiguous = ambiguous || fit(m) == fit(best)
	}
	return best, among, ambiguous
}

// distance returns how far the field of a value is named from it: 1 for the next word; 10 if it is not.
func distance(m mention, names map[*Field]mention) int {
	name, ok := names[m.field]
	if !ok || name.end > m.start && m.end > name.start {
		return 10
	}
	return min(10, max(m.start-name.end, name.start-m.end)+1)
}

// denied reports whether a negation refers to the mention: "not running", "no owner tag", "backup is not set".
func denied(q *Question, m mention) bool {
	for i := m.start + 1; i < m.end; i++ {
		if lexicon.negations[q.low(i)] { // a disk that is not encrypted
			return true
		}
	}
	for i := m.start - 1; i >= max(0, m.start-4); i-- {
		switch low := q.low(i); {
		case lexicon.negations[low] || low == "than" && q.low(i-1) == "other":
			return low != "not" || q.low(i+1) != "only"
		case q.words[i+1].brk, slices.Contains([]string{"and", "with", "is", "are", "was", "were", "that", "which"}, low):
			return deniedAfter(q, m)
		}
	}
	return deniedAfter(q, m)
}

// deniedAfter reports whether a negation follows the name of a field.
func deniedAfter(q *Question, m mention) bool {
	if m.value != nil {
		return false
	}
	off := func(i int) bool {
		return q.low(i) == "disabled" || q.low(i) == "off" || q.low(i) == "not" && q.low(i+1) == "enabled"
	}
	return unset(q, m) || off(m.end) || off(m.end+1) || off(m.end+2)
}

// unset reports whether the question asks for records without the field: "backup is not set".
func unset(q *Question, m mention) bool {
	for i := m.end; i < min(len(q.words), m.end+4) && !q.words[i].brk; i++ {
		switch low := q.low(i); {
		case slices.Contains([]string{"unset", "missing", "absent", "empty"}, low),
			low == "not" && slices.Contains([]string{"set", "configured", "assigned", "given", "defined", "specified", "there"},
				q.low(i+1)):
			return true
		}
	}
	return false
}

// claimFields claims booleans, and fields that records lack.
func claimFields(q *Question, r *reading) {
	for _, m := range r.fields {
		inner := func(o mention) bool { return strings.HasPrefix(o.field.Path, m.field.Path+".") }
		if slices.ContainsFunc(r.claims, func(c claim) bool { return c.mention.field == m.field }) ||
			slices.ContainsFunc(r.fields, inner) {
			continue
		}
		switch {
		case grouped(q, m):
		case m.field.has("array") && denied(q, m):
			r.unclear = fmt.Sprintf("%s may be missing or empty", m.field.Path)
		case m.field.lacking() && unset(q, m):
			r.claim(m, Condition{m.field.Path, opMissing, null})
		case m.field.object() && m.field.optional() && m.words > 1: // attached to the network front
			r.claim(m, Condition{m.field.Path, map[bool]string{true: opMissing, false: opPresent}[denied(q, m)], null})
		case m.field.optional() && !m.field.boolean() && possessed(q, m) && !denied(q, m):
			r.claim(m, Condition{m.field.Path, opPresent, null})
		case m.field.boolean() && m.field.distinct() > 0:
			r.claim(m, Condition{m.field.Path, opEq, JSON(!denied(q, m))})
		case m.field.lacking() && denied(q, m) && q.low(m.start-1) != "not": // "not ok" denies a value
			r.claim(m, Condition{m.field.Path, opMissing, null})
		}
	}
}

// possessed reports whether the question asks for records with the field: "with a retention policy", "have an owner".
func possessed(q *Question, m mention) bool {
	for i := m.start - 1; i > max(0, m.start-4) && !q.words[i].brk; i-- {
		if low := q.low(i); low == "a" || low == "an" || low == "any" {
			return slices.Contains([]string{"with", "have", "has", "having", "carry", "carries", "carrying"}, q.low(i-1))
		}
	}
	return false
}

// grouped reports whether the question asks for figures per value of the field.
func grouped(q *Question, m mention) bool {
	for i := m.end - 2; i >= max(0, m.start-3) && !q.words[i+1].brk; i-- {
		switch q.low(i) {
		case "per", "by", "each", "every":
			return q.low(0) != "top"
		case "top":
			return i == 0 && m.start <= 2 && topBy(q) > 0
		case "which", "what":
			return i == m.start-1 || i == m.start-2 && Singular(q.low(i+1)) == q.low(i+1) && i+1 != subject(q)
		}
	}
	return false
}

// isoDate matches a year, a month or a day.
var isoDate = regexp.MustCompile(`^(19|20)\d\d(-[01]\d(-[0-3]\d)?)?$`)

// claimNumbers claims comparisons with numbers and dates.
func claimNumbers(q *Question, r *reading) {
	for i, w := range q.words {
		if r.covered[i] {
			continue
		}
		if date, start := dateAt(q, i); date != "" {
			if f := nearestField(q, r, i, (*Field).date); f != nil {
				r.claimDate(q, mention{field: f, start: start, end: i + 1}, date)
				continue
			}
		}
		if lexicon.months[q.low(i+1)] != "" { // a day
			continue
		}
		number, ok := parseNumber(w.low)
		if w.low == "one" && slices.Contains([]string{"least", "most", "than", "exactly"}, q.low(i-1)) {
			number, ok = json.RawMessage("1"), true
		}
		if !ok || i <= 2 && q.Intent().Limit > 0 { // top 3
			continue
		}
		if f := nearestField(q, r, i, func(f *Field) bool { return f.has("number") || f.numeric() }); f != nil {
			op := comparison(q, i)
			m := mention{field: f, start: i, end: i + 1}
			if slices.ContainsFunc(r.claims, func(c claim) bool { return c.mention.field == f }) {
				r.unclear = "it has several numbers for " + f.Path
			}
			r.cover(m)
			r.claim(m, Condition{f.Path, op, number})
		}
	}
}

func parseNumber(low string) (json.RawMessage, bool) {
	digits := strings.ReplaceAll(low, ",", "")
	if n := lexicon.numerals[low]; n != "" {
		digits = n
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return nil, false
	}
	return JSON(n), true
}

// dateAt returns the date that ends at a word, as in ISO 8601, and its first word: 2024-05, March 2024 or 20 March
// 2024; empty if there is none.
func dateAt(q *Question, i int) (date string, start int) {
	year, month := q.low(i), lexicon.months[q.low(i-1)]
	switch {
	case !isoDate.MatchString(year):
		return "", i
	case month == "" || len(year) != 4:
		return year, i
	}
	if day := number(strings.TrimRight(q.low(i-2), "stndrh")); day > 0 && day < 32 {
		return fmt.Sprintf("%s-%s-%02d", year, month, day), i - 2
	}
	return year + "-" + month, i - 1
}

// claimDate claims a comparison with a date: before, since and after it, or in its year or month.
func (r *reading) claimDate(q *Question, m mention, date string) {
	f := m.field
	if slices.ContainsFunc(r.claims, func(c claim) bool { return c.mention.field == f }) {
		r.unclear = "it has several dates"
	}
	r.cover(m)
	within, _ := period(f.Path, date)
	before := q.low(m.start - 1)
	if q.low(m.start-2) == "or" {
		r.unclear = "in or before a date"
	}
	op := map[string]string{"before": opLt, "until": opLt, "since": opGte, "from": opGte, "after": opGt}[before]
	conditions := []Condition{{f.Path, cmp.Or(op, opEq), JSON(date)}}
	switch {
	case op == opGt && len(within) == 2:
		conditions = []Condition{{f.Path, opGte, within[1].Value}}
	case op == "" && len(within) == 2:
		conditions = within
	}
	for _, c := range conditions {
		r.claim(m, c)
	}
}

// nearestField returns the field that the question names nearest to a word and that fits, or the only one of the
// records if it names none; nil if there is none.
func nearestField(q *Question, r *reading, position int, fits func(*Field) bool) *Field {
	var best *Field
	distance := 5
	for _, m := range q.mentions(r.array) {
		if d := max(position-m.end+1, m.start-position); m.value == nil && fits(m.field) && d < distance &&
			(position < m.start || m.end <= position) {
			best, distance = m.field, d
			r.coverName(q, m)
		}
	}
	if best != nil || !isoDate.MatchString(q.low(position)) {
		return best
	}
	for _, f := range r.array.Fields {
		if f.Level == 0 && f.date() && fits(f) {
			if best != nil {
				return nil
			}
			best = f
		}
	}
	return best
}

// comparison returns the operator of the number at a word.
func comparison(q *Question, position int) string {
	op := opEq
	for i := position - 1; i >= max(0, position-3) && !q.words[i+1].brk; i-- {
		switch q.low(i) {
		case "than":
			less := slices.Contains([]string{"less", "fewer", "smaller", "lower", "younger", "earlier"}, q.low(i-1))
			return map[bool]string{true: opLt, false: opGt}[less]
		case "over", "above", ">", "exceeding", "exceeds", "exceed":
			return opGt
		case "under", "below", "<":
			return opLt
		case ">=", "≥", "least":
			return opGte
		case "<=", "≤", "most":
			return opLte
		}
	}
	if q.low(position+1) == "or" {
		switch q.low(position + 2) {
		case "more", "higher", "above":
			return opGte
		case "less", "fewer", "below":
			return opLte
		}
	}
	return op
}
