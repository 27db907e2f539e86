package render

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// mostRows is what people read of a table; the largest come first.
const mostRows = 20

// table is a breakdown: a figure of each metric for each group.
type table struct {
	title   string // of what records, by what
	by      string
	metrics []string
	rows    []row
	total   []float64 // by metric
	groups  int       // also those without a row
	in      tongue
	text    string // as the reader gets it
}

type row struct {
	label   string
	figures []float64 // by metric; NaN: there is none
}

// holds reports whether a line is an item, "- label: value", that a row says too.
func (t table) holds(line string) bool {
	item, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
	at := strings.LastIndex(item, ": ")
	if !listed || at < 0 {
		return false
	}
	label, value := strings.TrimSpace(item[:at]), strings.TrimSpace(item[at+2:])
	return slices.ContainsFunc(t.rows, func(r row) bool {
		return (label == r.label || label == t.in.label(r.label)) &&
			slices.ContainsFunc(r.figures, func(f float64) bool { return t.in.shows(f, value) })
	})
}

// listed is how many rows a list of the same has: those of values with a figure.
func (t table) listed() (n int) {
	for _, r := range t.rows {
		if r.label != noValue && !math.IsNaN(r.figures[0]) {
			n++
		}
	}
	return n
}

// asked is the input of a computation.
type asked struct {
	DataKey string   `json:"data_key"`
	GroupBy string   `json:"group_by"`
	Metrics []string `json:"metrics"`

	Filter map[string]jsontext.Value `json:"filter"`
}

// computed is its result.
type computed struct {
	figures
	Metrics    map[string]figures `json:"metrics"`
	GroupCount int                `json:"group_count"`
}

// figures are those of one metric.
type figures struct {
	Groups jsontext.Value `json:"groups"`
	Total  *float64       `json:"total"`
}

// tablesOf are the breakdowns of an analysis, in their order.
func tablesOf(r schemas.Rendering, in tongue) []table {
	var all []table
	for i, use := range r.ToolUses {
		var a asked
		var c computed
		if i >= len(r.ToolResults) || json.Unmarshal(use.Input, &a) != nil || json.Unmarshal(r.ToolResults[i], &c) != nil {
			continue // a call that went wrong
		}
		if t := newTable(a, c, in); len(t.rows) > 1 {
			all = append(all, t)
		}
	}
	return all
}

func newTable(a asked, c computed, in tongue) table {
	t := table{title: in.title(a), by: a.GroupBy, in: in}
	for _, name := range a.Metrics {
		if !slices.Contains(t.metrics, name) { // which is computed once
			t.metrics = append(t.metrics, name)
		}
	}
	if len(t.metrics) == 0 {
		t.metrics = []string{"count"}
	}
	groups := groupsOf(c.Groups)
	t.groups = max(c.GroupCount, len(groups))
	t.total = []float64{figureOf(c.Total)}
	for _, g := range groups[:min(len(groups), mostRows)] {
		t.rows = append(t.rows, row{g.label, []float64{g.figure}})
	}
	for _, name := range t.metrics[1:] { // which have the groups of the first
		t.add(c.Metrics[name])
	}
	return t
}

// add is for a further metric.
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

type group struct {
	label  string
	figure float64
}

// groupsOf reads the members of an object in their order: the largest first.
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

// newest leaves of tables about the same the last one: a model that corrects
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
