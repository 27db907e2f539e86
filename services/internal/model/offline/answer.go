package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
)

// longList bounds the lines of an answer.
const longList = 200

// result is a tool result as recorded in the conversation.
type result struct {
	Fields     []string           `json:"fields"`
	Count      figure             `json:"count"`
	Groups     map[string]*figure `json:"groups"`
	Total      *figure            `json:"total"`       // nil: an average of nothing
	GroupCount int                `json:"group_count"` // number of values without null
	Metrics    map[string]result  `json:"metrics"`
	Error      any                `json:"error"`
}

// figure is a number, written without exponent and with at most three decimals.
type figure float64

func (f figure) String() string {
	text := strconv.FormatFloat(float64(f), 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// line is one group of a result; its name is in Markdown.
type line struct {
	name string
	n    figure
}

func (l line) String() string { return l.name + ": " + l.n.String() }
func (l line) plain() string  { return l.name + " " + l.n.String() }
func (l line) label() string  { return l.name }

// counted is the name of the line, with its number if that is not one.
func (l line) counted() string {
	if l.n == 1 {
		return l.name
	}
	return l.name + " (" + l.n.String() + ")"
}

// total and group return a figure; 0 if there is none.
func (r result) total() figure             { return value(r.Total) }
func (r result) group(label string) figure { return value(r.Groups[label]) }

func value(f *figure) figure {
	if f == nil {
		return 0
	}
	return *f
}

// lines returns the groups with a value, largest first.
func (r result) lines() (out []line) {
	for _, label := range slices.Sorted(maps.Keys(r.Groups)) {
		if n := r.Groups[label]; label != estate.NullGroup && n != nil {
			out = append(out, line{markdown.Escape(label), *n})
		}
	}
	slices.SortStableFunc(out, func(a, b line) int { return cmp.Compare(b.n, a.n) })
	return out
}

// listing joins up to most texts, and adds that there are more.
func listing(texts []string, most int, between string) string {
	text := strings.Join(texts[:min(len(texts), most)], between)
	if len(texts) > most {
		text += between + "…"
	}
	return text
}

// join lists lines, formatted by text.
func join(lines []line, text func(line) string, most int, between string) string {
	var out []string
	for _, l := range lines {
		out = append(out, text(l))
	}
	return listing(out, most, between)
}

// items formats lines as a list.
func items(lines []line) string { return "\n- " + join(lines, line.String, longList, "\n- ") }

// answer formats the results of the plan's calls as Markdown, with the interpretation of the question, or else with questions that the
// planner answers.
func (p plan) answer(arrays []*array, raw []json.RawMessage) (text string, suggestions []string) {
	if p.declined != "" {
		var list string
		for _, q := range p.suggest(arrays) {
			suggestions, list = append(suggestions, q), list+"\n- "+markdown.Escape(q)
		}
		if list != "" {
			list = "\n\nYou could ask:" + list
		}
		return p.declined + list, suggestions
	}
	results := make([]result, len(raw))
	for i := range raw {
		if json.Unmarshal(raw[i], &results[i]) != nil || results[i].Error != nil {
			return "The figures for this question could not be computed.", nil
		}
	}
	switch p.op {
	case overview:
		return formatOverview(arrays, results) + "\n\nUnderstood as: an overview of the arrays.", nil
	case fields:
		var names []string
		for _, f := range results[0].Fields {
			names = append(names, markdown.Escape(f))
		}
		return fmt.Sprintf("The %s have the fields %s. There are %v records.\n\nUnderstood as: the fields of %s.",
			p.array.noun(2), strings.Join(names, ", "), results[0].Count, p.array.noun(2)), nil
	}
	if part := slices.IndexFunc(p.conds(), func(c cond) bool { return c.partly }); part >= 0 && results[len(results)-1].total() == 0 {
		p.declined = "No " + p.array.noun(2) + " match " + conjunction(p.conds(), nil) + "."
		return p.answer(arrays, nil)
	}
	return p.format(results[1], results[len(results)-1]) + "\n\nUnderstood as: " + p.describe() + ".", nil
}

// format states the figures: r has the groups and their total, and part the records that meet the goals.
func (p plan) format(r, part result) string {
	lines, total := r.lines(), r.total()
	counted := fmt.Sprintf("%v %s", total, p.array.noun(total))
	switch p.op {
	case count:
		return counted + "."
	case exists:
		return yesNo(total > 0) + counted + "."
	case share, all:
		return p.formatShare(part.total(), total)
	case combine:
		return p.formatCombined(r)
	case compare:
		return p.formatComparison(r)
	case distinct:
		return fmt.Sprintf("%d different %s.", r.GroupCount, p.group.noun(r.GroupCount))
	case aggregate:
		return p.formatAggregate(r)
	}
	switch single := !slices.ContainsFunc(lines, func(l line) bool { return l.n != 1 }); {
	case total == 0 && p.measure == nil:
		return fmt.Sprintf("None: 0 %s.", p.array.noun(2))
	case len(lines) == 0:
		return fmt.Sprintf("None: 0 of %s have a value of %s.", counted, p.group.name())
	case p.op == top:
		return p.formatRanking(r, lines)
	case p.names:
		return fmt.Sprintf("%s: %s.", counted, join(lines, line.counted, longList, ", "))
	case p.op == list && total == 1:
		return lines[0].name + "."
	case p.op == list && single:
		return fmt.Sprintf("%d %s: %s.", r.GroupCount, p.group.noun(r.GroupCount), join(lines, line.label, longList, ", "))
	}
	text := fmt.Sprintf("%s by %s:%s", counted, p.group.name(), items(lines))
	if n := r.group(estate.NullGroup); n > 0 {
		text += fmt.Sprintf("\n\nWithout a value: %v.", n)
	}
	return text
}

// yesNo begins the answer of a yes-or-no question.
func yesNo(yes bool) string {
	if yes {
		return "Yes: "
	}
	return "No: "
}

// formatAggregate reports a metric in total and by group.
func (p plan) formatAggregate(r result) string {
	if r.Total == nil {
		return fmt.Sprintf("None of these %s has a number in %s.", p.array.noun(2), p.measure.name())
	}
	text := fmt.Sprintf("%v: the %s of %s", r.total(), metricNames[p.metric], p.measure.name())
	if p.group == nil {
		return text + "."
	}
	return text + "; by " + p.group.name() + ":" + items(r.lines())
}

// noun returns the word for n values of the field, in Markdown.
func (f *field) noun(n int) string {
	name := singular(strings.Join(f.words[max(0, len(f.words)-1):], ""))
	if long := full[name]; long != "" {
		name = long
	}
	if before := len(f.words) - 2; before >= 0 && vague[stem(name)] {
		name = singular(f.words[before])
	}
	if base, y := strings.CutSuffix(name, "y"); n != 1 && y {
		name = base + "ies"
	} else if n != 1 && !strings.HasSuffix(name, "s") {
		name += "s"
	}
	if vague[stem(name)] {
		return "values of " + f.name()
	}
	return markdown.Escape(name)
}

// formatShare reports that n of all records meet the goals.
func (p plan) formatShare(n, of figure) string {
	some := fmt.Sprintf("%v of %v %s.", n, of, p.array.noun(of))
	switch {
	case of == 0:
		return fmt.Sprintf("There are no such %s.", p.array.noun(2))
	case p.op == share:
		return fmt.Sprintf("%.1f%%: %s", float64(100*n/of), some)
	case n == of:
		return fmt.Sprintf("%sall %v %s.", yesNo(true), n, p.array.noun(n))
	}
	return yesNo(false) + some
}

// formatCombined reports the ratio or difference of two sums, in total and by group.
func (p plan) formatCombined(r result) string {
	first, second := r.Metrics["sum:"+p.measure.path], r.Metrics["sum:"+p.other.path]
	combined := func(a, b figure) string {
		switch {
		case p.metric == "difference":
			return (a - b).String()
		case b == 0:
			return "undefined"
		}
		return (a / b).String()
	}
	text := fmt.Sprintf("%s: the %s of %s (%v) and %s (%v).", combined(first.total(), second.total()), p.metric, p.measure.name(),
		first.total(), p.other.name(), second.total())
	for _, label := range slices.Sorted(maps.Keys(first.Groups)) {
		text += "\n- " + markdown.Escape(label) + ": " + combined(first.group(label), second.group(label))
	}
	return text
}

// formatRanking reports the line at the wanted rank and its ties, or the first lines.
func (p plan) formatRanking(r result, lines []line) string {
	if p.least && r.GroupCount > len(lines) {
		return p.group.name() + " has too many values to determine the smallest."
	}
	if p.least {
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.n, b.n) })
	}
	if n := min(p.limit, len(lines)); p.limit > 1 {
		text := fmt.Sprintf("The first %d by %s:", n, p.group.name())
		for i, l := range lines[:n] {
			text += fmt.Sprintf("\n%d. %v", i+1, l)
		}
		if n < len(lines) && lines[n].n == lines[n-1].n {
			text += fmt.Sprintf("\n\n%s ties with the last entry.", lines[n].name)
		}
		return text
	}
	for range p.rank { // leave out those of a better rank
		if lines = lines[ties(lines):]; len(lines) == 0 {
			return "All counts are equal; no value has that rank."
		}
	}
	n, unit, each := lines[0].n, p.array.noun(lines[0].n), ""
	if p.measure != nil {
		unit = p.measure.name()
	}
	if ties(lines) > 1 {
		each = " each"
	}
	return fmt.Sprintf("%s: %v %s%s.", join(lines[:ties(lines)], line.label, 10, ", "), n, unit, each)
}

// ties returns the number of lines that are equal to the first one.
func ties(lines []line) int {
	if i := slices.IndexFunc(lines, func(l line) bool { return l.n != lines[0].n }); i >= 0 {
		return i
	}
	return len(lines)
}

func (p plan) formatComparison(r result) string {
	var lines []line
	for _, v := range p.goals[0].values {
		lines = append(lines, line{markdown.Escape(v.Text), r.group(v.Text)})
	}
	first, unit := lines[0].name, p.array.noun(2)
	if p.measure != nil {
		unit = p.measure.name()
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.n, a.n) })
	best, next, answer := lines[0], lines[1], ""
	if p.confirm {
		answer = yesNo(best.n > next.n && (best.name == first) != p.least)
	}
	if best.n == next.n {
		return fmt.Sprintf("%sBoth the same: %s and %s have %v %s each.", answer, best.name, next.name, best.n, unit)
	}
	others := join(lines[1:], line.plain, longList, ", ")
	return fmt.Sprintf("%s%s has more: %v %s, against %s; a difference of %v.", answer, best.name, best.n, unit, others, best.n-next.n)
}

// formatOverview reports for each array the number of records and a breakdown.
func formatOverview(arrays []*array, results []result) string {
	text := "The data in numbers:"
	for i, a := range arrays {
		if i >= len(results) {
			text += "\n- " + markdown.Escape(a.key)
			continue
		}
		text += fmt.Sprintf("\n- %v %s", results[i].total(), a.noun(results[i].total()))
		if f := a.categoryField(); f != nil && len(results[i].Groups) > 0 {
			text += fmt.Sprintf(", by %s: %s", f.name(), join(results[i].lines(), line.plain, 5, ", "))
		}
	}
	return text
}

// descriptions state the interpretation of a question for each operation.
var descriptions = map[operation]string{
	count:     "counting {records}{by}",
	breakdown: "counting {records}{by}",
	distinct:  "counting the values of {group} among {records}",
	exists:    "whether there are {records}",
	share:     "the share of {records} with {goals}",
	all:       "whether all {records} have {goals}",
	compare:   "comparing {measured} of {records}",
	list:      "listing {group} of {records}",
	top:       "ranking {group} of {records} by {measured}, {order} first",
	aggregate: "the {metric} of {measure} over {records}{by}",
	combine:   "the {metric} of the sums of {measure} and {other} over {records}{by}",
}

// describe describes the plan: "counting hosts where os = win2022, by role".
func (p plan) describe() string {
	records, by, measured, order := p.array.noun(2), "", "number of records", "largest"
	if where := conjunction(p.all, p.any); where != "" {
		records += " where " + where
	}
	if p.group != nil {
		by = ", by " + p.group.name()
	}
	metric := cmp.Or(metricNames[p.metric], p.metric)
	switch {
	case p.op == compare:
		measured = cmp.Or(p.measure.name(), "the number")
	case p.measure != nil:
		measured = metric + " " + p.measure.name()
	}
	if p.least {
		order = "smallest"
	}
	return strings.NewReplacer("{records}", records, "{by}", by, "{goals}", conjunction(p.goals, nil), "{measured}", measured,
		"{order}", order, "{metric}", metric, "{group}", p.group.name(), "{measure}", p.measure.name(), "{other}", p.other.name(),
	).Replace(descriptions[p.op])
}

// conjunction joins the phrases of conditions.
func conjunction(all []cond, either [][]cond) string {
	var out, alternatives []string
	for _, c := range all {
		out = append(out, c.phrase)
	}
	for _, conds := range either {
		alternatives = append(alternatives, conjunction(conds, nil))
	}
	if len(alternatives) > 0 {
		out = append(out, "("+strings.Join(alternatives, " or ")+")")
	}
	return strings.Join(out, " and ")
}

var metricNames = map[string]string{"avg": "average", "sum": "sum", "min": "smallest", "max": "largest", "p50": "median"}
