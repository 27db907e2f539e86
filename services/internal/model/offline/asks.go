package offline

import (
	"strconv"
	"strings"
)

var metrics = map[string]string{
	"average": "avg", "mean": "avg", "avg": "avg", "median": "p50", "sum": "sum", "combined": "sum", "total": "sum", "altogether": "sum",
	"minimum": "min", "maximum": "max", "smallest": "min", "lowest": "min", "largest": "max", "highest": "max", "biggest": "max", "min": "min", "max": "max",
}

func (s *shape) asksMetric() bool {
	if s.asks(metric, "how much|long|old|big|large|fast|heavy|hot") {
		if s.metric = "sum"; s.focus.empty() {
			s.focus = span{s.focus[0], len(s.q)}
		}
		return true
	}
	how, _ := find(s.q, 0, "how many")
	for i, w := range s.q {
		last := i+1 == len(s.q) || s.q[i+1].brk
		which, _ := find(s.q[:i], 0, "which|who")
		if metrics[w.low] == "" || which >= 0 || metrics[w.low] == "sum" && (how >= 0 || !last && w.low == "total" && oneOf(s.q[i+1].low, "number|count|of")) {
			continue
		}
		s.intent, s.metric, s.focus = metric, metrics[w.low], s.phrase(i+1)
		if last {
			s.focus = span{0, i} // "what did the jobs cost in total"
		}
		s.consumed[i] = true
		return true
	}
	return false
}

func (s *shape) asksShare() bool {
	i, _ := find(s.q, 0, "share|percentage|percent|fraction|proportion|portion|ratio")
	how, _ := find(s.q, 0, "how many")
	if i < 0 || how >= 0 || i > 0 && s.q[i-1].digits() != "" || strings.Contains(s.q[i].raw, "_") {
		return false // "more than 90 percent" is a condition, "cpu_percent" a field
	}
	return s.asks(share, "share|percentage|percent|fraction|proportion|portion|ratio")
}

// asksTop understands "which X has the most Y", "the most common X", "top 5 X".
func (s *shape) asksTop() bool {
	i, j := find(s.q, 0, "most|top|fewest|least|highest|largest|biggest|lowest|smallest")
	if i < 0 || i > 0 && s.q[i-1].low == "at" {
		return false
	}
	w := s.q[i].low
	s.intent, s.least, s.amount = top, oneOf(w, "fewest|least|lowest|smallest"), oneOf(w, "most|fewest|least")
	for _, k := range []int{i - 1, j} {
		if k >= 0 && k < len(s.q) && s.q[k].digits() != "" {
			s.topN, _ = strconv.Atoi(s.q[k].digits())
			mark(s.aside, k, k+1)
			i, j = min(i, k), max(j, k+1)
		}
	}
	if j < len(s.q) && oneOf(metrics[s.q[j].low], "avg|sum|p50") {
		s.metric, j = metrics[s.q[j].low], j+1
	}
	for j < len(s.q) && oneOf(s.q[j].low, "common|frequent|frequently|popular|used|often|commonly|prevalent|number|of|granted|widely") {
		j++
	}
	mark(s.consumed, i, j)
	s.measured, s.focus = s.phrase(j), s.phrase(j)
	if before, _ := find(s.q[:i], max(0, i-2), "with|have|has|having"); before >= 0 {
		s.focus = s.phraseBefore(before) // "X with the most"
	}
	for k := i - 1; k >= 0; k-- {
		of := s.phrase(k + 1)
		if s.q[k].low == "where" {
			of = span{k, k + 1}
		}
		if of[1]-of[0] > 1 && of[1]+1 == i && s.q[i-1].low == "the" {
			of[1]-- // the verb: "which vendor supplies the most"
		}
		if oneOf(s.q[k].low, "which|what|who|list|show|name|where") && !of.empty() && of[1] <= i {
			s.focus = of
			mark(s.consumed, of[1], i)
			break
		}
	}
	return true
}

func (s *shape) asksCompare() bool {
	if s.asks(compare, "vs|versus", "compared to|with", "compare", "difference between") {
		return true
	}
	more, next := find(s.q, 0, "more|fewer|bigger|larger|smaller")
	or, _ := find(s.q, 0, "or")
	than, j := find(s.q, max(next, 0), "than")
	amount := or > 0 && s.q[or-1].digits() != "" || than > 0 && than == next && j < len(s.q) && s.q[j].digits() != "" // "3 or more", "more than 3"
	if more >= 0 && !amount && (or >= 0 || than > 0) {
		s.intent = compare
	}
	return s.intent == compare
}

func (s *shape) asksList() bool {
	how, _ := find(s.q, 0, "how many")
	for i, w := range s.q {
		order := oneOf(w.low, "list|show|name") && (w.brk || oneOf(s.q[i-1].low, "please|you|and|to|then"))
		ask := oneOf(w.low, "which|what|who|where") && (how < 0 || i < how || s.q[i-1].low == "and")
		number, _ := find(s.q[:min(len(s.q), i+5)], i, "number|count")
		if !ask && !order || number >= 0 {
			continue
		}
		s.intent, s.focus = list, s.phrase(i+1)
		switch {
		case w.low == "where":
			s.focus = span{i, i + 1}
		case i+1 < len(s.q) && oneOf(s.q[i+1].low, "one|ones"):
			s.focus = s.phrase(1) // "is there an X? Which one?"
			mark(s.consumed, i, i+2)
		}
		if how >= 0 || s.each || !s.by.empty() {
			s.intent = breakdown
		}
		return true
	}
	return false
}
