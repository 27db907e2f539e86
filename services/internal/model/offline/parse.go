package offline

import (
	"slices"
	"strconv"
	"strings"
)

// operation is the kind of answer that a question requests.
type operation int

const (
	unclear   operation = iota
	count               // how many
	distinct            // how many different
	list                // which, what, who
	breakdown           // how many of each
	top                 // which has the most
	share               // what percentage
	exists              // is there any
	all                 // are all
	compare             // this or that
	aggregate           // average, sum, smallest, largest
	combine             // ratio or difference of two fields
	fields              // list of the fields of an array
	overview            // list of the arrays
)

// shape is the grammar of a question, independent of the estate.
type shape struct {
	q        []word
	op       operation
	focus    span         // the words of the answer: "how many FOCUS", "which FOCUS"
	by       span         // the words after per, by, each
	measured span         // the words after "the most", "the highest"
	metric   string       // avg, sum, min, max, p50; combine: ratio, difference
	limit    int          // the N of "top N"
	rank     int          // 1 for "the second largest"
	least    bool         // the fewest instead of the most
	amount   bool         // "the most X", not "the highest X"
	kinds    bool         // "the kinds of X"
	each     bool         // "the number of each X"
	confirm  bool         // compare: "does A have more X than B?"
	off      bool         // a property that is "disabled" or "off"
	neg      []bool       // words that are denied
	consumed []bool       // words that grammar explains
	compared []comparison // with a literal or a field
}

// comparison is an operator and its operand.
type comparison struct {
	op      string // gt gte lt lte eq, or start end
	at, end int    // its words, with a literal operand
	lo, hi  word   // the literals; hi of a range
	peer    bool   // the operand is the field named from end on
}

const (
	auxiliaries = "is|are|do|does|has|have|did|was|were"
	shares      = "share|percentage|percent|fraction|proportion|portion"
	largest     = "most|top|highest|largest|biggest|greatest|maximum"
	smallest    = "fewest|least|lowest|smallest|minimum"
	// superlatives that name a field as well
	measures      = "longest|tallest|heaviest|widest|fastest|priciest|costliest|oldest|" + measuresLeast
	measuresLeast = "shortest|lightest|slowest|cheapest|youngest"
	negations     = "no|not|without|lack|lacks|lacking|missing|never|none|neither|nor|non|outside|except|excluding|besides"
	more          = "more|greater|larger|bigger|higher|longer|older|heavier|taller|wider|faster|later|newer"
	less          = "fewer|less|lower|smaller|shorter|younger|lighter|slower|cheaper|earlier"
)

// operators are the words before an operand.
var operators = []struct{ words, op string }{
	{"no|not " + more + " than", "lte"}, {"no|not " + less + " than", "gte"}, {more + " than", "gt"}, {less + " than", "lt"},
	{"at least", "gte"}, {"at most", "lte"}, {"up to", "lte"}, {"minimum of", "gte"}, {"maximum of", "lte"}, {"equal|equals to", "eq"},
	{"over|above|exceeding|exceed|exceeds|exceeded|beyond|after", "gt"}, {"under|below|before", "lt"}, {"since|from", "gte"},
	{"until|till|by", "lte"}, {"exactly|equals|=", "eq"},
}

// parse returns the shape of a question. The first matching rule wins.
func parse(q []word) *shape {
	s := &shape{q: q, neg: make([]bool, len(q)), consumed: make([]bool, len(q))}
	s.negations()
	s.groups()
	s.comparisons()
	switch {
	case s.matchOperation(fields, "field|fields|column|columns|attribute|attributes|schema", "what information|details|info",
		"what is known about|on|of"):
	case s.matchOperation(overview, "overview|summary|summarise|summarize|describe", "what arrays|collections|tables"):
	case s.begins("what|which") && !slices.ContainsFunc(q, func(w word) bool { return !w.stop && !fillers[w.low] }):
		s.op = overview
	case s.asksCombine(), s.asksTop(), s.asksAggregate(), s.asksShare():
	case s.begins(auxiliaries) && s.matchOperation(all, "all|every|each|everything"):
		s.by = span{}
	case s.asksCompare(), s.asksList():
	case s.matchOperation(distinct, "how many different|distinct|unique|separate", "number of different|distinct|unique"):
	case s.matchOperation(count, "how many", "number|count|total of|the", "count|total"):
		if !s.by.empty() {
			s.op = breakdown
		}
	case s.begins(auxiliaries + "|any|can"):
		s.op, s.focus = exists, s.phrase(1)
	case s.matchOperation(breakdown, "distribution|breakdown|split", "break|broken down"):
		i, _ := find(q, 0, "distribution|breakdown|split|break|broken")
		if of := s.phraseBefore(i); !of.empty() {
			s.focus = of // "tier breakdown of the volumes"
		}
	case !s.by.empty():
		s.op = breakdown
	case len(q) > 1:
		s.op, s.focus = list, s.phrase(0) // "hosts in Oslo"
	}
	return s
}

// matchOperation sets the operation and the focus if one of the patterns matches.
func (s *shape) matchOperation(want operation, patterns ...string) bool {
	i, j := s.matchPattern(patterns...)
	if i >= 0 {
		s.op, s.focus = want, s.phrase(j)
	}
	return i >= 0
}

// matchPattern finds one of the patterns and marks its words as explained.
func (s *shape) matchPattern(patterns ...string) (start, end int) {
	for _, p := range patterns {
		if start, end = find(s.q, 0, p); start >= 0 {
			mark(s.consumed, start, end)
			return start, end
		}
	}
	return -1, -1
}

func mark(words []bool, from, to int) {
	for i := from; i < min(to, len(words)); i++ {
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

// phrase returns the noun phrase at i: it skips leading articles and stops at a stop word or a verb. In "kinds of work" the
// phrase is "work".
func (s *shape) phrase(i int) span {
	q := s.q
	for i < len(q) && q[i].stop && !q[i].brk && !s.is(i, auxiliaries+"|and|or|who|which|what") {
		i++
	}
	if s.is(i, "kinds|types|sorts") && s.is(i+1, "of") && i+2 < len(q) {
		mark(s.consumed, i, i+2)
		s.kinds, i = true, i+2
	}
	j := i
	for j < len(q) && !q[j].stop && (j == i || !q[j].brk && !verbs[q[j].low] && !s.verb(j)) {
		j++
	}
	return span{i, j}
}

// verb reports whether the word at i is a verb behind its noun: "nights booked at".
func (s *shape) verb(i int) bool {
	return strings.HasSuffix(s.q[i].low, "ed") && (i+1 == len(s.q) || s.q[i+1].stop || s.q[i+1].brk) ||
		s.is(i, "use|uses|run|runs|support|supports|allow|allows|require|requires")
}

func (s *shape) phraseBefore(end int) span {
	for end > 0 && s.q[end-1].stop {
		end--
	}
	i := end
	for i > 0 && !s.q[i-1].stop {
		i--
	}
	return span{i, end}
}

// negations marks the words after "no", "without", "not" up to the end of the clause: "not patched in Oslo" denies the patch, not Oslo.
func (s *shape) negations() {
	on, content := false, false
	for i, w := range s.q {
		ends := w.brk || s.is(i, "and|but|that|which") || content && s.is(i, "in|at|on|of|from|"+auxiliaries)
		on = on && !ends
		s.neg[i], content = on, on && (content || !w.stop && !fillers[w.low] && !verbs[w.low] && !states[w.low])
		if s.is(i, negations) || w.low == "than" && s.is(i-1, "other") || w.low == "from" && s.is(i-1, "apart|aside") ||
			w.low == "of" && s.is(i-1, "out") {
			on, content = true, false
			s.consumed[i] = true
		}
	}
	if i, _ := s.matchPattern("disabled|off|unset|deactivated"); i >= 0 {
		s.off = true // "PoE disabled"
	}
}

// groups finds the words after per, by, for each.
func (s *shape) groups() {
	for _, p := range []string{"per", "for|in|of|on|at|across|to each|every", "grouped|split|distributed by|over|across", "by", "each|every"} {
		for i, j := find(s.q, 0, p); i >= 0; i, j = find(s.q, j, p) {
			if of := s.phrase(j); !of.empty() && of[0] <= j+2 && !s.literal(of[0]) && (i == 0 || !verbs[s.q[i-1].low] || p != "by") {
				s.by = of
				mark(s.consumed, i, j)
				return
			}
			s.each = s.each || s.is(j-1, "each")
		}
	}
}

// asksCombine matches "the ratio of X to Y", "the difference between X and Y".
func (s *shape) asksCombine() bool {
	for metric, pattern := range map[string]string{"ratio": "ratio of|between", "difference": "difference between|of|in"} {
		if i, j := s.matchPattern(pattern); i >= 0 {
			s.op, s.metric, s.focus = combine, metric, span{j, len(s.q)}
		}
	}
	return s.op == combine
}

// asksAggregate matches "how much", "average X", "what did X cost in total".
func (s *shape) asksAggregate() bool {
	if s.matchOperation(aggregate, "how much|long|old|big|large|fast|heavy|hot") {
		s.metric = "sum"
		return true
	}
	for i, w := range s.q {
		m, last := metrics[w.low], i+1 == len(s.q) || s.q[i+1].brk
		counted := m == "sum" && (s.has("how many") || w.low == "total" && !last && s.is(i+1, "number|count|of"))
		if which, _ := find(s.q[:i], 0, "which|who"); m == "" || which >= 0 || counted {
			continue
		}
		s.op, s.metric, s.focus = aggregate, m, s.phrase(i+1)
		s.consumed[i] = true
		return true
	}
	return false
}

// asksShare does not match "more than 90 percent" and "cpu_percent": a condition, a field.
func (s *shape) asksShare() bool {
	i, _ := find(s.q, 0, shares)
	if i < 0 || s.has("how many") || i > 0 && s.q[i-1].number != "" || strings.Contains(s.q[i].raw, "_") {
		return false
	}
	return s.matchOperation(share, shares)
}

// asksTop matches "which X has the most Y", "the most common X", "top 5 X" and "the longest X", where the superlative names the measure.
func (s *shape) asksTop() bool {
	i, j := find(s.q, 0, largest+"|"+smallest+"|"+measures)
	which := s.has("which|who|where|top|list|show|name")
	if i < 0 || s.is(i-1, "at") || s.is(j, "of") && !which || metrics[s.q[i].low] != "" && !which && !s.has("by|with") {
		return false // "the highest price" is a number, "the largest host by price" is a host
	}
	s.op, s.least = top, s.is(i, smallest+"|"+measuresLeast)
	s.amount = s.is(i, "most|fewest|least") && !s.is(j, "expensive|costly|valuable|powerful")
	for n, ordinal := range []string{"second|2nd", "third|3rd", "fourth|4th"} {
		if s.is(i-1, ordinal) {
			s.rank, s.consumed[i-1] = n+1, true
		}
	}
	before, after := s.takeN(i-1), s.takeN(j)
	if s.is(i, measures) {
		s.measured, s.focus = span{i, j}, s.ranked(i, s.phrase(j+after))
		return true
	}
	if i, j = i-before, j+after; s.begins("which|what|list|show|name") && s.limit == 0 {
		s.takeN(1)
	}
	if m := metrics[s.low(j)]; oneOf(m, "avg|sum|p50") {
		s.metric, j = m, j+1
	}
	for s.is(j, "common|frequent|frequently|popular|used|often|commonly|prevalent|number|of|widely") {
		j++
	}
	mark(s.consumed, i, j)
	s.measured = s.phrase(j)
	s.focus = s.ranked(i, s.measured)
	return true
}

// takeN parses the word at k as the number of results; it returns the number of words.
func (s *shape) takeN(k int) int {
	if k < 0 || k >= len(s.q) || s.q[k].number == "" {
		return 0
	}
	s.limit, _ = strconv.Atoi(s.q[k].number)
	s.consumed[k] = true
	s.compared = slices.DeleteFunc(s.compared, func(c comparison) bool { return c.at <= k && k < c.end })
	return 1
}

// ranked returns the words that the superlative at i ranks: "which X supplies the most", "X with the most", or else the words after it.
func (s *shape) ranked(i int, after span) span {
	for k := i - 1; k >= 0; k-- {
		of := s.phrase(k + 1)
		if s.is(k, "where") {
			of = span{k, k + 1}
		}
		if of[1]-of[0] > 1 && (of[1]+1 == i && s.is(i-1, "the") || of[1] == i && s.is(i+1, "often|frequently|commonly")) {
			of[1]-- // the verb
		}
		if s.is(k, "which|what|who|list|show|name|where") && !of.empty() && of[1] <= i {
			return of
		}
	}
	return after
}

// asksCompare matches "X vs Y", "more X than Y"; "3 or more" is a condition.
func (s *shape) asksCompare() bool {
	if s.matchOperation(compare, "vs|versus", "compared to|with", "compare") {
		return true
	}
	more, next := find(s.q, 0, "more|fewer|bigger|larger|smaller")
	than, _ := find(s.q, max(next, 0), "than")
	how, _ := find(s.q, 0, "how many|number")
	with := func(c comparison) bool { return !c.peer && c.at <= more && more < c.end }
	if more < 0 || how >= 0 && how < more || slices.ContainsFunc(s.compared, with) {
		return false
	}
	if than > 0 && s.begins(auxiliaries) || than < 0 && s.has("or") {
		s.op, s.confirm = compare, than > 0
		mark(s.consumed, more, next)
	}
	return s.op == compare
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
		s.op, s.focus = list, s.phrase(i+1)
		mark(s.consumed, i, i+1)
		if w.low == "where" {
			s.focus, s.consumed[i] = span{i, i + 1}, false
		}
		if how >= 0 || s.each || !s.by.empty() {
			s.op = breakdown
		}
		return true
	}
	return false
}

// operator returns the operator whose words end before i, and their start.
func (s *shape) operator(i int) (op string, start int) {
	for i > 0 && s.is(i-1, "the|a|an|year|their|its|of") && !s.is(i-2, "minimum|maximum") {
		i--
	}
	for _, o := range operators {
		n := strings.Count(o.words, " ") + 1
		if n <= i && matchLength(s.q[i-n:i], o.words) == n {
			return o.op, i - n
		}
	}
	return "", i
}

// comparisons finds operators with a number, a date, a text or a field as operand.
func (s *shape) comparisons() {
	for i := 0; i < len(s.q); i++ {
		var c comparison
		switch from := s.low(i); {
		case oneOf(from, "between|from") && s.literal(i+1) && s.is(i+2, "and|to|until|through") && s.literal(i+3):
			c = comparison{"gte", i, i + 4, s.q[i+1], s.q[i+3], false}
		case s.literal(i):
			c = s.withLiteral(i)
		case oneOf(from, "start|starts|starting|begin|begins|beginning|prefixed") && s.is(i+1, "with") && i+2 < len(s.q):
			c = s.withText("start", i, i+2)
		case oneOf(from, "end|ends|ending") && s.is(i+1, "with|in") && i+2 < len(s.q):
			c = s.withText("end", i, i+2)
		default:
			c = s.withField(i)
		}
		if c.op != "" {
			s.compared = append(s.compared, c)
			i = max(i, c.end-1)
		}
	}
}

// literal reports whether the word at i is a number or a date.
func (s *shape) literal(i int) bool {
	return i < len(s.q) && (s.q[i].number != "" && (!s.is(i, "one") || s.is(i-1, "than|least|most|exactly|over")) || s.q[i].date != "")
}

func (s *shape) withLiteral(i int) comparison {
	op, at := s.operator(i)
	w := s.q[i]
	if w.date != "" && s.is(at, "older") {
		op = "lt"
	}
	if w.date == "" && oneOf(op, "gte|lte") && s.is(at, "from|since|until|till|by") {
		op = ""
	}
	for k := i + 1; op == "" && k < i+4; k++ {
		if s.is(k, "or|and") && s.is(k+1, more+"|above|over|up") {
			op, at = "gte", i
		} else if s.is(k, "or|and") && s.is(k+1, less+"|below|under") {
			op, at = "lte", i
		}
		if op != "" {
			mark(s.consumed, k, k+2)
		}
	}
	if op == "" {
		op, at = "eq", i
		if w.date != "" && s.is(i-1, "in|during|on|of|for|year") {
			at = i - 1
		}
	}
	return comparison{op: op, at: at, end: i + 1, lo: w}
}

// withText takes the written word at i as the operand.
func (s *shape) withText(op string, at, i int) comparison {
	end := i + 1
	for end < len(s.q) && s.q[end].at == s.q[i].at {
		end++
	}
	return comparison{op: op, at: at, end: end, lo: s.q[i]}
}

// withField matches "more A than B", "above B" and "A exceeds B" at the operator.
func (s *shape) withField(i int) comparison {
	if s.is(i, more+"|"+less) {
		if than, _ := find(s.q[:min(len(s.q), i+7)], i, "than"); than > i && !s.literal(than+1) {
			op := "gt"
			if s.is(i, less) {
				op = "lt"
			}
			return comparison{op: op, at: i, end: than + 1, peer: true}
		}
	}
	n := len(s.compared)
	op, at := s.operator(i)
	if op != "" && at < i && !s.q[i].stop && (n == 0 || s.compared[n-1].end <= at) && !s.is(at, "since|from|until|till|by|before|after") {
		return comparison{op: op, at: at, end: i, peer: true}
	}
	return comparison{}
}
