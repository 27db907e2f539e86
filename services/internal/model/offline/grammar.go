package offline

import (
	"slices"
	"strconv"
	"strings"
)

// intent is the kind of answer that a question requests.
type intent int

const (
	unclear   intent = iota
	count            // how many
	distinct         // how many different
	list             // which, what, who
	breakdown        // how many of each
	top              // which has the most
	share            // what percentage
	yesno            // is there any
	all              // are all
	compare          // this or that
	metric           // average, sum, smallest, largest
	fields           // what is known about
	overview         // what is in the data
)

// conditional reports whether the answer counts records that meet a condition.
func (i intent) conditional() bool { return i == count || i == share || i == yesno || i == all }

// shape is the grammar of a question, independent of the estate.
type shape struct {
	q        []word
	intent   intent
	focus    span   // the words asked for: "how many FOCUS", "which FOCUS"
	by       span   // the words after per, by, each
	measured span   // the words after "the most", "the highest"
	metric   string // avg, sum, min, max, p50
	topN     int    // the N of "top N"; 0 means 1
	least    bool   // the fewest instead of the most
	amount   bool   // the most of something is asked for, not the highest
	each     bool   // the number of each is asked for
	bare     bool   // there is no question word: "hosts in Oslo"
	off      bool   // something is asked for that is switched off
	neg      []bool // words that are denied
	aside    []bool // words that must not be matched
	consumed []bool // words that grammar explains
}

const (
	// superlatives that name a field as well
	measures      = "longest|tallest|heaviest|widest|fastest|priciest|" + measuresLeast
	measuresLeast = "shortest|lightest|slowest|cheapest"

	auxiliaries = "is|are|do|does|has|have|did|was|were"
	shares      = "share|percentage|percent|fraction|proportion|portion|ratio"
	largest     = "most|top|highest|largest|biggest"
	smallest    = "fewest|least|lowest|smallest"
	negations   = "no|not|without|lack|lacks|lacking|missing|never|none|neither|nor|non|outside|except|excluding|besides"
)

// parse returns the shape of a question. The first matching rule wins.
func parse(q []word) *shape {
	s := &shape{q: q, neg: make([]bool, len(q)), aside: make([]bool, len(q)), consumed: make([]bool, len(q))}
	s.negations()
	s.groups()
	switch {
	case s.asks(fields, "field|fields|column|columns|attribute|attributes|schema", "what information|details|info",
		"what is known about|on|of"):
	case s.asks(overview, "overview|summary|summarise|summarize|describe", "what arrays|collections|tables"):
	case s.begins("what|which") && !slices.ContainsFunc(q, word.content):
		s.intent = overview
	case s.asksMetric(), s.asksShare(), s.asksTop(), s.asksCompare():
	case s.begins(auxiliaries) && s.asks(all, "all|every|each|everything"):
		s.by = span{}
	case s.asksList():
	case s.asks(distinct, "how many different|distinct|unique|separate", "number of different|distinct|unique"):
	case s.asks(count, "how many", "number|count|total of|the", "count|total"):
		if !s.by.empty() {
			s.intent = breakdown
		}
	case s.begins(auxiliaries + "|any|can"):
		s.intent, s.focus = yesno, s.phrase(1)
	case s.asks(breakdown, "distribution|breakdown|split", "break|broken down"):
		i, _ := find(q, 0, "distribution|breakdown|split|break|broken")
		if of := s.phraseBefore(i); !of.empty() {
			s.focus = of // "tier breakdown of the volumes"
		}
	case !s.by.empty():
		s.intent = breakdown
	case len(q) > 1:
		s.intent, s.bare, s.focus = list, true, s.phrase(0)
	}
	return s
}

// asks sets intent and focus if one of the patterns matches.
func (s *shape) asks(want intent, patterns ...string) bool {
	i, j := s.says(patterns...)
	if i >= 0 {
		s.intent, s.focus = want, s.phrase(j)
	}
	return i >= 0
}

// says finds one of the patterns and marks its words as explained.
func (s *shape) says(patterns ...string) (start, end int) {
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

// begins reports whether the question begins with one of the words.
func (s *shape) begins(words string) bool { return s.is(0, words) }

// is reports whether the word at i is one of the words.
func (s *shape) is(i int, words string) bool {
	return i >= 0 && i < len(s.q) && oneOf(s.q[i].low, words)
}

// phrase is the run of words from i on, after articles and up to the next word
// of grammar; of "kinds of work" it is the work.
func (s *shape) phrase(i int) span {
	q := s.q
	for i < len(q) && q[i].stop && !q[i].brk && !s.is(i, auxiliaries+"|and|or|who|which|what") {
		i++
	}
	if s.is(i, "kinds|types|sorts") && s.is(i+1, "of") && i+2 < len(q) {
		i += 2
	}
	j := i
	for j < len(q) && !q[j].stop && (j == i || !q[j].brk && !verbs[q[j].low]) {
		j++
	}
	return span{i, j}
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

// negations marks the words after "no", "without", "not" up to the end of the
// clause ("not patched in Oslo" denies the patch, not Oslo), what is switched
// off, and what must not be matched: "instead of groups", "i.e. groups".
func (s *shape) negations() {
	if i, j := s.says("instead of", "rather than"); i >= 0 {
		mark(s.aside, i, s.phrase(j)[1])
	}
	if i, _ := s.says("ie"); i >= 0 {
		mark(s.aside, i, len(s.q))
	}
	on, said := false, false
	for i, w := range s.q {
		s.consumed[i] = s.consumed[i] || s.aside[i]
		ends := w.brk || s.is(i, "and|but|that|which") || said && s.is(i, "in|at|on|of|from")
		on = on && !ends && !s.consumed[i]
		s.neg[i], said = on, on && (said || w.content() && !verbs[w.low])
		if s.is(i, negations) || w.low == "than" && s.is(i-1, "other") || w.low == "from" && s.is(i-1, "apart|aside") ||
			w.low == "of" && s.is(i-1, "out") {
			on, said = !s.consumed[i], false
		}
	}
	if i, _ := s.says("off|disabled|disable|deactivated|unset|inactive"); i >= 0 {
		s.off = !s.aside[i]
	}
}

// groups finds the words after per, by, for each.
func (s *shape) groups() {
	for _, p := range []string{"per", "for|in|of|on|at|across each|every", "by", "each|every"} {
		for i, j := find(s.q, 0, p); i >= 0; i, j = find(s.q, j, p) {
			if of := s.phrase(j); !of.empty() && of[0] <= j+2 {
				s.by = of
				mark(s.consumed, i, j)
				return
			}
			s.each = s.each || s.is(j-1, "each")
		}
	}
}

// asksMetric matches "how much", "average X", "what did X cost in total".
func (s *shape) asksMetric() bool {
	if s.asks(metric, "how much|long|old|big|large|fast|heavy|hot") {
		if s.metric = "sum"; s.focus.empty() {
			s.focus[1] = len(s.q)
		}
		return true
	}
	how, _ := find(s.q, 0, "how many")
	for i, w := range s.q {
		m, last := metrics[w.low], i+1 == len(s.q) || s.q[i+1].brk
		which, _ := find(s.q[:i], 0, "which|who")
		if m == "" || which >= 0 || m == "sum" && (how >= 0 || w.low == "total" && !last && s.is(i+1, "number|count|of")) {
			continue
		}
		if s.intent, s.metric, s.focus = metric, m, s.phrase(i+1); last {
			s.focus = span{0, i}
		}
		s.consumed[i] = true
		return true
	}
	return false
}

// asksShare does not match "more than 90 percent" and "cpu_percent", which are a condition
// and a field.
func (s *shape) asksShare() bool {
	i, _ := find(s.q, 0, shares)
	how, _ := find(s.q, 0, "how many")
	return i >= 0 && how < 0 && (i == 0 || s.q[i-1].digits() == "") && !strings.Contains(s.q[i].raw, "_") && s.asks(share, shares)
}

// asksTop matches "which X has the most Y", "the most common X", "top 5 X" and "the
// longest X", where the superlative names the measure.
func (s *shape) asksTop() bool {
	i, j := find(s.q, 0, largest+"|"+smallest+"|"+measures)
	if i < 0 || s.is(i-1, "at") {
		return false
	}
	s.intent, s.least, s.amount = top, s.is(i, smallest+"|"+measuresLeast), s.is(i, "most|fewest|least")
	if s.is(i, measures) {
		s.measured, s.focus = span{i, j}, s.ranked(i, s.phrase(j))
		return true
	}
	for _, k := range []int{i - 1, j} {
		if s.takeN(k) {
			i, j = min(i, k), max(j, k+1)
		}
	}
	if s.begins("which|what|list|show|name") && s.topN == 0 {
		s.takeN(1)
	}
	if j < len(s.q) && oneOf(metrics[s.q[j].low], "avg|sum|p50") {
		s.metric, j = metrics[s.q[j].low], j+1
	}
	for s.is(j, "common|frequent|frequently|popular|used|often|commonly|prevalent|number|of|granted|widely") {
		j++
	}
	mark(s.consumed, i, j)
	s.measured = s.phrase(j)
	s.focus = s.ranked(i, s.measured)
	return true
}

// takeN parses the word at k as the number of results.
func (s *shape) takeN(k int) bool {
	if k < 0 || k >= len(s.q) || s.q[k].digits() == "" {
		return false
	}
	s.topN, _ = strconv.Atoi(s.q[k].digits())
	s.aside[k], s.consumed[k] = true, true
	return true
}

// ranked returns the words that the superlative at i ranks: "which X supplies the most",
// "X with the most", or else the words after it.
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
			mark(s.consumed, of[1], i)
			return of
		}
	}
	if before, _ := find(s.q[:i], max(0, i-2), "with|have|has|having"); before >= 0 {
		return s.phraseBefore(before)
	}
	return after
}

// asksCompare matches "X vs Y", "more X than Y"; "3 or more" is a condition.
func (s *shape) asksCompare() bool {
	if s.asks(compare, "vs|versus", "compared to|with", "compare", "difference between") {
		return true
	}
	more, next := find(s.q, 0, "more|fewer|bigger|larger|smaller")
	or, _ := find(s.q, 0, "or")
	than, j := find(s.q, max(next, 0), "than")
	amount := or > 0 && s.q[or-1].digits() != "" || than > 0 && than == next && j < len(s.q) && s.q[j].digits() != ""
	if more >= 0 && !amount && (or >= 0 || than > 0) {
		s.intent = compare
	}
	return s.intent == compare
}

// asksList matches "which X", "list the X", "is there an X? Which one?".
func (s *shape) asksList() bool {
	how, _ := find(s.q, 0, "how many")
	for i, w := range s.q {
		order := s.is(i, "list|show|name") && (w.brk || s.is(i-1, "please|you|and|to|then"))
		ask := s.is(i, "which|what|who|where") && (how < 0 || i < how || s.is(i-1, "and"))
		number, _ := find(s.q[:min(len(s.q), i+5)], i, "number|count")
		if !ask && !order || number >= 0 {
			continue
		}
		s.intent, s.focus = list, s.phrase(i+1)
		switch {
		case w.low == "where":
			s.focus = span{i, i + 1}
		case s.is(i+1, "one|ones"):
			s.focus = s.phrase(1)
			mark(s.consumed, i, i+2)
		}
		if how >= 0 || s.each || !s.by.empty() {
			s.intent = breakdown
		}
		return true
	}
	return false
}
