package offline

import (
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
	offAt    int    // the token that says so
	counted  bool   // "how many" or "number of" stands before the focus
	common   bool   // the most common value is asked for, not the largest
	metric   string // avg, sum, min, max, p50
	amount   bool   // the most of something is asked for, not the highest
	person   bool   // it is asked who
	bare     bool   // there is no question word: "hosts in Oslo"
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
	for j < len(q) && !q[j].stop && (j == i || !q[j].brk && !verbs[q[j].low] && !(q[j].low == "host" && strings.HasSuffix(q[j-1].low, "s"))) {
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
	for _, p := range []string{"instead of", "rather than", "as opposed to"} {
		if i, j := find(q, 0, p); i >= 0 {
			s.putAside(i, phrase(q, j)[1])
		}
	}
}

// denials marks what follows "no", "without", "not" up to the end of the
// clause.
func (s *shape) denials(q []token) {
	on, said := false, false
	for i, t := range q {
		if on && said && oneOf(t.low, "in|at|on|of|from") {
			on = false // "not patched in Oslo" denies the patch, not Oslo
		}
		s.neg[i] = on && !t.brk && !oneOf(t.low, "and|but|that|which")
		said = s.neg[i] && (said || !t.stop && !fillers[t.low] && !verbs[t.low])
		switch {
		case s.consumed[i]:
			on = false
		case oneOf(t.low, "no|not|without|lack|lacks|lacking|missing|never|none|neither|nor|non|outside|except|excluding|besides"), excepts(q, i):
			on = true
		case t.brk || oneOf(t.low, "and|but|that|which"):
			on = false
		}
		if oneOf(t.low, "off|disabled|disable|deactivated|unset|inactive") && !s.consumed[i] {
			s.off, s.offAt = true, i
			s.consume(i, i+1)
		}
	}
}

// passive says whether "by" at i follows what is done: "used by".
func passive(q []token, i int) bool {
	return i > 0 && !q[i].brk && (strings.HasSuffix(q[i-1].low, "ed") || oneOf(q[i-1].low, "made|held|run")) && !sorting[q[i-1].low]
}

// excepts says whether "other than" or "apart from" ends at i.
func excepts(q []token, i int) bool {
	return i > 0 && (oneOf(q[i].low, "than") && oneOf(q[i-1].low, "other") || oneOf(q[i].low, "from") && oneOf(q[i-1].low, "apart|aside"))
}

// groups finds the words after per, by, for each.
func (s *shape) groups(q []token) {
	for _, p := range []string{"per", "for|in|of|on|at|across each|every|all", "by", "each|every"} {
		for i, j := find(q, 0, p); i >= 0; i, j = find(q, j, p) {
			span := phrase(q, j)
			if oneOf(q[i].low, "by") && (j < len(q) && q[j].low == "how" || passive(q, i)) {
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
