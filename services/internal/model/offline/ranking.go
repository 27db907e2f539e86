package offline

import "strconv"

// asksTop understands "which X has the most Y", "the most common X", "top 5 X".
func asksTop(q []token, s *shape) bool {
	for i, t := range q {
		if !oneOf(t.low, "most|top|fewest|least|highest|largest|biggest|lowest|smallest") || i > 0 && oneOf(q[i-1].low, "at") {
			continue
		}
		s.intent = top
		s.least = oneOf(t.low, "fewest|least|lowest|smallest")
		s.consume(i, i+1)
		s.topN = numberAround(q, i, s)
		j := i + 1
		if s.topN > 0 && j < len(q) && q[j].digits() != "" {
			j++
		}
		if j < len(q) && oneOf(metrics[q[j].low], "avg|sum|p50") {
			s.metric = metrics[q[j].low]
			s.consume(j, j+1)
			j++
		}
		s.amount = oneOf(t.low, "most|fewest|least")
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
