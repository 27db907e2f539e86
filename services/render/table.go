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

// table is a breakdown, a figure of each metric for each group, or a list of records with
// the figure that orders them.
type table struct {
	title   string   // the records and the grouping
	fields  []string // the columns of labels
	metrics []string
	units   []string // by metric; empty: none
	rows    []row
	total   []figure // by metric; nil: the rows are records
	groups  int      // number of groups, including those without a row
	locale  locale
	text    string // as rendered
}

type row struct {
	labels  []string // by field
	figures []figure // by metric
}

// repeatsRow reports whether a line is a list item that repeats a row, "- label: value", or
// "- label" for a row without figures.
// The label may be escaped for Markdown, as the planner does, or as in the estate.
func (t table) repeatsRow(line string) bool {
	item, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
	label, value := item, ""
	if separator := strings.LastIndex(item, ": "); separator >= 0 && len(t.metrics) > 0 {
		label, value = strings.TrimSpace(item[:separator]), strings.TrimSpace(item[separator+2:])
	}
	formatted := func(f figure) bool { return t.locale.isFormatted(f, value) }
	return listed && slices.ContainsFunc(t.rows, func(r row) bool {
		written, name := strings.Join(r.labels, ", "), strings.Join(t.labels(r), ", ")
		return slices.Contains([]string{written, name, markdown.Escape(written), markdown.Escape(name)}, label) &&
			(len(t.metrics) == 0 || slices.ContainsFunc(r.figures, formatted))
	})
}

// labels returns the displayed labels of a row.
func (t table) labels(r row) (labels []string) {
	for _, label := range r.labels {
		labels = append(labels, t.locale.label(label))
	}
	return labels
}

// listed returns the number of rows that a list has: those with labels and the first figure.
func (t table) listed() (n int) {
	for _, r := range t.rows {
		if !slices.Contains(r.labels, noValue) && (len(t.metrics) == 0 || !r.figures[0].isNone()) {
			n++
		}
	}
	return n
}

// query is the input of a compute_stats call.
type query struct {
	DataKey string      `json:"data_key"`
	GroupBy groupFields `json:"group_by"`
	Metrics []string    `json:"metrics"`

	Filter map[string]jsontext.Value   `json:"filter"`
	AnyOf  []map[string]jsontext.Value `json:"any_of"`
	Having map[string]jsontext.Value   `json:"having"` // conditions on metrics

	Names struct {
		Field string `json:"field"`
	} `json:"names"`
	Top struct {
		By string `json:"by"`
	} `json:"top"`
}

// groupFields are the fields of group_by, a string or an array of strings.
type groupFields []string

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (f *groupFields) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == jsontext.KindBeginArray {
		return json.UnmarshalDecode(dec, (*[]string)(f))
	}
	var field string
	err := json.UnmarshalDecode(dec, &field)
	*f = groupFields{field}
	return err
}

// result is the result of a compute_stats call.
type result struct {
	figures
	Metrics    map[string]figures `json:"metrics"`
	GroupCount int                `json:"group_count"`
	Rows       []struct {         // in place of groups, for several fields
		By      []string           `json:"by"`
		Value   *figure            `json:"value"`
		Metrics map[string]*figure `json:"metrics"`
	} `json:"rows"`
	Names []struct {
		Name  string  `json:"name"`
		Value *figure `json:"value"`
	} `json:"names"`
	MoreNames int `json:"more_names"`
}

// figures are the values of one metric.
type figures struct {
	Groups jsontext.Value `json:"groups"`
	Total  *figure        `json:"total"`
	Unit   string         `json:"unit"`
}

// figure is a number, a text for the first or last of dates or texts, or neither.
type figure struct {
	number float64 // NaN: none
	text   string
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (f *figure) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == jsontext.KindString {
		f.number = math.NaN()
		return json.UnmarshalDecode(dec, &f.text)
	}
	return json.UnmarshalDecode(dec, &f.number)
}

func (f figure) isNone() bool { return math.IsNaN(f.number) && f.text == "" }

func figureOf(v *figure) figure {
	if v == nil {
		return figure{number: math.NaN()}
	}
	return *v
}

// tablesOf returns the breakdowns of an analysis in order.
func tablesOf(r schemas.Rendering, l locale) []table {
	var tables []table
	for i, use := range r.ToolUses {
		var a query
		var c result
		if i >= len(r.ToolResults) || json.Unmarshal(use.Input, &a) != nil || json.Unmarshal(r.ToolResults[i], &c) != nil {
			continue // a failed call
		}
		for _, t := range []table{newTable(a, c, l), namesTable(a, c, l)} {
			if len(t.rows) > 1 {
				tables = append(tables, t)
			}
		}
	}
	return tables
}

func newTable(a query, c result, l locale) table {
	t := table{title: l.title(a, a.GroupBy), fields: a.GroupBy, locale: l}
	for _, name := range a.Metrics {
		if !slices.Contains(t.metrics, name) { // the tool computes duplicates once
			t.metrics = append(t.metrics, name)
		}
	}
	if len(t.metrics) == 0 {
		t.metrics = []string{"count"}
	}
	if _, ok := c.Metrics[t.metrics[0]]; ok { // the tool puts count before a text
		isCount := func(name string) bool { return name == "count" }
		t.metrics = append([]string{"count"}, slices.DeleteFunc(t.metrics, isCount)...)
	}
	t.total, t.units = []figure{figureOf(c.Total)}, []string{c.Unit}
	for _, name := range t.metrics[1:] {
		t.total, t.units = append(t.total, figureOf(c.Metrics[name].Total)), append(t.units, c.Metrics[name].Unit)
	}
	switch len(a.GroupBy) {
	case 0:
	case 1:
		t.addGroups(c)
	default:
		t.addRows(c)
	}
	return t
}

// addRows adds the groups of several fields.
func (t *table) addRows(c result) {
	t.groups = max(c.GroupCount, len(c.Rows))
	for _, g := range c.Rows[:min(len(c.Rows), maxRows)] {
		figures := []figure{figureOf(g.Value)}
		for _, name := range t.metrics[1:] {
			figures = append(figures, figureOf(g.Metrics[name]))
		}
		g.By = append(g.By, make([]string, len(t.fields))...)[:len(t.fields)] // also of a foreign result
		t.rows = append(t.rows, row{g.By, figures})
	}
}

// addGroups adds the groups of one field.
func (t *table) addGroups(c result) {
	groups := groupsOf(c.Groups)
	t.groups = max(c.GroupCount, len(groups))
	for _, g := range groups[:min(len(groups), maxRows)] {
		t.rows = append(t.rows, row{[]string{g.label}, []figure{g.figure}})
	}
	for _, name := range t.metrics[1:] { // further metrics have the groups of the first
		figures := map[string]figure{}
		for _, g := range groupsOf(c.Metrics[name].Groups) {
			figures[g.label] = g.figure
		}
		for i, r := range t.rows {
			f, ok := figures[r.labels[0]]
			if !ok {
				f = figureOf(nil)
			}
			t.rows[i].figures = append(r.figures, f)
		}
	}
}

// namesTable lists the records that the result names.
func namesTable(a query, c result, l locale) table {
	t := table{fields: []string{cmp.Or(a.Names.Field, "name")}, groups: len(c.Names) + max(c.MoreNames, 0), locale: l}
	if a.Top.By != "" {
		t.metrics = []string{a.Top.By}
	}
	t.title = l.title(a, t.metrics)
	for _, n := range c.Names[:min(len(c.Names), maxRows)] {
		t.rows = append(t.rows, row{[]string{n.Name}, []figure{figureOf(n.Value)}[:len(t.metrics)]})
	}
	return t
}

// cells returns a table's header and its lines: the rows, the number of omitted
// rows, and the totals. Names are written by text.
func (t table) cells(text func(string) string) (head []string, lines [][]string) {
	for _, name := range slices.Concat(t.fields, t.metrics) {
		head = append(head, text(name))
	}
	for i, unit := range t.units {
		if unit != "" {
			head[len(t.fields)+i] += " (" + text(unit) + ")"
		}
	}
	line := func(labels []string, figures []figure) {
		cells := make([]string, len(head))
		for i, label := range labels {
			cells[i] = text(label)
		}
		for i, f := range figures {
			cells[len(t.fields)+i] = cmp.Or(text(f.text), t.locale.figure(f.number))
		}
		lines = append(lines, cells)
	}
	for _, r := range t.rows {
		line(t.labels(r), r.figures)
	}
	if rest := t.groups - len(t.rows); rest > 0 {
		line([]string{t.locale.count(rest)}, nil)
	}
	if t.total != nil {
		line([]string{t.locale.words.total}, t.total)
	}
	return head, lines
}

// markdown formats the table as GitHub Flavored Markdown.
func (t table) markdown() string {
	head, lines := t.cells(markdown.Escape)
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n%s%s|", markdown.Escape(t.title), strings.Join(head, " | "),
		strings.Repeat("|---", len(t.fields)), strings.Repeat("|--:", len(t.metrics)))
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
	figure figure
}

// groupsOf decodes an object of figures, sorted by figure, largest first, then by label.
func groupsOf(object jsontext.Value) []group {
	var groups []group
	var values map[string]*figure
	if json.Unmarshal(object, &values) != nil {
		return nil
	}
	for label, v := range values {
		groups = append(groups, group{label, figureOf(v)})
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.figure.number, a.figure.number), cmp.Compare(b.figure.text, a.figure.text),
			cmp.Compare(a.label, b.label))
	})
	return groups
}

// newest keeps the last of tables with the same title and metrics: a model that corrects
// itself computes twice.
func newest(tables []table) []table {
	var kept []table
	for i, t := range tables {
		same := func(o table) bool { return o.title == t.title && slices.Equal(o.metrics, t.metrics) }
		if !slices.ContainsFunc(tables[i+1:], same) {
			kept = append(kept, t)
		}
	}
	return kept
}
