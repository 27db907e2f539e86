package offline

import "strings"

// rules are tried in order; the first that holds decides the intent.
var rules = []func([]token, *shape) bool{
	asksFields, asksOverview, asksMetric, asksShare, asksTop, asksCompare, asksAll, asksList, asksCount, asksYesNo, asksBreakdown, asksBare,
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
		if !t.stop && !fillers[t.low] {
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
	if i > 0 && q[i-1].digits() != "" || strings.Contains(q[i].raw, "_") {
		return false // "more than 90 percent" is a condition, "cpu_percent" a field
	}
	s.intent = share
	s.consume(i, j)
	s.focus = phrase(q, j)
	return true
}

var metrics = map[string]string{
	"average": "avg", "mean": "avg", "avg": "avg", "median": "p50", "sum": "sum", "combined": "sum", "total": "sum", "minimum": "min",
	"maximum": "max", "smallest": "min", "lowest": "min", "largest": "max", "highest": "max", "biggest": "max", "min": "min", "max": "max",
}

func asksMetric(q []token, s *shape) bool {
	if i, j := find(q, 0, "how much|long|old|big|large|fast|expensive|heavy|hot"); i >= 0 {
		s.intent, s.metric = metric, "sum"
		s.focus = [2]int{i + 1, phrase(q, j)[1]}
		if oneOf(q[j-1].low, "much") {
			if s.focus = phrase(q, j); s.focus[0] == s.focus[1] {
				s.focus = [2]int{j, len(q)}
			}
			s.consume(i, j)
		}
		return true
	}
	how, _ := find(q, 0, "how many")
	for i, t := range q {
		m, ok := metrics[t.low]
		if !ok || t.low == "total" && (how >= 0 || i+1 == len(q) || q[i+1].brk || oneOf(q[i+1].low, "number|count|of|the")) {
			continue
		}
		if w, _ := find(q[:i], 0, "which|who"); w >= 0 {
			return false
		}
		j := i + 1
		if j < len(q) && oneOf(q[j].low, "number|count|share|amount") {
			if j++; j < len(q) && q[j].low == "of" {
				j++
			}
		}
		s.metric = m
		s.intent = metric
		s.consume(i, j)
		s.focus = phrase(q, j)
		return true
	}
	return false
}

func asksCompare(q []token, s *shape) bool {
	for _, p := range []string{"vs|versus", "compared to|with", "compare", "difference between", "or", "who|which|what has|have|is|are more|fewer|bigger|smaller"} {
		i, j := find(q, 0, p)
		if i < 0 {
			continue
		}
		if p == "or" {
			if j < len(q) && i > 0 && q[i-1].digits() != "" && oneOf(q[j].low, "more|less|fewer|later|earlier|newer|older|higher|lower") {
				continue
			}
			if k, _ := find(q, 0, "more|fewer|bigger|larger|smaller|difference"); k < 0 || limits(q, k) {
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

// limits says whether "more" at k goes on to "than 8": it bounds a number.
func limits(q []token, k int) bool {
	return k+2 < len(q) && q[k+1].low == "than" && q[k+2].digits() != ""
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
		if oneOf(t.low, "which|what|who") && i > 0 && hm >= 0 && hm < i && !oneOf(q[i-1].low, "and") && !(i > 1 && q[i-2].low == "and") {
			continue
		}
		s.focus = phrase(q, i+1)
		s.intent, s.person = list, t.low == "who"
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

// asksBare takes a phrase without a question word for a list of the records
// that it describes.
func asksBare(q []token, s *shape) bool {
	if len(q) < 2 {
		return false
	}
	s.intent, s.bare = list, true
	s.focus = phrase(q, 0)
	return true
}

// orders says whether the verb at i is an order, not a noun or a description.
func orders(q []token, i int) bool {
	return i == 0 || q[i].first || oneOf(q[i-1].low, "please|you|and|to|then")
}

func asksBreakdown(q []token, s *shape) bool {
	if i, j := find(q, 0, "distribution|breakdown|split"); i >= 0 {
		s.intent = breakdown
		s.consume(i, j)
		if s.focus = phraseBefore(q, i); s.focus[0] == s.focus[1] {
			s.focus = phrase(q, j)
		}
		return true
	}
	if s.by[1] > 0 {
		s.intent = breakdown
		return true
	}
	if i, j := find(q, 1, "with|and counts|numbers|count"); i > 0 {
		s.intent, s.focus = breakdown, phrase(q, 0)
		s.consume(i, j)
		return true
	}
	return false
}
