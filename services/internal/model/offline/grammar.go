package offline

import "slices"

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
func (i intent) conditional() bool { return i == count || i == share || i == yesno || i == all }

// shape is what a question's grammar says, whatever it is about.
type shape struct {
	q        []word
	intent   intent
	focus    span   // the words asked for: "how many FOCUS", "which FOCUS"
	by       span   // the words after per, by, each
	measured span   // the words after "the most", "the highest"
	metric   string // avg, sum, min, max, p50
	topN     int    // how many of the top are asked for; 0 for one
	least    bool   // the fewest instead of the most
	amount   bool   // the most of something is asked for, not the highest
	each     bool   // the number of each is asked for
	bare     bool   // there is no question word: "hosts in Oslo"
	off      bool   // something is asked for that is switched off
	neg      []bool // words that are denied
	aside    []bool // words that are expressly not meant
	consumed []bool // words that grammar explains
}

func mark(words []bool, from, to int) {
	for i := from; i < to && i < len(words); i++ {
		words[i] = true
	}
}

// says looks for one of the patterns anywhere, and marks it as explained.
func (s *shape) says(patterns ...string) (start, end int) {
	for _, p := range patterns {
		if start, end = find(s.q, 0, p); start >= 0 {
			mark(s.consumed, start, end)
			return start, end
		}
	}
	return -1, -1
}

// asks sets the intent and the focus behind, when one of the patterns is there.
func (s *shape) asks(want intent, patterns ...string) bool {
	i, j := s.says(patterns...)
	if i >= 0 {
		s.intent, s.focus = want, s.phrase(j)
	}
	return i >= 0
}

// begins says whether the question begins with one of the words.
func (s *shape) begins(words string) bool { return len(s.q) > 0 && oneOf(s.q[0].low, words) }

const auxiliaries = "is|are|do|does|has|have|did|was|were"

// parse finds the shape of a question: the first rule that holds decides.
func parse(q []word) *shape {
	s := &shape{q: q, neg: make([]bool, len(q)), aside: make([]bool, len(q)), consumed: make([]bool, len(q))}
	s.denials()
	s.groups()
	switch {
	case s.asks(fields, "field|fields|column|columns|attribute|attributes|schema", "what information|details|info", "what is known about|on|of"):
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

// phrase is the run of words from i on, after articles and up to the next word
// of grammar; of "kinds of work" it is the work.
func (s *shape) phrase(i int) span {
	q := s.q
	for i < len(q) && q[i].stop && !q[i].brk && !oneOf(q[i].low, auxiliaries+"|and|or|who|which|what") {
		i++
	}
	if i+2 < len(q) && oneOf(q[i].low, "kinds|types|sorts") && q[i+1].low == "of" {
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

// denials marks what follows "no", "without", "not" up to the end of the
// clause ("not patched in Oslo" denies the patch, not Oslo), what is switched
// off, and what is expressly not meant: "instead of groups".
func (s *shape) denials() {
	if i, _ := s.says("ie"); i >= 0 {
		mark(s.aside, i, len(s.q))
		mark(s.consumed, i, len(s.q))
	}
	if i, j := s.says("instead of", "rather than"); i >= 0 {
		mark(s.aside, i, s.phrase(j)[1])
		mark(s.consumed, i, s.phrase(j)[1])
	}
	on, said := false, false
	for i, w := range s.q {
		ends := w.brk || oneOf(w.low, "and|but|that|which") || said && oneOf(w.low, "in|at|on|of|from")
		on = on && !ends && !s.consumed[i]
		s.neg[i], said = on, on && (said || w.content() && !verbs[w.low])
		except := i > 0 && (w.low == "than" && s.q[i-1].low == "other" || w.low == "from" && oneOf(s.q[i-1].low, "apart|aside"))
		if except || oneOf(w.low, "no|not|without|lack|lacks|lacking|missing|never|none|neither|nor|non|outside|except|excluding|besides") {
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
			of := s.phrase(j)
			if !of.empty() && of[0] <= j+2 {
				s.by = of
				mark(s.consumed, i, j)
				return
			}
			s.each = s.each || s.q[j-1].low == "each"
		}
	}
}
