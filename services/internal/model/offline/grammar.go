package offline

import (
	"strconv"
	"strings"
)

// intent is what kind of answer a question wants.
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

// conditional says whether the answer is about records that meet a condition.
func (i intent) conditional() bool {
	return i == count || i == share || i == yesno || i == all
}

// shape is what a question's grammar says, whatever it is about.
type shape struct {
	intent   intent
	topN     int    // how many of the top are asked for; 0 for one
	least    bool   // the fewest instead of the most
	focus    [2]int // the words asked for: "how many FOCUS", "which FOCUS"
	by       [2]int // the words after per, by, each
	each     bool   // the number of each is asked for
	off      bool   // something is asked for that is switched off
	counted  bool   // "how many" or "number of" stands before the focus
	common   bool   // the most common value is asked for, not the largest
	metric   string // avg, sum, min, max, p50
	neg      []bool // tokens that are denied
	aside    []bool // tokens that are expressly not meant
	consumed []bool // tokens that grammar explains
	heard    bool   // there is a question word or order at all
	measured [2]int // the words after "the most", "the highest"
}

func (s *shape) consume(from, to int) {
	for i := from; i < to && i < len(s.consumed); i++ {
		s.consumed[i] = true
	}
}

func (s *shape) putAside(from, to int) {
	s.consume(from, to)
	for i := from; i < to && i < len(s.aside); i++ {
		s.aside[i] = true
	}
}

// parse finds the shape of a question.
func parse(q []token) shape {
	s := shape{neg: make([]bool, len(q)), aside: make([]bool, len(q)), consumed: make([]bool, len(q))}
	s.asides(q)
	s.denials(q)
	s.groups(q)
	for _, rule := range rules {
		if rule(q, &s) {
			s.heard = true
			break
		}
	}
	return s
}

// rules are tried in order; the first that holds decides the intent.
var rules = []func([]token, *shape) bool{
	asksFields, asksOverview, asksMetric, asksShare, asksTop, asksCompare, asksAll, asksList, asksCount, asksYesNo, asksBreakdown,
}

// find gives where the words of pattern stand in q from the token from on;
// alternatives are separated by a stroke. -1 when they do not.
func find(q []token, from int, pattern string) (start, end int) {
	words := strings.Fields(pattern)
	for i := from; i+len(words) <= len(q); i++ {
		ok := true
		for k, w := range words {
			if !oneOf(q[i+k].low, w) || k > 0 && q[i+k].brk {
				ok = false
				break
			}
		}
		if ok {
			return i, i + len(words)
		}
	}
	return -1, -1
}

func oneOf(low, alternatives string) bool {
	for alt := range strings.SplitSeq(alternatives, "|") {
		if low == alt {
			return true
		}
	}
	return false
}

// phrase is the run of words from i on, after articles and up to the next
// word of grammar.
func phrase(q []token, i int) [2]int {
	for i < len(q) && q[i].stop && !q[i].brk && !oneOf(q[i].low, "do|does|did|are|is|was|were|have|has|and|or|who|which|what") {
		i++
	}
	j := i
	for j < len(q) && !q[j].stop && (j == i || !q[j].brk) {
		j++
	}
	return [2]int{i, j}
}

// asides takes out explanations and what is expressly not meant: "i.e. …",
// "instead of groups".
func (s *shape) asides(q []token) {
	for i := range q {
		if i+1 < len(q) && q[i].word == q[i+1].word && (q[i].low == "i" && q[i+1].low == "e" || q[i].low == "e" && q[i+1].low == "g") {
			s.putAside(i, len(q))
			return
		}
	}
	for _, p := range []string{"instead of", "rather than", "as opposed to", "not counting"} {
		if i, j := find(q, 0, p); i >= 0 {
			s.putAside(i, phrase(q, j)[1])
		}
	}
}

// denials marks what follows "no", "without", "not" up to the end of the
// clause.
func (s *shape) denials(q []token) {
	on := false
	for i, t := range q {
		s.neg[i] = on && !t.brk && !oneOf(t.low, "and|but|that|which")
		switch {
		case s.consumed[i]:
			on = false
		case oneOf(t.low, "no|not|without|lack|lacks|lacking|missing|never|none|neither|nor|non"):
			on = true
		case t.brk || oneOf(t.low, "and|but|that|which"):
			on = false
		}
		if oneOf(t.low, "off|disabled|disable|deactivated|unset|inactive") && !s.consumed[i] {
			s.off = true
			s.consume(i, i+1)
		}
	}
}

// groups finds the words after per, by, for each.
func (s *shape) groups(q []token) {
	for _, p := range []string{"per", "for|in|of|on|at|across each|every|all", "by", "each|every"} {
		for i, j := find(q, 0, p); i >= 0; i, j = find(q, j, p) {
			span := phrase(q, j)
			if oneOf(q[i].low, "by") && j < len(q) && q[j].low == "how" {
				continue
			}
			if p == "for|in|of|on|at|across each|every|all" && q[j-1].low == "all" {
				continue
			}
			if span[0] < span[1] && span[0] <= j+2 {
				s.by = span
				s.consume(i, j)
				if p != "by" || s.by[1] > 0 {
					return
				}
			} else if oneOf(q[j-1].low, "each") {
				s.each = true
			}
		}
	}
}

func asksFields(q []token, s *shape) bool {
	i, j := find(q, 0, "field|fields|column|columns|attribute|attributes|schema")
	if i < 0 {
		i, j = find(q, 0, "what information|details|info")
	}
	if i < 0 {
		i, j = find(q, 0, "what do we|you know|record|store about|on|of|for|per")
		if i < 0 {
			i, j = find(q, 0, "what is known about|on|of")
		}
	}
	if i < 0 {
		return false
	}
	if n, _ := find(q, 0, "how many"); n >= 0 {
		return false
	}
	s.intent = fields
	s.consume(i, j)
	s.focus = [2]int{0, len(q)}
	return true
}

func asksOverview(q []token, s *shape) bool {
	for _, p := range []string{"overview|summary|summarise|summarize|summarised", "what data|kind|is|do", "describe|outline", "what arrays|collections|tables"} {
		i, j := find(q, 0, p)
		if i < 0 {
			continue
		}
		if p != "what data|kind|is|do" {
			s.consume(i, j)
			s.intent = overview
			return true
		}
		if onlyGeneric(q) {
			s.intent = overview
			return true
		}
	}
	return false
}

// onlyGeneric says whether no word of q but fillers carries meaning.
func onlyGeneric(q []token) bool {
	for _, t := range q {
		if !t.stop && !fillers[t.stem] {
			return false
		}
	}
	return true
}

func asksShare(q []token, s *shape) bool {
	i, j := find(q, 0, "share|percentage|percent|fraction|proportion|portion|ratio|%")
	if n, _ := find(q, 0, "how many"); i < 0 || n >= 0 && n < i-2 {
		return false
	}
	s.intent = share
	s.consume(i, j)
	s.focus = phrase(q, j)
	return true
}

var metrics = map[string]string{
	"average": "avg", "mean": "avg", "avg": "avg", "median": "p50", "sum": "sum", "combined": "sum", "minimum": "min",
	"maximum": "max", "smallest": "min", "lowest": "min", "largest": "max", "highest": "max", "biggest": "max", "min": "min", "max": "max",
}

func asksMetric(q []token, s *shape) bool {
	if i, j := find(q, 0, "how much|long|old|big|large|fast|expensive|heavy|hot"); i >= 0 {
		s.intent, s.metric = metric, "sum"
		s.focus = [2]int{i + 1, phrase(q, j)[1]}
		if oneOf(q[j-1].low, "much") {
			s.focus[0] = j
			s.consume(i, j)
		}
		return true
	}
	for i, t := range q {
		m, ok := metrics[t.low]
		if !ok {
			continue
		}
		if i+1 < len(q) && oneOf(q[i+1].low, "number|count|share|amount") {
			return false
		}
		s.metric = m
		s.intent = metric
		s.consume(i, i+1)
		s.focus = phrase(q, i+1)
		return true
	}
	return false
}

// asksTop understands "which X has the most Y", "the most common X", "top 5 X".
func asksTop(q []token, s *shape) bool {
	for i, t := range q {
		if !oneOf(t.low, "most|top|fewest|least|highest|largest|biggest") || i > 0 && oneOf(q[i-1].low, "at") {
			continue
		}
		s.intent = top
		s.least = oneOf(t.low, "fewest|least")
		s.consume(i, i+1)
		s.topN = numberAround(q, i, s)
		j := i + 1
		if s.topN > 0 && j < len(q) && q[j].digits() != "" {
			j++
		}
		for j < len(q) && oneOf(q[j].low, "common|frequent|frequently|popular|used|often|commonly|numerous|prevalent|widespread|number|of|granted|widely") {
			s.common = s.common || !oneOf(q[j].low, "number|of")
			s.consume(j, j+1)
			j++
		}
		s.measured = phrase(q, j)
		s.focus = topFocus(q, i, j)
		return true
	}
	return false
}

// topFocus is what the ranking is of: what stands after "which" or before
// "with the most"; otherwise what follows "most common".
func topFocus(q []token, i, j int) [2]int {
	for k := i - 1; k >= 0; k-- {
		if oneOf(q[k].low, "which|what|who|list|show|name") {
			if span := phrase(q, k+1); span[0] < span[1] && span[1] <= i {
				return span
			}
		}
	}
	if i > 1 && (q[i-1].low == "the" && oneOf(q[i-2].low, "with|have|has|having") || oneOf(q[i-1].low, "with|has|have")) {
		return phraseBefore(q, i-1)
	}
	return phrase(q, j)
}

func phraseBefore(q []token, end int) [2]int {
	for end > 0 && q[end-1].stop {
		end--
	}
	i := end
	for i > 0 && !q[i-1].stop {
		i--
	}
	return [2]int{i, end}
}

// numberAround gives the number just before or after i: "top five", "five most".
func numberAround(q []token, i int, s *shape) int {
	for _, k := range []int{i + 1, i - 1} {
		if k < 0 || k >= len(q) {
			continue
		}
		if n, err := strconv.Atoi(q[k].digits()); err == nil && n > 0 && n <= 1000 {
			s.putAside(k, k+1)
			return n
		}
	}
	return 0
}

func asksCompare(q []token, s *shape) bool {
	for _, p := range []string{"vs|versus", "compared to|with", "compare", "difference between", "or", "who|which|what has|have|is|are more|fewer|bigger|smaller"} {
		i, j := find(q, 0, p)
		if i < 0 {
			continue
		}
		if p == "or" {
			if k, _ := find(q, 0, "more|fewer|bigger|larger|smaller|difference"); k < 0 {
				continue
			}
		} else {
			s.consume(i, j)
		}
		s.intent = compare
		return true
	}
	if i, _ := find(q, 0, "more|fewer"); i >= 0 {
		if j, k := find(q, i, "than"); j >= 0 && k < len(q) && q[k].digits() == "" {
			s.intent = compare
			return true
		}
	}
	return false
}

func asksAll(q []token, s *shape) bool {
	if len(q) < 3 || !oneOf(q[0].low, "are|is|do|does|have|has|did|were") {
		return false
	}
	i, j := find(q, 1, "all|every|each|everything")
	if i < 0 {
		return false
	}
	s.intent = all
	s.focus = phrase(q, j)
	s.by = [2]int{}
	return true
}

func asksCount(q []token, s *shape) bool {
	i, j := find(q, 0, "how many")
	if i < 0 {
		i, j = find(q, 0, "number|count|total of|the")
	}
	if i < 0 {
		i, j = find(q, 0, "count|total")
	}
	if i < 0 {
		return false
	}
	s.intent = count
	for k := j; k < len(q) && k <= j+3; k++ {
		if oneOf(q[k].low, "different|distinct|unique|separate") {
			s.intent = distinct
			s.consume(j, k+1)
			j = k + 1
			break
		}
	}
	s.consume(i, j)
	s.focus = phrase(q, j)
	s.counted = s.intent == count
	if s.by[1] > 0 && s.intent == count {
		s.intent = breakdown
	}
	return true
}

func asksYesNo(q []token, s *shape) bool {
	if len(q) == 0 || !oneOf(q[0].low, "is|are|do|does|has|have|did|was|were|any|can") {
		return false
	}
	s.intent = yesno
	s.focus = phrase(q, 1)
	return true
}

func asksList(q []token, s *shape) bool {
	hm, _ := find(q, 0, "how many")
	for i, t := range q {
		if !oneOf(t.low, "which|what|who|where") && !(oneOf(t.low, "list|show|name") && orders(q, i)) {
			continue
		}
		if asksNumber(q, i) {
			continue
		}
		if oneOf(t.low, "which|what|who") && i > 0 && hm >= 0 && hm < i && !oneOf(q[i-1].low, "and") {
			continue
		}
		s.focus = phrase(q, i+1)
		s.intent = list
		if t.low == "which" && i+1 < len(q) && oneOf(q[i+1].low, "one|ones") {
			s.consume(i, i+2)
			s.focus = phrase(q, 1)
			return true
		}
		if t.low == "where" {
			s.focus = [2]int{i, i + 1}
		}
		if hm >= 0 || s.each {
			s.intent = breakdown
		}
		return true
	}
	return false
}

// asksNumber says whether "what" at i goes on to "the number of".
func asksNumber(q []token, i int) bool {
	for k := i + 1; k < len(q) && k <= i+4; k++ {
		if oneOf(q[k].low, "number|count") {
			return true
		}
		if !q[k].stop && !oneOf(q[k].low, "total|overall") {
			return false
		}
	}
	return false
}

// orders says whether the verb at i is an order, not a noun or a description.
func orders(q []token, i int) bool {
	return i == 0 || q[i].first || oneOf(q[i-1].low, "please|you|and|to|then")
}

func asksBreakdown(q []token, s *shape) bool {
	if i, j := find(q, 0, "distribution|breakdown|split"); i >= 0 {
		s.intent = breakdown
		s.consume(i, j)
		if j < len(q) && oneOf(q[j].low, "of") {
			s.focus = phrase(q, j)
		} else {
			s.focus = phraseBefore(q, i)
		}
		return true
	}
	if s.by[1] > 0 {
		s.intent = breakdown
		return true
	}
	return false
}
