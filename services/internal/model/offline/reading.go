package offline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// reading is one interpretation of a question for an array.
type reading struct {
	*shape
	array   *array
	every   []link  // all candidate links
	links   []*link // the selected ones; they do not overlap
	by      []*link // for each word its link, or nil
	used    []bool  // words that the grammar and the conditions explain
	planned bool    // the conditions are complete
	score   float64
}

// Costs of an unexplained word, and the most that a value can gain by explaining it.
const (
	penalty  = 0.5
	perValue = 1.35 + penalty
)

// margins by which the best interpretation must exceed the others.
const (
	arrayMargin = 0.1  // of the score of a reading
	sumMargin   = 0.4  // of the score of a reading that adds the numbers of a field of unnamed records
	fieldMargin = 0.85 // of the score of a link
	dominance   = 1.4  // of the frequency of a value's versions
	familyScore = 0.6  // gain of values that are versions of the named one
	rarity      = 3    // of the frequency of a value
)

// read returns the reading with the highest score and, if another array scores about as high, that array. It reads values only of arrays
// that can still have the highest score, in descending order of score, because reading columns dominates the time.
func read(s *shape, arrays []*array, similar Similar) (best reading, rival *array) {
	x := newMatcher(s)
	best, rival = x.read(s, arrays)
	if similar == nil || best.array == nil || !x.relate(best.array, s.q, best.unrelated(), similar) {
		return best, rival
	}
	return x.read(s, arrays)
}

// names reports whether the question names the array.
func (r reading) names() bool {
	return slices.ContainsFunc(r.links, func(l *link) bool { return l.role == asArray })
}

// adds reports whether the question asks for the numbers of a field, by its name, and names no array.
func (r reading) adds() bool {
	f, _ := r.target(r.focus)
	other := func(l *link) bool { return l.field == f && !l.plain }
	return f != nil && f.sums() && (r.op == count || r.op == aggregate) && !r.names() && !slices.ContainsFunc(r.links, other)
}

// choose selects from all candidates the links that explain the most.
func choose(s *shape, a *array, every []link) reading {
	r := reading{shape: s, array: a, every: every, by: make([]*link, len(s.q)), used: slices.Clone(s.used)}
	named := map[*field][]link{} // the names of fields
	nouns := map[int]bool{}      // words that begin a noun for the records
	whole := map[int]int{}       // words of the longest name of a field, by the first one
	for l := range until(a.ctx, every) {
		nouns[l.start()] = nouns[l.start()] || l.role == asArray
	}
	for l := range until(a.ctx, every) {
		if l.role == asField && l.whole >= 0.5 && l.plain && !(nouns[l.start()] && l.field == a.identity()) {
			if named[l.field] = append(named[l.field], l); l.whole >= 0.9 {
				whole[l.start()] = max(whole[l.start()], len(l.pos))
			}
		}
	}
	order := make([]*link, 0, len(every))
	for l := range until(a.ctx, every) {
		l.context = l.contextScore(s, named)
		if l.score += l.context + l.roleScore(s); l.version && len(l.values) > 1 {
			l.score += familyScore
		}
		if !l.within(whole[l.start()]) && !r.tooWeak(&l) {
			order = append(order, &l)
		}
	}
	slices.SortStableFunc(order, func(x, y *link) int { return cmp.Compare(y.score, x.score) })
	for l := range until(a.ctx, order) {
		r.selectLink(l)
	}
	r.score -= penalty * float64(len(r.unexplained()))
	for i := s.focus[0]; i < s.focus[1]; i++ {
		if l := r.at(i, asArray, asField); l != nil {
			r.score += 0.4 * l.whole / float64(len(l.pos))
		}
	}
	return r
}

// selectLink selects l unless a selected link covers one of its words; l may be a rival of that.
func (r *reading) selectLink(l *link) {
	if l.role == asValue && len(l.pos) == 1 && r.enclosed(l.start()) {
		return
	}
	for _, i := range l.pos {
		o := r.by[i]
		if o == nil {
			continue
		}
		state := o.role == asValue && l.role == asField && l.plain && l.whole > 0.5 && (l.field.optional() || o.field.listed())
		if (o.role == l.role || state) && o.field != l.field && slices.Equal(o.pos, l.pos) {
			r.markRival(o, l)
		}
		return
	}
	for _, i := range l.pos {
		r.by[i] = l
	}
	r.links = append(r.links, l)
	r.score += l.score
}

// enclosed reports whether the words around the one at i are a name.
func (r reading) enclosed(i int) bool {
	return slices.ContainsFunc(r.links, func(l *link) bool {
		return l.role == asField && l.whole >= 0.9 && len(l.pos) > 2 && l.start() < i && slices.Contains(l.pos, i+1)
	})
}

// markRival records that l is about as good as o, which is selected. Values that extend a word by versions prevail over a rarer value.
func (r *reading) markRival(o, l *link) {
	good := o.role != l.role || l.score >= fieldMargin*o.score && l.whole >= o.whole
	if o.role == asValue && l.role == asValue {
		margin := float64(rarity)
		if o.version && len(o.values) > 1 {
			margin = dominance
		}
		good = l.exact == o.exact && l.context >= o.context && margin*float64(l.count()) > float64(o.count())
	}
	number := o.role == asField && o.field.numeric() && !l.field.numeric() && r.op == count && r.focus.has(o.start())
	if o.rival == nil && !number && good {
		o.rival = l
	}
}

// alternatives returns the readings with a rival in place of a selected link, by that link.
func (r reading) alternatives() map[*link]*reading {
	out := map[*link]*reading{}
	for i, l := range r.links {
		if l.rival == nil || r.joined(l) {
			continue
		}
		alt := r
		alt.links, alt.by, alt.used = slices.Clone(r.links), slices.Clone(r.by), slices.Clone(r.shape.used)
		alt.links[i] = l.rival
		for _, at := range l.pos {
			alt.by[at] = l.rival
		}
		out[l] = &alt
	}
	return out
}

// joined reports whether "or" or "and" joins the value to one of the same field that has no rival.
func (r reading) joined(l *link) bool {
	return slices.ContainsFunc(r.links, func(o *link) bool {
		from := min(l.end(), o.end())
		between := r.q[from:max(from, l.start(), o.start())]
		return o.role == asValue && o != l && o.field == l.field && o.rival == nil && len(between) == 1 &&
			oneOf(between[0].low, "and|or|nor|vs|versus|than")
	})
}

// tooWeak reports whether l may be chance: a small part of a name. In the words that the question asks for, a part is enough.
func (r reading) tooWeak(l *link) bool {
	operand := func(c comparison) bool { // of "start with"
		return textOperators[c.op] && l.start() < c.end && l.end() > c.at && !(partTests[r.low(c.at)] != "" && l.exact > 0)
	}
	// "approved by", "who approved", beside approved_by
	actor := len(l.pos) == 1 && l.field != nil && !l.field.named("by") && (r.is(l.end(), "by") || r.is(l.start()-1, "who")) &&
		slices.ContainsFunc(r.array.fields(), func(f *field) bool { return f.named("by") && f.stemmed(r.q[l.start()].stem) })
	return slices.ContainsFunc(r.compared, operand) ||
		actor ||
		l.role == asField && (l.whole < 0.35 || r.weakVerb(l)) || l.role == asArray && l.whole < 0.2 || l.role == asValue && r.weakValue(l)
}

// weakVerb reports whether the link takes a verb for the name of a field: "weigh" is not last_weighed.
func (r reading) weakVerb(l *link) bool {
	w := r.q[l.start()]
	participle := func(p part) bool { return p.stem == w.stem && (strings.HasSuffix(p.low, "ed") || states[p.low]) }
	period := func(c comparison) bool { return c.lo.date != "" }
	switch {
	case len(l.pos) > 1:
		return false
	case r.op == top && (verbs[w.low] || states[w.low]) && r.is(l.end(), "the|most|fewest") && !r.who(l.start()), // "which X placed the most"
		l.field.dates() && r.is(l.end(), "by") && !r.literal(l.end()+1): // "issued by"
		return true
	case l.field.dates() && !strings.HasSuffix(w.low, "ed") && slices.ContainsFunc(l.field.parts, participle):
		return !slices.ContainsFunc(r.compared, period)
	}
	finite := states[w.low] && l.field.numeric() && !l.field.named(w.low) && len(r.compared) == 0 && r.op != aggregate && r.op != top
	return (!l.plain && (verbs[w.low] || states[w.low]) || finite) && !r.who(l.start())
}

// weakValue reports whether the link takes a general word for a value, or a destination for an origin.
func (r reading) weakValue(l *link) bool {
	w, before := r.q[l.start()], r.low(l.start()-1)
	opposite := before == "from" && l.introduced("to") || before == "to" && l.introduced("from")
	attribute := l.exact == 2 && w.low == w.text && l.end() < len(r.q) && !r.q[l.end()].stop && !r.q[l.end()].brk // "data centers"
	// "grants for groups" has a value
	object := l.exact > 0 && oneOf(before, "for|to|from|with|in|at")
	bland := (fillers[w.low] || verbs[w.low] && l.whole < 1) && !attribute && !object
	dated := func(c comparison) bool { return c.at == l.end() && c.lo.date != "" }
	date := slices.ContainsFunc(r.compared, dated) && // "resolved in 2026"
		r.only(func(f *field) bool { return f.dates() && f.named(w.low) }) != nil
	yes, _ := l.field.booleanValues()
	alike := func(p part) bool { return slices.Contains(synonyms[w.stem], p.stem) }
	noun := before == "the" && w.text == w.low && l.values[0].Text != w.low && slices.ContainsFunc(r.array.parts, alike) // "in the city"
	truth := yes != nil && (affirmative[w.low] || negative[w.low]) || oneOf(w.low, "yes|no|y|n|true|false|on|off|none")
	return opposite || date || noun || len(l.pos) == 1 && l.score < 1.5 && (bland || truth)
}

// who reports whether "who" asks for the verb at i.
func (r reading) who(i int) bool {
	return r.is(i-1, "who") || r.is(i-2, "who") && r.is(i-1, auxiliaries)
}

var textOperators = map[string]bool{"start": true, "end": true, "contain": true}

// unexplained returns the content words that nothing explains.
func (r reading) unexplained() (out []int) {
	for i, w := range r.q {
		explained := r.by[i] != nil || r.used[i] || operators[w.low] && !r.planned || r.unit(i) || r.renamed(i) ||
			(verbs[w.low] || states[w.low]) && r.linking(i) ||
			suffixes[w.low] && r.at(i-1, asField, asValue) != nil
		if !explained && !r.ignored(i) {
			out = append(out, i)
		}
	}
	return out
}

// open returns the most words that a value may explain: "data" may be a team.
func (r reading) open() int {
	words := slices.DeleteFunc(slices.Clone(r.q), func(w word) bool { return !fillers[w.low] })
	return len(r.unexplained()) + len(words)
}

// ignored reports whether the word at i has no meaning of its own. In "source any" and "about 100" it has.
func (r reading) ignored(i int) bool {
	w, ends := r.q[i], i+1 == len(r.q) || r.q[i+1].brk || r.is(i+1, "and|or")
	value := r.at(i-1, asField) != nil && ends && oneOf(w.low, "any|all|some|in|on|off|up|out|no|none")
	every := w.low == "all" && i > 1 && (verbs[r.low(i-1)] || states[r.low(i-1)] ||
		r.is(i-1, "have|has|had") || r.begins("which") && r.is(i-1, auxiliaries)) // "use all ports"
	frequency := r.op != top && !r.is(i-1, "how") && oneOf(w.low, "mostly|usually|often|frequently|commonly")
	modal := oneOf(w.low, modals) && !r.is(i+1, "you|i|we") || w.low == "to" && r.is(i+1, "be")
	valued := func(f *field) bool { return r.planned && f.hasText(w.low) }
	quantifier := oneOf(w.low, "any|all") && !r.is(i-1, "there|of|have|has|"+auxiliaries) && slices.ContainsFunc(r.array.fields(), valued)
	if value || every || modal || frequency || quantifier || w.low == "about" && !ends && r.q[i+1].number != "" {
		return false
	}
	return w.stop && w.number == "" && !operators[w.low] || fillers[w.low] || r.requested(i)
}

// requested reports whether the word at i belongs to a request at the start: "please show me".
func (r reading) requested(i int) bool {
	return requests[r.q[i].low] && !slices.ContainsFunc(r.q[:i], func(w word) bool { return !w.stop && !requests[w.low] })
}

// unrelated returns the unexplained words that may denote a name.
func (r reading) unrelated() (out []int) {
	for _, i := range r.unexplained() {
		if w := r.q[i]; w.number == "" && !w.ident && letters(w.text) && units[w.low] == "" {
			out = append(out, i)
		}
	}
	return out
}

// linking reports whether the verb at i only links the words around it: "made by Philips", "do they run", but neither "are running" nor
// "installed hosts".
func (r reading) linking(i int) bool {
	low := r.q[i].low
	last := i+1 == len(r.q) || r.q[i+1].brk
	values, _ := r.target(r.focus)
	after := r.at(i-1, asValue) != nil || r.at(i-1, asField) != nil && r.hasPossessive(r.by[i-1])
	switch {
	case (strings.HasSuffix(low, "ed") || oneOf(low, "held|made|built|kept|written|given")) &&
		r.at(i+1, asArray, asGeneric) != nil, // "owned hosts"
		r.op == count && i == r.focus[0] && strings.HasSuffix(low, "s"): // "how many runs"
		return false
	case r.begins("which") && values != nil && values != r.array.identity() && last: // "which versions are in use?"
		return true
	case r.is(i, "need|needs") && !r.has("did"), r.op == top && r.is(i, "allow|allows"), // a requirement or a permission
		verbs[low] && r.is(i-1, auxiliaries+"|and|or|not") && last && !r.begins("where|what"),
		verbs[low] && r.op == count && i+1 == r.focus[1] && i > r.focus[0]:
		return false // "how many were published?", "how many closed issues do we have"
	case r.is(i-1, "in|on|under|need|needs|a|an|the|no|any"), r.is(i-1, "have|has|had|with|without") && !participles.MatchString(low):
		return false // "in use", "a work email"
	case verbs[low], after, r.op == top && r.is(i+1, "the|most|least|often"), !participles.MatchString(low):
		return true
	}
	// "running on h1", "hosts installed in Oslo", but not "are running"
	following := slices.ContainsFunc(r.by[i+1:], func(l *link) bool { return l != nil })
	return following && (strings.HasSuffix(low, "ing") || r.at(i-1, asArray) != nil || r.is(i-1, auxiliaries))
}

// participles are the endings of participles, and whole ones.
var participles = regexp.MustCompile(`(ing|ed|en|wn)$|^(held|kept|made|built|set|sent|taught|spoke|took)$`)

// renamed reports whether a parenthesis after the word gives its meaning.
func (r reading) renamed(i int) bool {
	for k := i + 1; k < min(len(r.q), i+6); k++ {
		if r.q[k].paren {
			return r.by[k] != nil
		}
	}
	return false
}

// unit reports whether the word at i is the unit of a number.
func (r reading) unit(i int) bool {
	return units[r.q[i].low] != "" && i > 0 && (r.q[i-1].number != "" || r.q[i-1].low == "in")
}

// at returns the link of one of the roles at word i; nil if there is none.
func (r reading) at(i int, roles ...role) *link {
	if i < 0 || i >= len(r.by) || r.by[i] == nil || !slices.Contains(roles, r.by[i].role) {
		return nil
	}
	return r.by[i]
}

// text returns the words of a span as written.
func (r reading) text(of span) string { return r.q[0].line[r.q[of[0]].from:r.q[of[1]-1].to] }

// target returns the target of a phrase: the field named by its last understood word, or the records of the array.
func (r reading) target(of span) (f *field, records bool) {
	for i := of[0]; i < of[1]-1; i++ { // "animals weigh", "suppliers deliver": a verb follows a plural
		noun := r.at(i, asArray) != nil || r.at(i, asField) != nil && oneOf(string(r.op), "distinct|list")
		if w := r.q[i]; noun && singular(w.low) != w.low && r.by[i] != r.by[i+1] {
			of[1] = i + 1
		}
	}
	for i := of[1] - 1; i >= of[0]; i-- {
		if l := r.at(i, asField); l != nil && (l.whole >= 0.59 || l.plain && l.whole >= 0.4 || l.whole >= 0.3 && r.is(i, measures)) {
			return l.field, false
		}
		if r.at(i, asArray, asGeneric, asValue) != nil {
			return nil, true
		}
	}
	return nil, false
}

// deny reports whether a negation applies to the word at i, and marks it as explained. In "no-show" it belongs to a value.
func (r *reading) deny(i int) bool {
	k := r.neg[i] - 1
	if k < 0 || r.at(k, asValue) != nil {
		return false
	}
	if mark(r.used, k, k+1); r.is(k, "than|from|of") {
		mark(r.used, k-1, k)
	}
	return true
}

// markUsed marks the link's words as explained.
func (r *reading) markUsed(l *link) {
	for _, i := range l.pos {
		r.used[i] = true
	}
}

// only returns the only field of the array that satisfies accept; nil if there is none, or more.
func (r reading) only(accept func(*field) bool) (only *field) {
	for f := range r.array.each() {
		if accept(f) && only != nil {
			return nil
		} else if accept(f) {
			only = f
		}
	}
	return only
}

// hasPossessive reports whether a word such as "have" or "with" precedes the field.
func (r reading) hasPossessive(l *link) bool {
	i, _ := find(r.q[:l.start()], max(0, l.start()-5),
		"have|has|had|having|with|carry|carries|carrying|contain|contains|contained|include|report|reports|specify|set|define|defines|any")
	return i >= 0
}

// comparesText reports whether the question compares a text: "which owners start with a".
func (r reading) comparesText() bool {
	return slices.ContainsFunc(r.compared, func(c comparison) bool { return textOperators[c.op] })
}

// hasContent reports whether the phrase has content words.
func (r reading) hasContent(of span) bool {
	return slices.ContainsFunc(r.q[of[0]:max(of[0], of[1])], func(w word) bool { return !w.stop && !fillers[w.low] })
}

// unsummable reports whether the numbers of the field are rates or limits, which the question does not name.
func (r reading) unsummable(f *field) bool {
	return slices.ContainsFunc(f.words, func(low string) bool {
		named := func(w word) bool {
			return w.stem == stem(low) || slices.Contains(synonyms[w.stem], stem(low)) || units[w.low] == low
		}
		return oneOf(low, "unit|per|avg|average|mean|max|min|maximum|minimum|rate|ratio|factor|percent|pct") && (r.op == breakdown || !slices.ContainsFunc(r.q, named))
	})
}

// unknownTerms declines because of words that match no name or value; it quotes them as written.
func (r reading) unknownTerms(words []int) string {
	what := "no array, field or value"
	if r.array != nil && len(r.links) > 0 && !strings.ContainsAny(r.array.key, "0123456789") {
		what = "no field or value of " + r.array.noun(2)
	}
	var terms []string
	for n, from := 0, 0; n < len(words); n++ {
		if n+1 == len(words) || words[n+1] != words[n]+1 { // the end of a phrase
			terms = append(terms, quoted(r.text(span{words[from], words[n] + 1})))
			from = n + 1
		}
	}
	if len(terms) > 1 {
		return "Unknown terms " + strings.Join(terms, ", ") + ": " + what + " matches them."
	}
	return "Unknown term " + terms[0] + ": " + what + " matches it."
}

// unmatched declines because of the unexplained words, if there are any.
func (r reading) unmatched() string {
	if lost := r.unexplained(); len(lost) > 0 {
		return r.unknownTerms(lost)
	}
	return unclearQuestion
}
