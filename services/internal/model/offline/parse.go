package offline

import (
	"slices"
	"strconv"
	"strings"
)

// operation is the kind of answer that a question requests.
type operation string

const (
	count     operation = "count"     // how many
	distinct  operation = "distinct"  // how many different
	list      operation = "list"      // which, what, who
	breakdown operation = "breakdown" // how many of each
	top       operation = "top"       // which has the most
	share     operation = "share"     // what percentage
	exists    operation = "exists"    // is there any
	all       operation = "all"       // are all
	compare   operation = "compare"   // this or that
	aggregate operation = "aggregate" // average, sum, smallest, largest
	combine   operation = "combine"   // ratio or difference of two fields
	fields    operation = "fields"    // list of the fields of an array
	overview  operation = "overview"  // list of the arrays
)

// conditional reports whether the answer counts records that meet a condition.
func (o operation) conditional() bool { return o == count || o == share || o == exists || o == all }

// shape is the grammar of a question, independent of the estate.
type shape struct {
	q        []word
	op       operation    // "" if unknown
	focus    span         // the words of the answer: "how many FOCUS", "which FOCUS"
	by       span         // the words after per, by, each
	measured span         // the words after "the most", "the highest"
	metric   string       // avg, sum, min, max, p50; combine: ratio, difference
	limit    int          // the N of "top N"
	rank     int          // 1 for "the second largest"
	least    bool         // the fewest instead of the most
	amount   bool         // "the most X", not "the highest X"
	kinds    bool         // "the kinds of X"
	degree   bool         // "how long", of one record
	each     bool         // "the number of each X"
	confirm  bool         // compare: "does A have more X than B?"
	neg      []int        // for each word 1 + the index of the negation that applies to it; 0: none
	used     []bool       // words that grammar or an interpretation explains
	compared []comparison // with a literal or a field
}

// comparison is an operator and its operand.
type comparison struct {
	op      string // gt gte lt lte eq, or start end contain
	at, end int    // its words, with a literal operand
	lo, hi  word   // the literals; hi of a range
	peer    bool   // the operand is the field named from end on
}

// Alternatives for patterns, from the lexicon.
var (
	auxiliaries, shares         = alternatives("auxiliaries"), alternatives("shares")
	modals, partial             = alternatives("modals"), alternatives("partial")
	degrees                     = "how long|old|big|large|fast|heavy|tall|hot"
	largest, smallest           = alternatives("largest"), alternatives("smallest")
	measuresMost, measuresLeast = alternatives("measures"), alternatives("measuresLeast")
	more, less, negations       = alternatives("more"), alternatives("less"), alternatives("negations")
	superlatives, measures      = largest + "|" + smallest, measuresMost + "|" + measuresLeast
	comparators                 = []struct{ words, op string }{ // the words before an operand
		{"no|not " + more + " than", "lte"}, {"no|not " + less + " than", "gte"}, {more + " than", "gt"}, {less + " than", "lt"},
		{"at least", "gte"}, {"at most", "lte"}, {"up to", "lte"}, {"minimum of", "gte"}, {"maximum of", "lte"}, {"equal|equals to", "eq"},
		{">|over|above|exceeding|exceed|exceeds|exceeded|beyond|after", "gt"}, {"<|under|below|before", "lt"}, {">=|≥|since", "gte"},
		{"<=|≤|until|till|by", "lte"}, {"exactly|equals|=", "eq"},
	}
)

// rules are the operations that a pattern of words determines, by precedence; those of asks come between them.
var rules = []struct {
	op       operation
	ask      func(*shape) bool
	patterns []string
}{
	{op: fields, patterns: []string{"field|fields|column|columns|attribute|attributes|schema", "what information|details|info",
		"known about|on|of"}},
	{op: overview, patterns: []string{"overview|summary|summarise|summarize|describe", "what arrays|collections|tables"}},
	{op: overview, ask: func(s *shape) bool {
		content := func(w word) bool { return !w.stop && !fillers[w.low] || oneOf(w.low, superlatives) }
		return s.begins("what|which") && !slices.ContainsFunc(s.q, content)
	}},
	{op: list, ask: func(s *shape) bool { return s.begins("when") }}, // the focus is the field of dates
	{op: combine, ask: (*shape).asksCombine}, {op: top, ask: (*shape).asksTop}, {op: aggregate, ask: (*shape).asksAggregate},
	{op: share, ask: (*shape).asksShare}, {op: all, ask: (*shape).asksAll}, {op: compare, ask: (*shape).asksCompare},
	{op: list, ask: (*shape).asksList},
	{op: distinct, patterns: []string{"how many different|distinct|unique|separate", "number of different|distinct|unique"}},
	{op: count, patterns: []string{"how many", "number|count|total of|the", "count|total"}},
	{op: exists, ask: func(s *shape) bool { s.focus = s.phrase(1); return s.begins(auxiliaries + "|any") }},
	{op: breakdown, patterns: []string{"distribution|breakdown|split", "break|broken down"}},
	{op: breakdown, ask: func(s *shape) bool { s.focus = s.phrase(0); return !s.by.empty() }},
	{op: list, ask: func(s *shape) bool { s.focus = s.phrase(0); return len(s.q) > 1 }}, // "hosts in Oslo"
}

// parse returns the shape of a question. The first rule that matches wins.
func parse(q []word) *shape {
	s := &shape{q: q, neg: make([]int, len(q)), used: make([]bool, len(q))}
	s.negations()
	s.groups()
	s.comparisons()
	yesNo := s.begins(auxiliaries) && !s.is(1, "you|i|we") // not "can you list"
	for _, r := range rules {
		if yesNo && slices.Contains([]operation{combine, top, aggregate, share, distinct, count, breakdown}, r.op) {
			continue
		}
		if _, end := s.matchPattern(r.patterns...); end >= 0 {
			s.op, s.focus = r.op, s.phrase(end)
			break
		}
		if r.ask != nil && r.ask(s) {
			s.op = r.op
			break
		}
	}
	if i, j := find(q, 0, "down"); s.op == breakdown {
		mark(s.used, i, j)
	}
	if s.op == list && s.each {
		s.op = breakdown
	}
	return s
}

// matchPattern finds one of the patterns and marks its words as explained.
func (s *shape) matchPattern(patterns ...string) (start, end int) {
	for _, p := range patterns {
		if start, end = find(s.q, 0, p); start >= 0 {
			mark(s.used, start, end)
			return start, end
		}
	}
	return -1, -1
}

func mark(words []bool, from, to int) {
	for i := max(from, 0); i < min(to, len(words)); i++ {
		words[i] = true
	}
}

// begins and has report whether the question begins with one of the words, or has the pattern.
func (s *shape) begins(words string) bool { return s.is(0, words) }
func (s *shape) has(pattern string) bool  { i, _ := find(s.q, 0, pattern); return i >= 0 }

// is reports whether the word at i is one of the words.
func (s *shape) is(i int, words string) bool { return oneOf(s.low(i), words) }

// low returns the word at i in lower case; "" if there is none.
func (s *shape) low(i int) string {
	if i < 0 || i >= len(s.q) {
		return ""
	}
	return s.q[i].low
}

// phrase returns the noun phrase at i: it skips leading articles and stops at a function word or a verb. In "kinds of work" the phrase
// is "work".
func (s *shape) phrase(i int) span {
	q := s.q
	for i < len(q) && q[i].stop && !q[i].brk && !s.is(i, auxiliaries+"|and|or|who|which|what") {
		i++
	}
	if s.is(i, "kinds|types|sorts") && s.is(i+1, "of") && i+2 < len(q) {
		mark(s.used, i, i+2)
		s.kinds, i = true, i+2
	}
	j := i
	for j < len(q) && !q[j].stop && (j == i || !q[j].brk && !s.linkingVerb(j) && !s.verb(j)) {
		j++
	}
	return span{i, j}
}

// linkingVerb reports whether the word at i is a linking verb: "host" in "we host", not in "patched host".
func (s *shape) linkingVerb(i int) bool {
	return verbs[s.low(i)] && (!s.is(i, "host|hosts") || s.is(i-1, "we|they|that") || s.is(i+1, "the|a|any|most"))
}

// verb reports whether the word at i is a verb behind its noun: "nights booked at".
func (s *shape) verb(i int) bool {
	return strings.HasSuffix(s.q[i].low, "ed") && (i+1 == len(s.q) || s.q[i+1].stop || s.q[i+1].brk) ||
		s.is(i, "use|uses|run|runs|support|supports|allow|allows|require|requires")
}

// negations finds the words to which "no", "without", "not" apply, up to the end of the clause: "not patched in Oslo" denies the patch,
// not Oslo.
func (s *shape) negations() {
	scope, content := 0, false
	for i, w := range s.q {
		if w.brk || s.is(i, "and|but|that|which") || content && s.is(i, "in|at|on|of|from|"+auxiliaries) {
			scope = 0
		}
		s.neg[i] = scope
		content = scope > 0 && (content || !w.stop && !fillers[w.low] && !verbs[w.low] && !states[w.low])
		pair := i > 0 && slices.ContainsFunc([]string{"other|rather than", "apart|aside from", "out|instead of"}, func(p string) bool {
			return matchLength(s.q[i-1:], p) > 0
		})
		if i == 1 && w.low == "not" && s.begins(auxiliaries) {
			s.used[i] = true // "isn't"
		} else if pair || s.is(i, negations) {
			scope, content = i+1, false
		}
	}
}

// groups finds the words after per, by, for each.
func (s *shape) groups() {
	for _, p := range []string{"per", "for|in|of|on|at|across|to each|every", "grouped|split|distributed by|over|across", "by", "each|every"} {
		for i, j := find(s.q, 0, p); i >= 0; i, j = find(s.q, j, p) {
			if of := s.phrase(j); !of.empty() && of[0] <= j+2 && !s.literal(of[0]) && (p != "by" || !s.linkingVerb(i-1) && !states[s.low(i-1)]) {
				s.by = of
				mark(s.used, i, j)
				return
			}
			s.each = s.each || s.is(j-1, "each")
		}
	}
}

// asksCombine matches "the ratio of X to Y", "the difference between X and Y".
func (s *shape) asksCombine() bool {
	for _, metric := range []string{"ratio", "difference"} {
		if i, j := s.matchPattern(metric + " of|between|in"); i >= 0 {
			s.metric, s.focus = metric, span{j, len(s.q)}
		}
	}
	return s.metric != ""
}

// asksAggregate matches "how much", "average X", "what did X cost in total".
func (s *shape) asksAggregate() bool {
	if s.begins("what|which") && s.is(1, shares) && s.is(2, "of") {
		return false // "what percentage of the total"
	}
	if i, j := s.matchPattern("how much", degrees); j >= 0 {
		s.metric, s.focus, s.degree = "sum", s.phrase(j), !s.is(i+1, "much")
	}
	for i, w := range s.q {
		m, last := metrics[w.low], i+1 == len(s.q) || s.q[i+1].brk
		counted := oneOf(m, "min|max|sum") && s.has("how many") || w.low == "total" && !last && s.is(i+1, "number|count|of")
		if which, _ := find(s.q[:i], 0, "which|who"); m == "" || which >= 0 || counted {
			continue
		}
		s.used[i] = true
		if s.metric == "" || i+1 < len(s.q) && !last {
			s.focus = s.phrase(i + 1)
		}
		s.metric = m
		s.ordinal(i - 1)
		return true
	}
	return s.metric != ""
}

// asksShare does not match "more than 90 percent" and "cpu_percent": a condition, a field.
func (s *shape) asksShare() bool {
	i, j := find(s.q, 0, shares)
	if i < 0 || s.has("how many") && !s.is(i-1, "many") || i > 0 && s.q[i-1].number != "" || strings.Contains(s.q[i].raw, "_") {
		return false
	}
	mark(s.used, i, j)
	s.focus = s.phrase(j)
	return true
}

func (s *shape) asksAll() bool {
	i, j := find(s.q, 0, "all|every|each|everything|both")
	if i < 0 && s.begins("are|were|do|have") && !s.is(1, "there|you|i|we|they|any|some|"+partial) {
		i, j = 1, 1 // "are hosts in Oslo patched"
	}
	if i < 0 || !s.begins(auxiliaries) {
		return false
	}
	mark(s.used, i, j)
	s.focus, s.by = s.phrase(j), span{}
	return true
}

// asksTop matches "which X has the most Y", "the most common X", "top 5 X" and "the longest X", where the superlative names the measure.
func (s *shape) asksTop() bool {
	i, j := find(s.q, 0, largest+"|"+smallest+"|"+measures)
	which := s.has("which|who|where|top|list|show|name")
	at := s.is(i-1, "at") || s.is(i-2, "at") && s.is(i-1, "their|its|the")
	if i < 0 || matchLength(s.q, degrees) > 0 || at || s.is(j, "of") && !which ||
		metrics[s.q[i].low] != "" && !which && !s.has("by|with") {
		return false // "the highest price" is a number, "the largest host by price" is a host
	}
	if op, at := s.operator(i); op != "" && !s.is(at, "by|since|until|till|before|after") {
		return false // "above the maximum"
	}
	s.least = s.is(i, smallest+"|"+measuresLeast)
	s.amount = s.is(i, "most|fewest|least|top") && !s.is(j, "expensive|costly|valuable|powerful")
	s.ordinal(i - 1)
	before, after := s.takeN(i-1), s.takeN(j)
	if s.is(i, measures) {
		after := s.phrase(j + after)
		s.measured, s.focus = span{i, j}, s.ranked(i, after)
		if s.focus != after && after[0] == j {
			s.measured[1] = after[1] // "which job has the shortest retention"
		}
		return true
	}
	i, j = i-before, j+after
	if m := metrics[s.low(j)]; oneOf(m, "avg|sum|p50") {
		s.metric, j = m, j+1
	}
	for s.is(j, "common|frequent|frequently|popular|used|often|commonly|prevalent|number|of|widely") {
		s.amount = true
		j++
	}
	mark(s.used, i, j)
	s.measured = s.phrase(j)
	s.focus = s.ranked(i, s.measured)
	return true
}

// ordinal parses the word at i as a rank.
func (s *shape) ordinal(i int) {
	for n, ordinal := range []string{"second|2nd", "third|3rd", "fourth|4th"} {
		if s.is(i, ordinal) {
			s.rank, s.used[i] = n+1, true
		}
	}
}

// takeN parses the word at k as the number of results; it returns the number of words.
func (s *shape) takeN(k int) int {
	if k < 0 || k >= len(s.q) || s.q[k].number == "" {
		return 0
	}
	s.limit, _ = strconv.Atoi(s.q[k].number)
	s.used[k] = true
	s.compared = slices.DeleteFunc(s.compared, func(c comparison) bool { return c.at <= k && k < c.end })
	return 1
}

// ranked returns the words that the superlative at i ranks: "which X supplies the most", "X with the most", or else the words after it.
func (s *shape) ranked(i int, after span) span {
	for k := i - 1; k >= 0; k-- {
		of := s.phrase(k + 1)
		if s.is(k+1, "is|are|was|were") { // the noun phrase follows the auxiliary
			of = s.phrase(k + 2)
		}
		if of[1]-of[0] > 1 && (of[1]+1 == i && s.is(i-1, "the") || of[1] == i && s.is(i+1, "often|frequently|commonly")) {
			of[1]-- // the verb
		}
		if s.is(k, "which|what|who|list|show|name|where") && !of.empty() && of[1] <= i {
			return of
		}
	}
	if of := s.phrase(0); !of.empty() && of[1] < i && s.is(of[1], "with") { // "host with the most disks"
		return of
	}
	return after
}

// asksCompare matches "X vs Y", "more X than Y"; "3 or more" is a condition.
func (s *shape) asksCompare() bool {
	if _, j := s.matchPattern("vs|versus", "compared to|with", "compare"); j >= 0 {
		s.focus = s.phrase(j)
		return true
	}
	at, next := find(s.q, 0, more+"|"+less)
	than, _ := find(s.q, max(next, 0), "than")
	how, _ := find(s.q, 0, "how many|number")
	with := func(c comparison) bool { return !c.peer && c.at <= at && at < c.end }
	unlike := than < 0 && !s.has("or") || than > 0 && !s.begins(auxiliaries)
	if at < 0 || unlike || how >= 0 && how < at || slices.ContainsFunc(s.compared, with) {
		return false
	}
	s.confirm, s.least, s.amount, s.measured = than > 0, s.is(at, less), s.is(at, "more|fewer"), span{at, next}
	mark(s.used, at, next)
	for i, w := range s.q {
		s.used[i] = s.used[i] || oneOf(w.low, "or|than|more|fewer")
	}
	return true
}

// asksList reports whether the question requests a list: "which X", "list the X", "is
// there an X? Which one?", or the values of a field of several records.
func (s *shape) asksList() bool {
	how, _ := find(s.q, 0, "how many")
	for i, w := range s.q {
		order := s.is(i, "list|show|name") && (w.brk || s.is(i-1, "please|you|and|to|then"))
		ask := s.is(i, "which|what|who|where") && (how < 0 || i < how || s.is(i-1, "and"))
		number, _ := find(s.q[:min(len(s.q), i+5)], i, "number|count")
		if !ask && !order || number >= 0 {
			continue
		}
		if s.focus = s.phrase(i + 1); s.focus.empty() && s.is(i+1, "is|are|was|were") {
			s.focus = s.phrase(i + 2)
		}
		mark(s.used, i, i+1)
		if w.low == "where" {
			s.focus, s.used[i] = span{i, i + 1}, false
		}
		if how >= 0 {
			s.each = true
			mark(s.used, how, how+2)
		}
		return true
	}
	return false
}

// operator returns the comparator whose words end before i, and their start.
func (s *shape) operator(i int) (op string, start int) {
	for i > 0 && s.is(i-1, "the|a|an|year|their|its|of") && !s.is(i-2, "minimum|maximum") {
		i--
	}
	for _, o := range comparators {
		n := strings.Count(o.words, " ") + 1
		if n <= i && matchLength(s.q[i-n:i], o.words) == n {
			return o.op, i - n
		}
	}
	return "", i
}

// comparisons finds comparators with a number, a date, a text or a field as operand.
func (s *shape) comparisons() {
	for i := 0; i < len(s.q); i++ {
		var c comparison
		switch from := s.low(i); {
		case oneOf(from, "between|from") && s.literal(i+1) && s.is(i+2, "and|to|until|through") && s.literal(i+3):
			c = comparison{"gte", i, i + 4, s.q[i+1], s.q[i+3], false}
		case s.literal(i) && s.is(i+1, "to") && s.literal(i+2):
			c = comparison{"gte", i, i + 3, s.q[i], s.q[i+2], false}
		case s.literal(i):
			c = s.withLiteral(i)
		case i+2 < len(s.q) && s.is(i+1, "with|in") && textTests[from] != "":
			c = s.withText(textTests[from], i, i+2)
		case i > 0 && i+1 < len(s.q) && !operators[s.low(i+1)] && partTests[from] != "":
			c = s.withText(partTests[from], i, i+1)
		default:
			c = s.withField(i)
		}
		if lo, hi := c.lo.date, c.hi.date; strings.HasPrefix(lo, "-") && len(hi) > 6 && hi[0] != '-' {
			c.lo.date = hi[:4] + lo // "between May and July 2026"
		}
		if c.op != "" {
			s.compared = append(s.compared, c)
			i = max(i, c.end-1)
		}
	}
}

// literal reports whether the word at i is a number or a date; "one" is a number before a noun.
func (s *shape) literal(i int) bool {
	noun := i+1 < len(s.q) && !s.q[i+1].stop && !s.q[i+1].brk
	return i >= 0 && i < len(s.q) && (s.q[i].number != "" || s.q[i].date != "") && (!s.is(i, "one") ||
		s.is(i-1, "than|least|most|exactly|over|only|have|has|with") && noun || s.is(i-1, "than|least|most|exactly"))
}

func (s *shape) withLiteral(i int) comparison {
	op, at := s.operator(i)
	w := s.q[i]
	switch {
	case w.date != "" && s.is(at, "older|younger"):
		op = ternary(s.is(at, "older"), "lt", "gt")
	case w.date == "" && s.is(at, "since|until|till|by"):
		op = ""
	case w.date != "" && s.is(i-1, "from") && s.is(i+1, "on|onward|onwards"):
		op, at = "gte", i-1
		mark(s.used, i+1, i+2)
	case op == "" && strings.HasPrefix(w.line[w.to:], "+"): // "8+ cpus"
		op, at = "gte", i
	}
	for k := i + 1; op == "" && k < min(len(s.q), i+4); k++ { // "20 kg or more"
		up := matchLength(s.q[k:], "or|and "+more+"|above|over|up") > 0
		if (up || matchLength(s.q[k:], "or|and "+less+"|below|under") > 0) && !s.is(k+2, "than") && !s.literal(k+2) {
			op, at = ternary(up, "gte", "lte"), i
			mark(s.used, k, k+2)
		}
	}
	if op == "" {
		op, at = "eq", i
		if w.date != "" && s.is(i-1, "in|during|on|of|for|from|year") {
			at = i - 1
		}
	}
	return comparison{op: op, at: at, end: i + 1, lo: w}
}

// withText takes the written word at i as the operand.
func (s *shape) withText(op string, at, i int) comparison {
	for i+1 < len(s.q) && s.is(i, "the|a|an|letter|word|prefix|text") {
		i++
	}
	end := i + 1
	for end < len(s.q) && s.q[end].at == s.q[i].at {
		end++
	}
	return comparison{op: op, at: at, end: end, lo: s.q[i]}
}

// withField matches "more A than B", "above B" and "A exceeds B" at the comparator.
func (s *shape) withField(i int) comparison {
	than, _ := find(s.q[:min(len(s.q), i+7)], i, "than")
	if than > i && s.is(i, more+"|"+less) && !s.literal(than+1) {
		return comparison{op: ternary(s.is(i, less), "lt", "gt"), at: i, end: than + 1, peer: true}
	}
	n := len(s.compared)
	op, at := s.operator(i)
	if op != "" && at < i && !s.q[i].stop && (n == 0 || s.compared[n-1].end <= at) && !s.is(at, "since|from|until|till|by|before|after") {
		return comparison{op: op, at: at, end: i, peer: true}
	}
	return comparison{}
}

// unsupported returns the reason to decline a question of a kind that no plan answers; "" if there is none.
func (s *shape) unsupported() string {
	twice := func(pattern string) bool {
		_, i := find(s.q, 0, pattern)
		again, _ := find(s.q, max(0, i), pattern)
		return i > 0 && again > 0
	}
	how := s.begins("how") && s.is(1, auxiliaries) && s.by.empty()
	switch {
	case twice("how many|much"):
		return oneQuestion
	case s.op == "", twice("as"), how, s.begins("why|if"), s.has("how come"), s.has("what if"): // "as many hosts as sites"
		return unclearQuestion
	}
	return ""
}
