package offline

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

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
	Truncated  bool               `json:"truncated"`
	Error      any                `json:"error"`
}

// figure is a number of a tool result.
type figure float64

func (f figure) String() string { return markdown.Number(float64(f)) }

// minus returns f - g, and 0 if that is a rounding error.
func (f figure) minus(g figure) figure {
	if math.Abs(float64(f-g)) < 1e-9*math.Abs(float64(f)) {
		return 0
	}
	return f - g
}

// percentage returns the share of part in total with one decimal, or with more if one would say
// none or all although some are, or are not.
func percentage(part, total figure) string {
	percent := float64(100 * part / max(1, total))
	for decimals := 1; ; decimals++ {
		text := strconv.FormatFloat(percent, 'f', decimals, 64)
		none, all := strings.Trim(text, "0.") == "", strings.HasPrefix(text, "100")
		if decimals == 9 || none == (part == 0) && all == (part == total) {
			return text
		}
	}
}

// line is one group of a result; its name is in Markdown.
type line struct {
	name string
	n    figure
}

// String is a line of a list. Templates call it.
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
			out = append(out, line{cmp.Or(markdown.Escape(label), `""`), *n})
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
func join(lines []line, text func(line) string, most int) string {
	return listing(mapped(lines, text), most, ", ")
}

//go:embed answers.tmpl
var wordingText string

// wording has the text of each form of answer, and "understood" that of the interpretation.
var wording = template.Must(template.New("").Parse(wordingText))

// phrase returns the text of a form with values.
func phrase(form string, values map[string]any) string {
	var b strings.Builder
	if err := wording.ExecuteTemplate(&b, form, values); err != nil {
		return "The answer could not be phrased."
	}
	return b.String()
}

// formatAnswer returns the results of the plan's calls as Markdown, with the interpretation of the question, or else with questions that
// the planner answers.
func formatAnswer(p plan, arrays []*array, raw []json.RawMessage) (text string, suggestions []string) {
	results := make([]result, max(2, len(raw)))
	for i := range raw {
		if p.declined == "" && (json.Unmarshal(raw[i], &results[i]) != nil || results[i].Error != nil) {
			return "The figures for this question could not be computed.", nil
		}
	}
	last := results[max(0, len(raw)-1)]
	partly := func(c cond) bool { return c.partly }
	if p.declined == "" && p.measure == nil && last.total() == 0 && slices.ContainsFunc(p.conds(), partly) {
		p.declined = "No " + p.array.noun(2) + " match " + conjunction(p.conds(), nil) + "."
	}
	if p.declined != "" {
		suggestions = suggest(p, arrays)
		return phrase("declined", map[string]any{"declined": p.declined, "lines": mapped(suggestions, markdown.Escape)}), suggestions
	}
	if p.op == overview {
		values := map[string]any{"op": "overview", "lines": overviewLines(arrays, results[:len(raw)])}
		return phrase("overview", values) + phrase("understood", values), nil
	}
	values := interpretation(p)
	form := fill(p, values, results[1], last.total())
	if p.op == fields {
		names := strings.Join(mapped(results[0].Fields, markdown.Escape), ", ")
		form, values["fields"], values["size"] = "fields", names, results[0].Count
	}
	return phrase(form, values) + phrase("understood", values), nil
}

// overviewLines returns for each array the number of records and a breakdown.
func overviewLines(arrays []*array, results []result) (out []string) {
	for i, a := range arrays {
		text := markdown.Escape(a.key)
		if i < len(results) {
			text = fmt.Sprintf("%v %s", results[i].total(), a.noun(results[i].total()))
			if f := a.categoryField(); f != nil && len(results[i].Groups) > 0 {
				text += fmt.Sprintf(", by %s: %s", f.name(), join(results[i].lines(), line.plain, 5))
			}
		}
		out = append(out, text)
	}
	return out
}

// fill adds the figures to values and returns the form of the answer: r has the groups and their total; part is the number of the records
// that meet the goals.
func fill(p plan, values map[string]any, r result, part figure) string {
	lines, total := r.lines(), r.total()
	show := func(lines []line, text func(line) string) { values["labels"] = join(lines, text, longList) }
	values["lines"], values["more"] = lines[:min(len(lines), longList)], len(lines) > longList
	values["total"], values["part"], values["percent"] = total, part, percentage(part, total)
	values["counted"], values["without"] = fmt.Sprintf("%v %s", total, p.array.noun(total)), r.group(estate.NullGroup)
	if p.group != nil {
		values["values"] = r.GroupCount
	}
	show(lines, line.label)
	switch single := !slices.ContainsFunc(lines, func(l line) bool { return l.n != 1 }); {
	case p.op == combine:
		fillCombined(p, values, r)
	case p.op == compare:
		return fillComparison(p, values, r)
	case p.measure != nil && r.Total == nil:
		return "no number"
	case p.op != list && p.op != breakdown && p.op != top:
	case total == 0 && p.measure == nil:
		return "none"
	case len(lines) == 0:
		return "unset"
	case p.op == top:
		return fillRanking(p, values, r, lines)
	case p.names:
		show(lines, line.counted)
		return "names"
	case p.op == list && total == 1:
		return "one"
	case p.op == list && single:
		return "values"
	default:
		return "groups"
	}
	return string(p.op)
}

// fillCombined adds the ratio or difference of two sums, in total and by group.
func fillCombined(p plan, values map[string]any, r result) {
	first, second := r.Metrics["sum:"+p.measure.path], r.Metrics["sum:"+p.other.path]
	combined := func(a, b figure) string {
		switch {
		case p.metric == "difference":
			return a.minus(b).String()
		case b == 0:
			return "undefined"
		}
		return (a / b).String()
	}
	var lines []string
	for _, label := range slices.Sorted(maps.Keys(first.Groups)) {
		lines = append(lines, cmp.Or(markdown.Escape(label), `""`)+": "+combined(first.group(label), second.group(label)))
	}
	values["combined"], values["first"], values["second"] = combined(first.total(), second.total()), first.total(), second.total()
	values["lines"] = lines
}

// fillRanking adds the line at the wanted rank and its ties, or the first lines.
func fillRanking(p plan, values map[string]any, r result, lines []line) string {
	if p.least && r.Truncated {
		return "too many"
	}
	if p.least {
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.n, b.n) })
	}
	if n := min(p.limit, len(lines)); p.limit > 1 {
		var ranks []string
		for i, l := range lines[:n] {
			ranks = append(ranks, fmt.Sprintf("%d. %v", i+1, l))
		}
		if values["ranks"] = ranks; n < len(lines) && lines[n].n == lines[n-1].n {
			values["tie"] = lines[n].name
		}
		return "ranking"
	}
	for range p.rank { // leave out those of a better rank
		if lines = lines[ties(lines):]; len(lines) == 0 {
			return "equal"
		}
	}
	values["most"], values["unit"], values["tied"] = lines[0].n, cmp.Or(p.measure.name(), p.array.noun(lines[0].n)), ties(lines) > 1
	values["labels"] = join(lines[:ties(lines)], line.label, 10)
	return "top"
}

// ties returns the number of lines that are equal to the first one.
func ties(lines []line) int {
	if i := slices.IndexFunc(lines, func(l line) bool { return l.n != lines[0].n }); i >= 0 {
		return i
	}
	return len(lines)
}

// fillComparison adds the figures of the compared values, the largest first.
func fillComparison(p plan, values map[string]any, r result) string {
	var lines []line
	for _, v := range p.goals[0].values {
		if p.measure != nil && r.Groups[v.Text] == nil {
			values["labels"] = markdown.Escape(v.Text)
			return "no figure"
		}
		lines = append(lines, line{markdown.Escape(v.Text), r.group(v.Text)})
	}
	first := lines[0].name
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.n, a.n) })
	best, next := lines[0], lines[1]
	if values["answer"] = ""; p.confirm {
		values["answer"] = ternary(best.n > next.n && (best.name == first) != p.least, "Yes: ", "No: ")
	}
	values["best"], values["next"], values["most"], values["difference"] = best.name, next.name, best.n, best.n.minus(next.n)
	values["unit"], values["others"] = cmp.Or(p.measure.name(), p.array.noun(best.n)), join(lines[1:], line.plain, longList)
	if best.n == next.n {
		return "same"
	}
	return "compare"
}

// interpretation returns the values of the form "understood".
func interpretation(p plan) map[string]any {
	where, by := p.array.noun(2), ""
	if conditions := conjunction(p.all, p.any); conditions != "" {
		where += " where " + conditions
	}
	if p.group != nil {
		by = ", by " + p.group.name()
	}
	return map[string]any{"op": string(p.op), "records": p.array.noun(2), "where": where, "by": by, "goals": conjunction(p.goals, nil),
		"metric": cmp.Or(metricNames[p.metric], p.metric), "measure": p.measure.name(), "other": p.other.name(), "group": p.group.name(),
		"least": p.least}
}

// conjunction joins the phrases of conditions.
func conjunction(all []cond, either [][]cond) string {
	out := mapped(all, func(c cond) string { return c.phrase })
	alternatives := mapped(either, func(conds []cond) string { return conjunction(conds, nil) })
	if len(alternatives) > 1 {
		alternatives = []string{"(" + strings.Join(alternatives, " or ") + ")"}
	}
	return strings.Join(append(out, alternatives...), " and ")
}

var metricNames = map[string]string{"avg": "average", "sum": "sum", "min": "smallest", "max": "largest", "p50": "median"}
