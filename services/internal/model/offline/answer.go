package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	Error      any                `json:"error"`
}

// figure is a number, written without exponent and with at most three decimals.
type figure float64

func (f figure) String() string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(float64(f), 'f', 3, 64), "0"), ".")
}

// line is one group of a result.
type line struct {
	label string
	n     figure
}

func (l line) String() string { return l.name() + ": " + l.n.String() }

// name is the label in Markdown.
func (l line) name() string { return markdown.Escape(l.label) }

func (r result) total() figure {
	if r.Total == nil {
		return 0
	}
	return *r.Total
}

// sum adds the groups with those labels.
func (r result) sum(labels ...string) (n figure) {
	for _, label := range labels {
		if g := r.Groups[label]; g != nil {
			n += *g
		}
	}
	return n
}

// lines returns the groups with a value, largest first.
func (r result) lines() (out []line) {
	for _, label := range slices.Sorted(maps.Keys(r.Groups)) {
		if n := r.Groups[label]; label != absent && n != nil {
			out = append(out, line{label, *n})
		}
	}
	slices.SortStableFunc(out, func(a, b line) int { return cmp.Compare(b.n, a.n) })
	return out
}

// enumerate joins up to most words and says how many there are besides them.
func enumerate[T any](words []T, between string, most, all int) string {
	var out []string
	for _, w := range words[:min(len(words), most)] {
		out = append(out, fmt.Sprint(w))
	}
	if all > most {
		out = append(out, "…")
	}
	return strings.Join(out, between)
}

// inline formats lines within a sentence: "Oslo 2, Berlin 1".
func inline(lines []line, most int) string {
	var out []string
	for _, l := range lines {
		out = append(out, l.name()+" "+l.n.String())
	}
	return enumerate(out, ", ", most, len(out))
}

// labels returns the names of the lines, in Markdown.
func labels(lines []line) (out []string) {
	for _, l := range lines {
		out = append(out, l.name())
	}
	return out
}

// answer formats the results of the plan's calls as Markdown.
func (p plan) answer(arrays []*array, raw []json.RawMessage) string {
	if p.refuse != "" {
		return p.refuse + "\n\n" + p.instead(arrays)
	}
	results := make([]result, len(raw))
	for i := range raw {
		if json.Unmarshal(raw[i], &results[i]) != nil || results[i].Error != nil {
			return "The figures for this question could not be computed."
		}
	}
	switch {
	case p.intent == overview:
		return sayOverview(arrays, results)
	case p.intent == fields:
		return fmt.Sprintf("The %s have the fields %s. There are %v records.", p.array.noun(2),
			strings.Join(escapeAll(results[0].Fields), ", "), results[0].Count)
	}
	return strings.Join(append([]string{p.say(results[1], results[len(results)-1])}, p.notes...), "\n")
}

func (p plan) say(r, goals result) string {
	lines, total := r.lines(), r.total()
	switch {
	case p.intent.conditional():
		return p.sayCount(p.met(r, goals), total)
	case p.intent == metric && r.Total == nil:
		return fmt.Sprintf("None of the %s has a number in %s.", p.records(2), p.measure.name())
	case p.intent == metric && p.group == nil:
		return fmt.Sprintf("%v: the %s of %s over the %s.", total, metricNames[p.metric], p.measure.name(), p.records(2))
	case p.intent == metric:
		return fmt.Sprintf("The %s of %s over the %s is %v; by %s:\n- %s", metricNames[p.metric], p.measure.name(), p.records(2), total,
			p.group.name(), enumerate(lines, "\n- ", longList, r.GroupCount))
	case p.intent == compare:
		return p.sayCompare(r)
	case p.intent == distinct:
		return fmt.Sprintf("%d different values of %s among the %s.", r.GroupCount, p.group.name(), p.records(2))
	case len(lines) == 0:
		return fmt.Sprintf("None: 0 of %v %s have a value of %s.", total, p.records(2), p.group.name())
	case p.intent == top && p.least && r.GroupCount > len(lines):
		return "There are too many values of " + p.group.name() + " to tell the fewest."
	case p.intent == top:
		return p.sayTop(lines)
	case p.names:
		return fmt.Sprintf("%v %s: %s.", total, p.records(total), enumerate(labels(lines), ", ", longList, r.GroupCount))
	}
	text := fmt.Sprintf("%v %s by %s:\n- %s", total, p.records(total), p.group.name(), enumerate(lines, "\n- ", longList, r.GroupCount))
	if n := r.sum(absent); n > 0 {
		text += fmt.Sprintf("\nWithout a value: %v.", n)
	}
	return text
}

// records describes n of the plan's records: "hosts with role test and arch x64".
func (p plan) records(n figure, goals ...cond) string {
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

// met returns the number of records that meet the goals.
func (p plan) met(r, goals result) figure {
	if len(p.goals) == 0 {
		return r.total()
	}
	n, others := r.sum(p.goals[0].labels...), p.goals[0].rest
	if p.apart() {
		n, others = goals.total(), p.goals[0].filter == nil
	}
	if others {
		n = r.total() - n
	}
	return n
}

// sayCount reports that n of all records meet the goals: as a count, a share, or an
// answer to a yes-or-no question.
func (p plan) sayCount(n, of figure) string {
	some := fmt.Sprintf("%v of %v %s have %s.", n, of, p.records(of), wording(p.goals))
	if len(p.goals) == 0 || p.intent == yesno {
		some = fmt.Sprintf("%v %s.", n, p.records(n, p.goals...))
	}
	switch {
	case p.intent == count:
		return some
	case p.intent == share && of == 0:
		return fmt.Sprintf("There are no %s.", p.records(2))
	case p.intent == share:
		return fmt.Sprintf("%.1f%%: %s", float64(100*n/of), some)
	case p.intent == all && n == of && n > 0:
		return fmt.Sprintf("Yes: all %v %s have %s.", n, p.records(n), wording(p.goals))
	case p.intent == yesno && n > 0:
		return "Yes: " + some
	}
	return "No: " + some
}

// sayTop reports the first line and its ties, or the first topN lines.
func (p plan) sayTop(lines []line) string {
	most := "the most"
	if p.least {
		most = "the fewest"
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.n, b.n) })
	}
	if n := min(p.topN, len(lines)); p.topN > 1 {
		text := fmt.Sprintf("The first %d by %s of the %s:", n, p.group.name(), p.records(2))
		for i, l := range lines[:n] {
			text += fmt.Sprintf("\n%d. %v", i+1, l)
		}
		if n < len(lines) && lines[n].n == lines[n-1].n {
			text += fmt.Sprintf("\n%s has as many as the last of these.", lines[n].name())
		}
		return text
	}
	n := lines[0].n
	first := labels(slices.DeleteFunc(lines, func(l line) bool { return l.n != n }))
	what, each := enumerate(first, ", ", 10, len(first)), ""
	if len(first) > 1 {
		each = " each"
	}
	if p.measure != nil {
		return fmt.Sprintf("%s: %s %s %v of the %s.", what, p.metric, p.measure.name(), n, p.records(2))
	}
	return fmt.Sprintf("%s: %v %s%s, %s by %s.", what, n, p.records(n), each, most, p.group.name())
}

func (p plan) sayCompare(r result) string {
	var lines []line
	for _, label := range p.goals[0].labels {
		lines = append(lines, line{label, r.sum(label)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.n, a.n) })
	best, next := lines[0], lines[1]
	if best.n == next.n {
		return fmt.Sprintf("Both the same: %s and %s have %v %s each.", best.name(), next.name(), best.n, p.records(2))
	}
	return fmt.Sprintf("%s has more: %v %s, against %s; a difference of %v.", best.name(), best.n, p.records(2), inline(lines[1:], longList),
		best.n-next.n)
}

// sayOverview reports for each array the number of records and a breakdown.
func sayOverview(arrays []*array, results []result) string {
	text := "The data in numbers:"
	for i, r := range results {
		text += fmt.Sprintf("\n- %v %s", r.total(), arrays[i].noun(r.total()))
		if f, kinds := arrays[i].sorter(), r.lines(); f != nil && len(kinds) > 0 {
			text += fmt.Sprintf(", by %s: %s", f.name(), inline(kinds, 5))
		}
	}
	for _, a := range arrays[len(results):] {
		text += "\n- " + markdown.Escape(a.key)
	}
	return text
}

// instead suggests questions about the plan's array, or else all arrays. A refusal must
// not contain figures, so it omits names with digits.
func (p plan) instead(arrays []*array) string {
	text, example, most := "The data holds:", "", 12
	if p.array != nil && p.refuse != unclearQuestion {
		arrays, most = []*array{p.array}, 30
	}
	for _, a := range arrays[:min(len(arrays), 40)] {
		if hasDigits(a.key) {
			continue
		}
		var names []string
		for _, f := range a.fields() {
			if !hasDigits(f.path) {
				names = append(names, f.name())
			}
		}
		text += "\n- " + markdown.Escape(a.key) + ": " + enumerate(names, ", ", most, len(names))
		if f := a.sorter(); f != nil && example == "" && !hasDigits(f.path) {
			example = "\nYou could ask: How many " + a.noun(2) + " are there per " + f.name() + "?"
		}
	}
	return text + example
}

// escapeAll returns the values in Markdown.
func escapeAll(values []string) (out []string) {
	for _, v := range values {
		out = append(out, markdown.Escape(v))
	}
	return out
}

func hasDigits(name string) bool { return strings.ContainsAny(name, "0123456789") }

var metricNames = map[string]string{"avg": "average", "sum": "sum", "min": "smallest", "max": "largest", "p50": "median"}
