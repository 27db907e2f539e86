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
	Groups     map[string]float64
	Total      float64
	known      bool // there is a total: an average of nothing has none
	Truncated  bool
	GroupCount int
}

// absent is the group of the records without a value.
const absent = "null"

// none is how many records have no value, or an empty list or object.
func (s stats) none() float64 { return s.Groups[absent] + s.Groups["[]"] + s.Groups["{}"] }

// group is one line of a result.
type group struct {
	label string
	n     float64
}

// ranked are the groups that have a value, the largest first.
func (s stats) ranked() []group {
	var out []group
	for _, label := range slices.Sorted(maps.Keys(s.Groups)) {
		if label != absent {
			out = append(out, group{label, s.Groups[label]})
		}
	}
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Compare(b.n, a.n) })
	return out
}

// answer says what the results of the plan's calls mean.
func (p plan) answer(results []json.RawMessage) string {
	s, ok := readStats(results[0])
	if ok && len(results) > 1 {
		var goal stats
		goal, ok = readStats(results[1])
		p.hits = goal.Total
	}
	if !ok {
		return "The figures for this question could not be computed."
	}
	text := p.say(s)
	if len(p.ignored) > 0 {
		text += fmt.Sprintf("\nI left %s out of account: the data has no such field or value.", quoted(p.ignored))
	}
	for _, c := range p.choices {
		text += "\n" + c.String()
	}
	return text
}

// readStats reads a result; figures that are null are left out.
func readStats(raw json.RawMessage) (stats, bool) {
	var in struct {
		Groups     map[string]*float64 `json:"groups"`
		Total      *float64            `json:"total"`
		Truncated  bool                `json:"truncated"`
		GroupCount int                 `json:"group_count"`
		Error      any                 `json:"error"`
	}
	if err := json.Unmarshal(raw, &in); err != nil || in.Error != nil {
		return stats{}, false
	}
	s := stats{Groups: map[string]float64{}, Truncated: in.Truncated, GroupCount: in.GroupCount}
	for label, n := range in.Groups {
		if n != nil {
			s.Groups[label] = *n
		}
	}
	if in.Total != nil {
		s.Total, s.known = *in.Total, true
	}
	return s, true
}

func (p plan) say(s stats) string {
	switch p.intent {
	case count:
		return p.sayCount(s)
	case distinct:
		return p.sayDistinct(s)
	case list:
		return p.sayList(s)
	case top:
		return p.sayTop(s)
	case share:
		return p.sayShare(s)
	case yesno:
		return p.sayYesNo(s)
	case all:
		return p.sayAll(s)
	case compare:
		return p.sayCompare(s)
	case metric:
		return p.sayMetric(s)
	default:
		return p.sayBreakdown(s)
	}
}

// met is how many records of the result meet the goal.
func (p plan) met(s stats) float64 {
	c := p.goal
	if p.apart() {
		if c.op == "unset" || c.op == lacks {
			return s.Total - p.hits
		}
		return p.hits
	}
	switch c.op {
	case "set":
		return s.Total - s.none()
	case "unset":
		return s.none()
	case "false":
		if n, ok := s.Groups["false"]; ok || s.Groups["true"]+s.Groups[absent] != s.Total {
			return n
		}
		return s.Groups[absent]
	case "true":
		return s.Groups["true"]
	case "gt", "gte", "lt", "lte":
		return c.within(s)
	case "ne":
		return s.Total - c.sum(s)
	}
	return c.sum(s)
}

func (c cond) sum(s stats) float64 {
	if c.op == "eq" {
		return s.Groups[c.num]
	}
	n := 0.0
	for _, v := range c.values {
		n += s.Groups[v.text]
	}
	return n
}

func (c cond) within(s stats) float64 {
	limit, err := strconv.ParseFloat(c.num, 64)
	if err != nil {
		return 0
	}
	n := 0.0
	for label, k := range s.Groups {
		x, err := strconv.ParseFloat(label, 64)
		if err != nil {
			continue
		}
		if c.op == "gt" && x > limit || c.op == "gte" && x >= limit || c.op == "lt" && x < limit || c.op == "lte" && x <= limit {
			n += k
		}
	}
	return n
}

func (p plan) sayCount(s stats) string {
	if p.goal == nil {
		return fmt.Sprintf("%s %s%s.", number(s.Total), p.noun(s.Total), p.where())
	}
	return fmt.Sprintf("%s of %s %s%s %s.", number(p.met(s)), number(s.Total), p.noun(s.Total), p.where(), p.predicate())
}

func (p plan) sayDistinct(s stats) string {
	n := len(s.ranked())
	if s.Truncated && s.GroupCount > 0 {
		n = s.GroupCount
	}
	return fmt.Sprintf("%d different values of %s among the %s%s.", n, p.group.path, p.noun(2), p.where())
}

// longList is how many lines an answer may have.
const longList = 200

func (p plan) sayList(s stats) string {
	lines := s.ranked()
	if len(lines) == 0 {
		return fmt.Sprintf("None: 0 %s%s have a value of %s.", p.noun(2), p.where(), p.group.path)
	}
	if !p.names {
		return p.sayBreakdown(s)
	}
	var labels []string
	for _, g := range lines[:min(len(lines), longList)] {
		labels = append(labels, g.label)
	}
	return fmt.Sprintf("%s %s%s: %s.%s", number(s.Total), p.noun(s.Total), p.where(), strings.Join(labels, ", "), more(len(lines), longList))
}

func (p plan) sayBreakdown(s stats) string {
	lines := s.ranked()
	if len(lines) == 0 {
		return fmt.Sprintf("None: 0 of %s %s%s have a value of %s.", number(s.Total), p.noun(2), p.where(), p.group.path)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s by %s:\n", number(s.Total), p.noun(s.Total), p.where(), p.group.path)
	for _, g := range lines[:min(len(lines), longList)] {
		fmt.Fprintf(&b, "- %s: %s\n", g.label, number(g.n))
	}
	if n := s.Groups[absent]; n > 0 {
		fmt.Fprintf(&b, "Without a value: %s.\n", number(n))
	}
	return strings.TrimSpace(b.String() + more(len(lines), longList))
}

func more(n, shown int) string {
	if n <= shown {
		return ""
	}
	return fmt.Sprintf(" And %d more.", n-shown)
}

func (p plan) sayTop(s stats) string {
	lines := s.ranked()
	if len(lines) == 0 {
		return fmt.Sprintf("None of the %s%s has a value of %s.", p.noun(2), p.where(), p.group.path)
	}
	if p.least {
		slices.SortStableFunc(lines, func(a, b group) int { return cmp.Compare(a.n, b.n) })
	}
	if p.topN > 1 {
		return p.sayTopN(lines)
	}
	tied := 1
	for tied < len(lines) && lines[tied].n == lines[0].n {
		tied++
	}
	var labels []string
	for _, g := range lines[:min(tied, 10)] {
		labels = append(labels, g.label)
	}
	best := strings.Join(labels, ", ")
	if tied > 10 {
		best = fmt.Sprintf("%s and %d others", best, tied-10)
	}
	what := "the most"
	if p.least {
		what = "the fewest"
	}
	if p.metric != "" {
		name, field, _ := strings.Cut(p.metric, ":")
		return fmt.Sprintf("%s: %s %s of the %s%s.", best, name, field+" "+number(lines[0].n), p.noun(2), p.where())
	}
	each := ""
	if tied > 1 {
		each = " each"
	}
	return fmt.Sprintf("%s: %s %s%s%s, %s by %s.", best, number(lines[0].n), p.noun(lines[0].n), p.where(), each, what, p.group.path)
}

func (p plan) sayTopN(lines []group) string {
	var b strings.Builder
	n := min(p.topN, len(lines))
	fmt.Fprintf(&b, "The first %d by %s of the %s%s:\n", n, p.group.path, p.noun(2), p.where())
	for i, g := range lines[:n] {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, g.label, number(g.n))
	}
	if n < len(lines) && lines[n].n == lines[n-1].n {
		fmt.Fprintf(&b, "%s has as many as the last of these.\n", lines[n].label)
	}
	return strings.TrimSpace(b.String())
}

func (p plan) sayShare(s stats) string {
	if s.Total == 0 {
		return fmt.Sprintf("There are no %s%s.", p.noun(2), p.where())
	}
	n := p.met(s)
	return fmt.Sprintf("%.1f%%: %s of %s %s%s %s.", 100*n/s.Total, number(n), number(s.Total), p.noun(s.Total), p.where(), p.predicate())
}

func (p plan) sayYesNo(s stats) string {
	n, rest := s.Total, ""
	if p.goal != nil {
		n, rest = p.met(s), " "+p.predicate()
	}
	word := "Yes"
	if n == 0 {
		word = "No"
	}
	if n == 1 {
		rest = strings.Replace(rest, " have ", " has ", 1)
	}
	return fmt.Sprintf("%s: %s %s%s%s.", word, number(n), p.noun(n), p.where(), rest)
}

func (p plan) sayAll(s stats) string {
	n := p.met(s)
	if n == s.Total && n > 0 {
		return fmt.Sprintf("Yes: all %s %s%s %s.", number(n), p.noun(n), p.where(), p.predicate())
	}
	return fmt.Sprintf("No: %s of %s %s%s %s.", number(n), number(s.Total), p.noun(s.Total), p.where(), p.predicate())
}

func (p plan) sayCompare(s stats) string {
	var lines []group
	for _, v := range p.pick {
		lines = append(lines, group{v.text, s.Groups[v.text]})
	}
	slices.SortStableFunc(lines, func(a, b group) int { return cmp.Compare(b.n, a.n) })
	if lines[0].n == lines[1].n {
		return fmt.Sprintf("Both the same: %s and %s have %s %s%s each.", lines[0].label, lines[1].label, number(lines[0].n), p.noun(2), p.where())
	}
	var rest []string
	for _, g := range lines[1:] {
		rest = append(rest, fmt.Sprintf("%s %s", g.label, number(g.n)))
	}
	return fmt.Sprintf("%s has more: %s %s%s, against %s; a difference of %s.",
		lines[0].label, number(lines[0].n), p.noun(2), p.where(), strings.Join(rest, ", "), number(lines[0].n-lines[1].n))
}

func (p plan) sayMetric(s stats) string {
	name, field, _ := strings.Cut(p.metric, ":")
	if !s.known {
		return fmt.Sprintf("None of the %s%s has a number in %s.", p.noun(2), p.where(), field)
	}
	if p.group != nil {
		return p.sayMetrics(s)
	}
	return fmt.Sprintf("%s: the %s of %s over the %s%s.", number(s.Total), metricNames[name], field, p.noun(2), p.where())
}

// sayMetrics tells a figure for each group.
func (p plan) sayMetrics(s stats) string {
	name, field, _ := strings.Cut(p.metric, ":")
	lines := s.ranked()
	var b strings.Builder
	fmt.Fprintf(&b, "The %s of %s over the %s%s is %s; by %s:\n", metricNames[name], field, p.noun(2), p.where(), number(s.Total), p.group.path)
	for _, g := range lines[:min(len(lines), longList)] {
		fmt.Fprintf(&b, "- %s: %s\n", g.label, number(g.n))
	}
	return strings.TrimSpace(b.String() + more(len(lines), longList))
}

var metricNames = map[string]string{"avg": "average", "sum": "sum", "min": "smallest", "max": "largest", "p50": "median"}

// number writes a figure without exponent and with at most three decimals.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
