package offline

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
)

// Bounds on planning: its work is at most linear in the words of a question and in the names and values of an estate, and reads the
// records at most maxRivals times.
const (
	maxWords       = 256  // of a question
	maxQuestions   = 8    // that a follow-up may refer back to, the question included
	maxOccurrences = 8    // of one name or value in a question
	maxNameWords   = 32   // of a name, from its end
	maxSegment     = 1024 // bytes of a segment of a name
	maxGap         = 5    // words from one word of a name to the next
	maxRun         = 12   // words of the question per value
	fewParts       = 50   // distinct identifiers up to which their parts are matched
	fewValues      = 400  // distinct values up to which their words are matched
	maxMeant       = 12   // values per word
	longText       = 60   // bytes beyond which a value is prose
	maxText        = 400  // bytes of a value that a question may name
	maxRivals      = 8    // ambiguous words whose other meanings are computed
)

// role is the meaning of the words of a link.
type role int

const (
	asArray   role = iota // the array's name
	asField               // a field's name
	asValue               // values of a field
	asGeneric             // "entries": the records of any array
)

// link is one interpretation of some words of a question.
type link struct {
	role      role
	field     *field
	values    []estate.Value // asValue
	pos       []int          // the words it explains, ascending
	score     float64
	whole     float64 // share of the name that the words cover, 0 to 1
	exact     int     // asValue: 2 if the words are the value, or its name without a version, 1 if inflected, 0 if they are a part
	plain     bool    // by words of the name, no synonyms
	version   bool    // the values extend the words by versions: "ubuntu2404"
	ambiguous bool    // the values are names that share the word: "T. Lindh", "K. Lindh"
	denied    bool    // by the word for the opposite: "unpatched"
	context   float64 // of the score, for a field that the question names
	rival     *link   // another link for the same words that is about as good
}

func (l link) start() int { return l.pos[0] }
func (l link) end() int   { return l.pos[len(l.pos)-1] + 1 }
func (l link) span() span { return span{l.start(), l.end()} }

// hit is a word of the question that may denote a word of a name.
type hit struct {
	at  int
	fit float64 // 1 if the stems are equal, less for a relative or synonym
}

// Similar returns a unit vector for each word; nil for an unknown word.
type Similar func(words []string) [][]float32

// matcher finds words of a question in names, without comparing all pairs of words.
type matcher map[string][]hit // by the stem of a name's word, or "!" and the stem of its opposite

func newMatcher(s *shape) matcher {
	x, q := matcher{}, s.q
	for i, w := range q {
		operand := func(c comparison) bool { return c.at <= i && i < c.end }
		if w.stop && (!operators[w.low] || slices.ContainsFunc(s.compared, operand)) || w.date != "" && w.number == "" {
			continue
		}
		x.add(w.stem, i, 1)
		for e := range endings {
			x.add(w.stem+e, i, 0.6)
			x.add(strings.TrimSuffix(w.stem, "e")+e, i, 0.6)
			x.add(strings.TrimSuffix(w.stem, e), i, 0.6)
		}
		alike := synonyms[w.stem]
		if i > 0 && q[i-1].low == "who" { // "who hosts": the hoster
			alike = slices.Concat(alike, synonyms[stem(strings.TrimSuffix(w.low, "s")+"er")])
		}
		for _, s := range alike {
			x.add(s, i, 0.7)
		}
		opposite := cmp.Or(opposites[w.low], strings.TrimPrefix(strings.TrimPrefix(w.low, "non"), "un"))
		if opposite != w.low && len(opposite) > 1 {
			x.add("!"+stem(opposite), i, 1)
		}
	}
	return x
}

// add records that the word at i may denote a name's word; the best fit counts.
func (x matcher) add(stem string, i int, fit float64) {
	hits := x[stem]
	if k := len(hits) - 1; k >= 0 && hits[k].at == i {
		hits[k].fit = max(hits[k].fit, fit)
	} else if len(hits) < maxOccurrences {
		x[stem] = append(hits, hit{i, fit})
	}
}

// Words are related if the cosine of their vectors is at least minSimilar and the next best is less by similarMargin.
const (
	minSimilar    = 0.55
	similarMargin = 0.05
	maxRelated    = 2000 // names that words are compared with
)

// relate records, for words without a link, the most similar name of the array or of a field. It
// reports whether there is one.
func (x matcher) relate(a *array, q []word, words []int, similar Similar) (found bool) {
	if len(words) == 0 {
		return false
	}
	parts := slices.Clone(a.parts)
	for f := range a.each() {
		parts = append(parts, f.parts...)
	}
	var names []string
	for _, p := range parts {
		if len(p.low) > 2 && !vague[p.stem] && units[p.low] == "" {
			names = append(names, p.low)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	names = names[:min(len(names), maxRelated)]
	texts, vectors := slices.Clone(names), map[string][]float32{}
	for _, i := range words {
		texts = append(texts, q[i].low)
	}
	for n, vector := range similar(texts) {
		vectors[texts[n]] = vector
	}
	for i := range until(a.ctx, words) {
		var best, next float32
		low, closest := q[i].low, ""
		for _, name := range names {
			c := cosine(vectors[name], vectors[low])
			switch end := low[max(0, len(low)-4):]; {
			case strings.HasSuffix(name, end): // inbound and outbound, employee and employer
			case c > best:
				best, next, closest = c, best, name
			default:
				next = max(next, c)
			}
		}
		if best >= minSimilar && best-next >= similarMargin {
			x.add(stem(closest), i, 0.6)
			found = true
		}
	}
	return found
}

// cosine returns the cosine of two unit vectors; 0 if one is nil.
func cosine(a, b []float32) (sum float32) {
	for i := range min(len(a), len(b)) {
		sum += a[i] * b[i]
	}
	return sum
}

// pair is a word of the question for a part of a name.
type pair struct {
	hit
	part int
}

// names finds a name in the question. Its words may be in any order with words between them that are no separators or,
// if there are none, no function words.
func (x matcher) names(q []word, ps []part, separators string) (out []link) {
	var pairs []pair
	for k, p := range ps {
		for _, h := range x[p.stem] {
			pairs = append(pairs, pair{h, k})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(a.at-b.at, cmp.Compare(b.fit, a.fit), cmp.Compare(ps[b.part].weight, ps[a.part].weight), a.part-b.part)
	})
	if len(pairs) == 0 {
		return nil
	}
	from, used := 0, make([]bool, len(ps))
	for n, first := range pairs {
		if first.at < from || len(out) == maxOccurrences {
			continue
		}
		if l, ok := nameAt(q, ps, pairs[n:], used, separators); ok {
			out, from = append(out, l), l.end()
		}
	}
	return out
}

// nameAt matches a name from the first pair on. The score grows with the number of its words and the quality of each. It overwrites used,
// which has the length of ps.
func nameAt(q []word, ps []part, pairs []pair, used []bool, separators string) (link, bool) {
	l := link{plain: true, pos: make([]int, 0, min(len(ps), len(pairs)))}
	clear(used)
	var got, leaf, all float64
	for _, c := range pairs {
		if len(l.pos) > 0 && c.at < l.end() {
			continue
		}
		if len(l.pos) > 0 && (used[c.part] || !connects(q, l.end()-1, c.at, separators)) {
			break // a part that is used starts the name again: "amount paid to amount claimed"
		}
		p := ps[c.part]
		used[c.part], l.pos, l.plain = true, append(l.pos, c.at), l.plain && c.fit == 1
		l.score += c.fit * (0.4 + 0.6*p.weight)
		if got += p.weight * c.fit; p.leaf {
			leaf += p.weight
		}
	}
	for k, p := range ps {
		if all += 0.1 * p.weight; p.leaf || used[k] {
			all += 0.9 * p.weight
		}
	}
	l.whole = got / all
	l.score *= 0.6 + 0.4*l.whole
	return l, leaf >= 0.3 || leaf > 0 && l.whole >= 0.9
}

// separators are words that end a name.
const separators = "has|have|had|with|without|than|and|or|but|no|not|nor"

// connects reports whether a name that has the word at from may go on at to.
func connects(q []word, from, to int, separators string) bool {
	for j := from + 1; j <= to; j++ {
		w := q[j]
		identifier := w.at != q[from].at && strings.Contains(q[from].raw+w.raw, "_")
		if w.brk || w.stop && separators == "" || identifier || oneOf(w.low, separators) ||
			j < to && oneOf(w.low, "to|over|above|beyond|exceed|exceeds|exceeding|exceeded|under|below") {
			return false
		}
	}
	return to-from <= maxGap
}

// arrayLinks finds the name of the array, or a general word for records. Without the noun for its records the score is low.
func arrayLinks(a *array, q []word, x matcher) (out []link) {
	ps, n := slices.Clone(a.parts), max(0, min(len(a.words), len(a.parts))-1)
	for n > 0 && ps[n].weight == 0.5 { // "instance types" denotes instances
		n--
	}
	if len(ps) > 0 {
		ps[n].weight = 1
	}
	for _, l := range x.names(q, ps, "") {
		if len(out) > 0 && !l.plain && q[l.start()-1].low == "the" {
			continue // "sites in the city"
		}
		if l.start() > 0 && q[l.start()-1].low == "who" || strings.HasSuffix(q[l.end()-1].low, "ing") && !strings.HasSuffix(ps[n].low, "ing") {
			continue // a verb
		}
		l.role = asArray
		l.score *= 1.25
		if !slices.ContainsFunc(x[ps[n].stem], func(h hit) bool { return slices.Contains(l.pos, h.at) }) {
			l.score, l.whole = l.score*0.4, l.whole*0.5
		}
		out = append(out, l)
	}
	for i, w := range q {
		if generics[w.stem] && !w.stop {
			out = append(out, link{role: asGeneric, pos: []int{i}, score: 0.1})
		}
	}
	return out
}

// fieldLinks finds names of fields of the array.
func fieldLinks(a *array, q []word, x matcher) (out []link) {
	own := map[string]bool{} // the words that are the names of fields
	for f := range a.each() {
		if len(f.words) == 1 && len(x[f.parts[0].stem]) > 0 {
			own[f.words[0]] = true
		}
	}
	for f := range a.each() {
		if f.has("object") {
			continue
		}
		for _, l := range oppositeLinks(f, x) {
			if !own[q[l.start()].low] { // not disabled, beside enabled
				out = append(out, l)
			}
		}
		ends := separators + ternary(f.named("per"), "", "|per|each|every") // "GPUs per model" are no GPU models
		for _, l := range x.names(q, f.parts, ends) {
			spelled := func(p part) bool { return p.leaf && p.low == q[l.start()].low }
			if l.role, l.field = asField, f; f.numeric() && slices.ContainsFunc(f.parts, spelled) {
				l.score += 0.15 // "cpus" is rather cpus than cpu_percent
			}
			out = append(out, l)
		}
	}
	return out
}

// oppositeLinks finds words that deny a yes-or-no field or a value: "unpatched", "untagged".
func oppositeLinks(f *field, x matcher) (out []link) {
	for _, p := range f.parts {
		for _, h := range x["!"+p.stem] {
			if p.leaf && (f.isBool() || f.has("array") || f.textual() && (f.column().Distinct == 2 || f.dates())) {
				out = append(out, link{role: asField, field: f, pos: []int{h.at}, score: 1.2, whole: 1, plain: true, denied: true})
			}
		}
	}
	return out
}

// index is the set of possible spellings of values: runs of the question's words, reduced to letters and digits.
type index struct {
	runs  map[string][]span
	first map[rune]bool // the first letters of runs, to skip most values
	head  int           // the noun that the question asks for, or -1
}

func newIndex(s *shape) *index {
	q := s.q
	x := &index{map[string][]span{}, map[rune]bool{}, s.focus[1] - 1}
	for i := range q {
		text := ""
		for j := i; j < len(q) && j < i+maxRun && (j == i || !q[j].brk) && squeeze(q[j].text) != ""; j++ {
			key := text + stem(squeeze(q[j].text))
			if text += squeeze(q[j].text); strings.HasSuffix(q[j].raw, q[j].text+"'s") {
				text += "s" // "Let's Encrypt"
			}
			cut := i > 0 && q[i].ident && q[i-1].at == q[i].at || j+1 < len(q) && q[j].ident && q[j+1].at == q[j].at
			state := j == i && s.is(i, "up|down") && s.is(i-1, auxiliaries+"|or|and|not") && !s.is(i+1, "to") // "are down"
			meant := state || slices.ContainsFunc(q[i:j+1], func(w word) bool { return !w.stop })
			if key != "" && !cut && meant && len(x.runs[key]) < maxOccurrences {
				x.runs[key] = append(x.runs[key], span{i, j + 1})
				first, _ := utf8.DecodeRuneInString(key)
				x.first[first] = true
			}
		}
	}
	return x
}

// find returns the runs that may spell the text.
func (x *index) find(text string) []span {
	i := strings.IndexFunc(text, alphanumeric)
	if i < 0 {
		return nil
	}
	if first, _ := utf8.DecodeRuneInString(text[i:]); !x.first[unicode.ToLower(first)] {
		return nil
	}
	return x.runs[plain(text)]
}

// plain returns the letters and digits of a text in lower case, with the stem of its last word.
func plain(text string) string {
	text = strings.TrimRightFunc(text, func(r rune) bool { return !alphanumeric(r) })
	last := strings.LastIndexFunc(text, func(r rune) bool { return !alphanumeric(r) }) + 1
	return squeeze(text[:last]) + stem(strings.ToLower(text[last:]))
}

func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if alphanumeric(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// valueLinks finds values of a field that the question names, whole or by their first or last words.
func valueLinks(f *field, q []word, x *index, identity bool) (out []link) {
	values := f.column().Values
	if f.listed() {
		values = f.column().Elements
	} else if !f.textual() {
		return nil
	}
	partly := map[span]*link{}
	for _, v := range values {
		if v.Type != "string" || len(v.Text) > maxText {
			continue
		}
		runs := x.find(v.Text)
		for _, r := range runs {
			if spelled(q, r, v.Text) && !(q[r[0]].date != "" && f.dates()) {
				out = append(out, exactLink(f, q, r, v))
			}
		}
		if len(runs) == 0 && len(values) <= fewValues && len(v.Text) <= longText {
			noteParts(f, q, x, v, partly)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(partly), func(a, b span) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) }) {
		if l := partly[at]; len(l.values) == 1 || len(l.values) <= maxMeant && !identity {
			one, others := *l, l.otherValue(values, q) // "default" is in the middle of another value
			one.exact, one.values = ternary(l.version, 2, 0), append(l.values, others...)
			one.ambiguous = others != nil || !l.version && len(l.values) > 1 && q[l.start()].text != q[l.start()].low
			out = append(out, one)
		}
	}
	for i := range out { // prefer frequent values
		out[i].score += 0.04 * min(6, math.Log1p(float64(out[i].count())))
	}
	return out
}

// otherValue returns one of the values that contains the only word of the link, but that the link does not select; nil if there is none.
func (l link) otherValue(values []estate.Value, q []word) []estate.Value {
	i := slices.IndexFunc(values, func(v estate.Value) bool {
		return v.Type == "string" && !slices.Contains(l.values, v) && slices.Contains(nameWords(strings.ToLower(v.Text)), q[l.start()].low)
	})
	if i < 0 || l.end() > l.start()+1 || l.version {
		return nil
	}
	return values[i : i+1]
}

// count returns the number of occurrences of the link's values.
func (l link) count() (n int) {
	for _, v := range l.values {
		n += v.Count
	}
	return n
}

func valueLink(f *field, at span, v estate.Value, score, whole float64) link {
	l := link{role: asValue, field: f, values: []estate.Value{v}, whole: whole, score: score}
	for i := at[0]; i < at[1]; i++ {
		l.pos = append(l.pos, i)
	}
	return l
}

// texts returns the texts of values in Markdown.
func texts(values []estate.Value) []string {
	return mapped(values, func(v estate.Value) string { return markdown.Escape(v.Text) })
}

// exactLink returns a link to the whole value.
func exactLink(f *field, q []word, at span, v estate.Value) link {
	l := valueLink(f, at, v, 1.1*float64(at[1]-at[0]), 1)
	if l.exact = 1; squeeze(q[0].line[q[at[0]].from:q[at[1]-1].to]) == squeeze(v.Text) {
		l.exact, l.score = 2, l.score+0.1
	}
	return l
}

// letters reports whether the text is one word of letters.
func letters(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
}

// spelled reports whether a value is written like the run: "runs" is not "running", 2024 is not 2.0.24. Small numbers require the
// field's name.
func spelled(q []word, r span, text string) bool {
	if strings.Trim(text, "0123456789.,:-/ ") != "" {
		return r[1] > r[0]+1 || !letters(text) || singular(q[r[0]].low) == singular(strings.ToLower(text)) || short[q[r[0]].low] != ""
	}
	return q[r[0]].raw == text && q[r[1]-1].at == q[r[0]].at && (len(text) > 4 || strings.Trim(text, "0123456789") != "")
}

// denotesPart reports whether a run may denote a part of a value: not as a general word, an inflection, or the field's name.
func denotesPart(f *field, q []word, r span, text string) bool {
	w := q[r[0]]
	inflected := singular(w.low) != singular(text) && !strings.ContainsAny(text[len(text)-1:], "0123456789") && short[w.low] == ""
	bland := w.stop || fillers[w.low] || w.number != "" || w.date != "" || len(w.low) < 2
	return r[1] > r[0]+1 || !inflected && !bland && !slices.Contains(f.words, singular(w.low))
}

// noteParts records v for the runs of words that are its first or last words: "ubuntu" matches "ubuntu2404" and "Ubuntu 24.04",
// "monitor" matches "ECG monitor".
func noteParts(f *field, q []word, x *index, v estate.Value, partly map[span]*link) {
	words := nameWords(v.Text)
	identifier := strings.ContainsAny(v.Text, "-_./:@") && !strings.Contains(v.Text, " ") && f.column().Distinct > min(fewParts, f.filled()/4)
	negated := slices.ContainsFunc(words, func(low string) bool { return oneOf(low, "not|non|no|out|never|without|partially") })
	if len(words) == 0 || len(words) > 5 || identifier || negated { // "approved" is not "not approved"
		return
	}
	note := func(text string, version, modifier bool, share float64) {
		for _, r := range x.find(text) {
			if !denotesPart(f, q, r, text) || modifier && r[1]-1 == x.head && !version {
				continue // "patients" are not patient monitors
			}
			if partly[r] == nil {
				l := valueLink(f, r, v, float64(r[1]-r[0])*(0.5+0.3*share), 0.5)
				partly[r], l.values, l.version = &l, nil, true
			}
			l := partly[r]
			if l.version = l.version && version; len(l.values) <= maxMeant && !slices.Contains(l.values, v) { // one more marks it as ambiguous
				l.values = append(l.values, v)
			}
		}
	}
	for n := 1; n <= min(3, len(words)-1); n++ {
		rest := strings.Join(words[n:], "")
		note(strings.Join(words[:n], ""), rest[0] >= '0' && rest[0] <= '9', letters(rest), float64(n)/float64(len(words)))
		note(strings.Join(words[len(words)-n:], ""), false, false, float64(n)/float64(len(words)))
	}
	account := slices.ContainsFunc(f.parts, func(p part) bool { return oneOf(p.low, "user|username|login|account|owner") })
	if n := strings.IndexAny(words[0], "0123456789"); !account && n >= 3 && strings.Trim(words[0][n:], "0123456789") == "" {
		for k := 4; k < n; k++ {
			note(words[0][:k], true, false, 0.4) // "centosstream10"
		}
		note(words[0][:n], true, false, 0.5)
	}
}

// prepositions are words of fields whose values a preposition introduces.
var prepositions = map[string]string{
	"from": "origin|source|start|departure|sender|src", "to": "destination|target|end|arrival|receiver|recipient|dst|dest",
}

// within reports whether the name of a field with that many words is a better interpretation: "orbit" is not OrbitCom, "city" not a synonym
// of depots, and "instance types" are no instances.
func (l *link) within(words int) bool {
	part, synonym := l.role == asValue && l.exact == 0, l.role == asArray && !l.plain
	return (part || synonym) && words > 0 || l.role == asArray && len(l.pos) == 1 && words > 1
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
		between := s.q[min(n.end(), l.start()):l.start()]
		content := slices.ContainsFunc(between, func(w word) bool { return !w.stop || oneOf(w.low, "and|or") })
		if n.start() == l.end() || n.end() <= l.start() && len(between) < 3 && !content {
			bonus = max(bonus, 0.4*n.whole)
		}
	}
	return bonus
}

// roleScore scores the expected role at a position: records after "how many", a field after "which", "how many different" and "per", a flag
// as a condition elsewhere.
func (l link) roleScore(s *shape) float64 {
	inFocus := s.focus.has(l.start())
	switch {
	case l.role == asArray && inFocus && s.op != top:
		return 0.6 * l.whole
	case l.role == asValue && s.op == aggregate && l.end() == s.focus[1]:
		return -0.5 * l.score // "the average temperature" is of a field
	case l.role != asField || inFocus && (s.op.conditional() || s.op == aggregate) || s.op == combine,
		s.measured.has(l.start()) && l.field.numeric():
		return 0
	case inFocus || s.by.has(l.start()):
		return 0.4 * l.whole
	case s.op.conditional() && l.field.isBool() && l.whole >= 0.5 && !s.literal(l.start()-1):
		return 2*l.whole - 1
	}
	return -0.3 * l.score // redundant
}

func (x matcher) read(s *shape, arrays []*array) (best reading, rival *array) {
	var named []reading
	for _, a := range arrays {
		named = append(named, choose(s, a, slices.Concat(arrayLinks(a, s.q, x), fieldLinks(a, s.q, x))))
	}
	slices.SortStableFunc(named, func(a, b reading) int { return cmp.Compare(b.score, a.score) })
	spellings := newIndex(s)
	margin := func(r, best reading) float64 {
		return ternary(r.adds() && best.adds(), sumMargin, arrayMargin)
	}
	for _, r := range named {
		if best.array != nil && r.score+perValue*float64(r.open()) < best.score-margin(r, best) {
			continue
		}
		every, identity := slices.Clone(r.every), r.array.identity()
		for f := range r.array.each() {
			every = append(every, valueLinks(f, r.q, spellings, f == identity && f.column().Distinct == f.filled())...)
		}
		r = choose(s, r.array, every)
		switch {
		case best.array == nil || r.score > best.score+arrayMargin:
			best, rival = r, nil
		case r.score >= best.score-margin(r, best):
			rival = r.array
		}
	}
	return best, rival
}
