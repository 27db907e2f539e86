package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// stats is the result of compute_stats, as it stands in the conversation.
type stats struct {
	Groups     map[string]*float64 `json:"groups"`
	Total      *float64            `json:"total"` // nil: an average of nothing
	GroupCount int                 `json:"group_count"`
	Truncated  bool                `json:"truncated"`
	Error      any                 `json:"error"`
	hits       *float64            // records that meet the goals, when a call of its own counts them
}

// line is one group of a result.
type line struct {
	label string
	n     float64
}

// more is how many groups with a value the result left out.
func (s stats) more() int {
	n := len(s.Groups)
	if _, ok := s.Groups[absent]; ok {
		n--
	}
	if !s.Truncated {
		return 0
	}
	return s.GroupCount - n
}

func (s stats) total() float64 { return s.sum("") }

// sum adds the groups with those labels; "" is the total.
func (s stats) sum(labels ...string) (n float64) {
	for _, label := range labels {
		g := s.Groups[label]
		if label == "" {
			g = s.Total
		}
		if g != nil {
			n += *g
		}
	}
	return n
}

// lines are the groups that have a value, the largest first.
func (s stats) lines() []line {
	var out []line
	for _, label := range slices.Sorted(maps.Keys(s.Groups)) {
		if n := s.Groups[label]; label != absent && n != nil {
			out = append(out, line{label, *n})
		}
	}
	slices.SortStableFunc(out, func(a, b line) int { return cmp.Compare(b.n, a.n) })
	return out
}

// text is the plan's answer, from the results of its steps.
func (p plan) text(arrays []*array, results []json.RawMessage) string {
	switch {
	case p.refuse != "":
		return p.refuse + "\n\n" + p.alternatives(arrays)
	case p.intent == overview:
		return overviewText(arrays, results)
	case p.intent == fields:
		return p.sayFields(results[0])
	}
	var s, goal stats
	err := json.Unmarshal(results[1], &s)
	if len(results) > 2 {
		err = cmp.Or(err, json.Unmarshal(results[2], &goal))
		s.hits = goal.Total
	}
	if err != nil || s.Error != nil || goal.Error != nil {
		return "The figures for this question could not be computed."
	}
	text := p.say(s)
	if len(p.ignored) > 0 {
		text += fmt.Sprintf("\nI left %s out of account: the data has no such field or value.", quoted(p.ignored))
	}
	if p.rival != nil {
		text += fmt.Sprintf("\nI took %s; %s could be meant as well.", p.measure.path, p.rival.path)
	}
	return text
}

func (p plan) say(s stats) string {
	lines := s.lines()
	switch {
	case p.intent.conditional():
		return p.sayCount(s)
	case p.intent == metric && s.Total == nil:
		return fmt.Sprintf("None of the %s has a number in %s.", p.records(2), p.measure.path)
	case p.intent == metric && p.group == nil:
		return fmt.Sprintf("%s: the %s of %s over the %s.", number(s.total()), metricNames[p.metric], p.measure.path, p.records(2))
	case p.intent == metric:
		return fmt.Sprintf("The %s of %s over the %s is %s; by %s:\n%s", metricNames[p.metric], p.measure.path, p.records(2), number(s.total()), p.group.path, bullets(lines, s.more()))
	case p.intent == compare:
		return p.sayCompare(s)
	case p.intent == distinct:
		return fmt.Sprintf("%d different values of %s among the %s.", len(lines)+s.more(), p.group.path, p.records(2))
	case len(lines) == 0:
		return fmt.Sprintf("None: 0 of %s have a value of %s.", number(s.total())+" "+p.records(2), p.group.path)
	case p.intent == top && p.least && s.more() > 0:
		return "There are too many values of " + p.group.path + " to tell the fewest."
	case p.intent == top:
		return p.sayTop(lines)
	case p.names:
		var labels []string
		for _, g := range lines[:min(len(lines), longList)] {
			labels = append(labels, g.label)
		}
		return fmt.Sprintf("%s %s: %s.%s", number(s.total()), p.records(s.total()), strings.Join(labels, ", "), more(len(lines)+s.more()))
	}
	text := fmt.Sprintf("%s %s by %s:\n%s", number(s.total()), p.records(s.total()), p.group.path, bullets(lines, s.more()))
	if n := s.sum(absent); n > 0 {
		text += fmt.Sprintf("\nWithout a value: %s.", number(n))
	}
	return text
}

// records names n of the plan's records: "hosts with role test and arch x64".
func (p plan) records(n float64, goals ...cond) string {
	if conds := slices.Concat(p.conds, goals); len(conds) > 0 {
		return p.array.noun(n) + " with " + wording(conds)
	}
	return p.array.noun(n)
}

func wording(conds []cond) string {
	var out []string
	for _, c := range conds {
		out = append(out, c.phrase)
	}
	return strings.Join(out, " and ")
}

// met is how many records of the result meet the goals.
func (p plan) met(s stats) float64 {
	if len(p.goals) == 0 {
		return s.total()
	}
	n, rest := s.sum(p.goals[0].labels...), p.goals[0].rest
	if s.hits != nil {
		n, rest = *s.hits, p.goals[0].filter == nil
	}
	if rest {
		n = s.total() - n
	}
	return n
}

// sayCount tells how many records there are or meet the goals, and what that
// says of a share, of any and of all.
func (p plan) sayCount(s stats) string {
	n, total := p.met(s), s.total()
	some := fmt.Sprintf("%s of %s %s have %s.", number(n), number(total), p.records(total), wording(p.goals))
	switch {
	case p.intent == share && total == 0:
		return fmt.Sprintf("There are no %s.", p.records(2))
	case p.intent == share:
		return fmt.Sprintf("%.1f%%: %s", 100*n/total, some)
	case p.intent == all && n == total && n > 0:
		return fmt.Sprintf("Yes: all %s %s have %s.", number(n), p.records(n), wording(p.goals))
	case p.intent == all:
		return "No: " + some
	case p.intent == count && len(p.goals) > 0:
		return some
	case p.intent == count:
		return fmt.Sprintf("%s %s.", number(n), p.records(n))
	}
	return fmt.Sprintf("%s: %s %s.", map[bool]string{true: "Yes", false: "No"}[n > 0], number(n), p.records(n, p.goals...))
}

// longList is how many lines an answer may have.
const longList = 200

func more(n int) string {
	if n <= longList {
		return ""
	}
	return fmt.Sprintf(" And %d more.", n-longList)
}

func bullets(lines []line, left int) string {
	var b strings.Builder
	for _, g := range lines[:min(len(lines), longList)] {
		fmt.Fprintf(&b, "- %s: %s\n", g.label, number(g.n))
	}
	return strings.TrimSpace(b.String() + more(len(lines)+left))
}

// sayTop tells the first of the lines, with those that have as many, or the
// first few.
func (p plan) sayTop(lines []line) string {
	if p.least {
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.n, b.n) })
	}
	if n := min(p.topN, len(lines)); p.topN > 1 {
		text := fmt.Sprintf("The first %d by %s of the %s:", n, p.group.path, p.records(2))
		for i, g := range lines[:n] {
			text += fmt.Sprintf("\n%d. %s: %s", i+1, g.label, number(g.n))
		}
		if n < len(lines) && lines[n].n == lines[n-1].n {
			text += fmt.Sprintf("\n%s has as many as the last of these.", lines[n].label)
		}
		return text
	}
	var best []string
	for _, g := range lines {
		if g.n == lines[0].n {
			best = append(best, g.label)
		}
	}
	each := map[bool]string{true: " each"}[len(best) > 1]
	if len(best) > 10 {
		best = append(best[:10], fmt.Sprintf("%d others", len(best)-10))
	}
	first := strings.Join(best, ", ")
	if p.measure != nil {
		return fmt.Sprintf("%s: %s %s %s of the %s.", first, p.metric, p.measure.path, number(lines[0].n), p.records(2))
	}
	return fmt.Sprintf("%s: %s %s%s, %s by %s.", first, number(lines[0].n), p.records(lines[0].n), each, map[bool]string{true: "the fewest", false: "the most"}[p.least], p.group.path)
}

func (p plan) sayCompare(s stats) string {
	var lines []line
	for _, label := range p.goals[0].labels {
		lines = append(lines, line{label, s.sum(label)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.n, a.n) })
	best := lines[0]
	if best.n == lines[1].n {
		return fmt.Sprintf("Both the same: %s and %s have %s %s each.", best.label, lines[1].label, number(best.n), p.records(2))
	}
	var rest []string
	for _, g := range lines[1:] {
		rest = append(rest, g.label+" "+number(g.n))
	}
	return fmt.Sprintf("%s has more: %s %s, against %s; a difference of %s.",
		best.label, number(best.n), p.records(2), strings.Join(rest, ", "), number(best.n-lines[1].n))
}

var metricNames = map[string]string{"avg": "average", "sum": "sum", "min": "smallest", "max": "largest", "p50": "median"}

// number writes a figure without exponent and with at most three decimals.
func number(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 3, 64), "0"), ".")
}
