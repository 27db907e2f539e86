package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/markdown"
)

// maxRows bounds the rows of a table, largest first.
const maxRows = 20

// table is a breakdown: a figure of each metric for each group.
type table struct {
	title   string // the records and the grouping
	by      string
	metrics []string
	rows    []row
	total   []float64 // by metric
	groups  int       // number of groups, including those without a row
	locale  locale
	text    string // as rendered
}

type row struct {
	label   string
	figures []float64 // by metric; NaN: no value
}

// repeatsRow reports whether a line is a list item, "- label: value", that repeats a row.
// The label may be escaped for Markdown, as the planner does, or as in the estate.
func (t table) repeatsRow(line string) bool {
	item, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
	at := strings.LastIndex(item, ": ")
	if !listed || at < 0 {
		return false
	}
	label, value := strings.TrimSpace(item[:at]), strings.TrimSpace(item[at+2:])
	return slices.ContainsFunc(t.rows, func(r row) bool {
		name := t.locale.label(r.label)
		return slices.Contains([]string{r.label, name, markdown.Escape(r.label), markdown.Escape(name)}, label) &&
			slices.ContainsFunc(r.figures, func(f float64) bool { return t.locale.isFormatted(f, value) })
	})
}

// listed returns the number of rows with a label and a value: those with a
// label and a figure.
func (t table) listed() (n int) {
	for _, r := range t.rows {
		if r.label != noValue && !math.IsNaN(r.figures[0]) {
			n++
		}
	}
	return n
}

// query is the input of a compute_stats call.
type query struct {
	DataKey string   `json:"data_key"`
	GroupBy string   `json:"group_by"`
	Metrics []string `json:"metrics"`

	Filter map[string]jsontext.Value   `json:"filter"`
	AnyOf  []map[string]jsontext.Value `json:"any_of"`
}

// result is the result of a compute_stats call.
type result struct {
	figures
	Metrics    map[string]figures `json:"metrics"`
	GroupCount int                `json:"group_count"`
}

// figures are the values of one metric.
type figures struct {
	Groups jsontext.Value `json:"groups"`
	Total  *float64       `json:"total"`
}

// tablesOf returns the breakdowns of an analysis in order.
func tablesOf(r schemas.Rendering, l locale) []table {
	var all []table
	for i, use := range r.ToolUses {
		var a query
		var c result
		if i >= len(r.ToolResults) || json.Unmarshal(use.Input, &a) != nil || json.Unmarshal(r.ToolResults[i], &c) != nil {
			continue // a failed call
		}
		if t := newTable(a, c, l); len(t.rows) > 1 {
			all = append(all, t)
		}
	}
	return all
}

func newTable(a query, c result, l locale) table {
	t := table{title: l.title(a), by: a.GroupBy, locale: l}
	for _, name := range a.Metrics {
		if !slices.Contains(t.metrics, name) { // the tool computes duplicates once
			t.metrics = append(t.metrics, name)
		}
	}
	if len(t.metrics) == 0 {
		t.metrics = []string{"count"}
	}
	groups := groupsOf(c.Groups)
	t.groups = max(c.GroupCount, len(groups))
	t.total = []float64{figureOf(c.Total)}
	for _, g := range groups[:min(len(groups), maxRows)] {
		t.rows = append(t.rows, row{g.label, []float64{g.figure}})
	}
	for _, name := range t.metrics[1:] { // further metrics have the groups of the first
		t.add(c.Metrics[name])
	}
	return t
}

// add adds a metric.
func (t *table) add(of figures) {
	figures := map[string]float64{}
	for _, g := range groupsOf(of.Groups) {
		figures[g.label] = g.figure
	}
	t.total = append(t.total, figureOf(of.Total))
	for i, r := range t.rows {
		figure, ok := figures[r.label]
		if !ok {
			figure = math.NaN()
		}
		t.rows[i].figures = append(r.figures, figure)
	}
}

// cells returns a table's header and its lines: the rows, the number of omitted
// rows, and the totals. Names are written by text.
func (t table) cells(text func(string) string) (head []string, lines [][]string) {
	head = []string{text(t.by)}
	for _, m := range t.metrics {
		head = append(head, text(m))
	}
	for _, r := range t.rows {
		lines = append(lines, append([]string{text(t.locale.label(r.label))}, t.written(r.figures)...))
	}
	if more := t.groups - len(t.rows); more > 0 {
		lines = append(lines, append([]string{t.locale.count(more)}, make([]string, len(t.metrics))...))
	}
	return head, append(lines, append([]string{t.locale.words.total}, t.written(t.total)...))
}

func (t table) written(figures []float64) []string {
	var all []string
	for _, f := range figures {
		all = append(all, t.locale.figure(f))
	}
	return all
}

// markdown formats the table as GitHub Flavored Markdown.
func (t table) markdown() string {
	head, lines := t.cells(markdown.Escape)
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|---%s|", markdown.Escape(t.title), strings.Join(head, " | "), strings.Repeat("|--:", len(t.metrics)))
	for _, line := range lines {
		fmt.Fprintf(&b, "\n| %s |", strings.Join(line, " | "))
	}
	return b.String()
}

// plain formats the table as aligned columns.
func (t table) plain() string {
	head, lines := t.cells(markdown.Line)
	var b strings.Builder
	fmt.Fprintln(&b, markdown.Line(t.title))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{head}, lines...) {
		_, _ = fmt.Fprintln(w, strings.Join(line, "\t")) // a strings.Builder never fails
	}
	_ = w.Flush()
	var trimmed []string
	for line := range strings.Lines(b.String()) {
		trimmed = append(trimmed, strings.TrimRight(line, " \n"))
	}
	return strings.Join(trimmed, "\n")
}

type group struct {
	label  string
	figure float64
}

// groupsOf decodes an object of figures, sorted by figure, largest first, then by label.
func groupsOf(object jsontext.Value) []group {
	var all []group
	var values map[string]*float64
	if json.Unmarshal(object, &values) != nil {
		return nil
	}
	for label, v := range values {
		all = append(all, group{label, figureOf(v)})
	}
	slices.SortFunc(all, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.figure, a.figure), cmp.Compare(a.label, b.label))
	})
	return all
}

func figureOf(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// newest keeps the last of tables with the same title and metrics: a model that corrects
// itself computes twice.
func newest(all []table) []table {
	var kept []table
	for i, t := range all {
		same := func(o table) bool { return o.title == t.title && slices.Equal(o.metrics, t.metrics) }
		if !slices.ContainsFunc(all[i+1:], same) {
			kept = append(kept, t)
		}
	}
	return kept
}
