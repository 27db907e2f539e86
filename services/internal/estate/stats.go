package estate

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// MaxGroups bounds the groups of a result; it has the largest ones.
const MaxGroups = 1000

// NullGroup is the label of records whose value is null or missing.
const NullGroup = "null"

// Bounds on a query: each field may require reading all records.
const (
	maxPathBytes  = 512
	maxConditions = 50
	maxMetrics    = 20
)

// A Query selects and aggregates the records of one array.
type Query struct {
	DataKey string `json:"data_key"`
	GroupBy string `json:"group_by"` // empty: total only
	// Filter has a condition per field: a value to equal, or {operator: value, …}. All
	// conditions must hold.
	Filter map[string]json.RawMessage `json:"filter"`
	// AnyOf has further filters. At least one of them must hold.
	AnyOf   []map[string]json.RawMessage `json:"any_of"`
	Metrics []string                     `json:"metrics"` // default: count
}

// Stats is the result of a Query. Groups and Total are those of the first metric.
type Stats struct {
	Groups     Groups             `json:"groups"`
	Total      Number             `json:"total"`
	Metrics    map[string]Figures `json:"metrics,omitempty"` // further metrics by name
	GroupCount int                `json:"group_count,omitzero"`
	Truncated  bool               `json:"truncated,omitzero"`
	Note       string             `json:"note,omitempty"` // a hint when the query may be wrong

	// Records is the number of records that match the filter.
	Records int `json:"-"`
}

// Figures are the values of one metric.
type Figures struct {
	Groups Groups `json:"groups"`
	Total  Number `json:"total"`
}

// Groups are ordered by the first metric, largest first, then by key.
type Groups []Group

// A Group is the value of a metric for the records with one label.
type Group struct {
	Key   string
	Value Number
}

// MarshalJSON returns an object whose members are in the order of g.
func (g Groups) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, group := range g {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quote([]byte(group.Key))...), ':')
		out = group.Value.append(out)
	}
	return append(out, '}'), nil
}

// Number is the value of a metric. NaN, which is null in JSON, means that there is none,
// such as the average of no numbers.
type Number float64

// MarshalJSON returns the shortest form; integers have no exponent.
func (n Number) MarshalJSON() ([]byte, error) { return n.append(nil), nil }

func (n Number) append(out []byte) []byte {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(out, "null"...)
	}
	return append(out, shortest(strconv.AppendFloat(nil, f, 'f', -1, 64))...)
}

// String returns the number as in JSON.
func (n Number) String() string { return string(n.append(nil)) }

func compute(ctx context.Context, e *Estate, q Query, maxGroups int) (Stats, error) {
	a, err := e.find(q.DataKey)
	if err != nil {
		return Stats{}, err
	}
	r := run{groupBy: q.GroupBy}
	if len(q.GroupBy) > maxPathBytes {
		return Stats{}, fmt.Errorf("group_by: expected a field of at most %d bytes", maxPathBytes)
	}
	if r.metrics, err = parseMetrics(q.Metrics); err != nil {
		return Stats{}, err
	}
	if r.filter, err = parseFilter(q.Filter); err != nil {
		return Stats{}, err
	}
	alternatives, err := parseAny(q.AnyOf)
	if err != nil {
		return Stats{}, err
	}
	n := len(a.starts)
	rows, err := selectRows(ctx, e, a, all(n), r.filter)
	if err != nil {
		return Stats{}, err
	}
	if rows, err = selectAny(ctx, e, a, rows, alternatives); err != nil {
		return Stats{}, err
	}
	r.records = len(rows)
	var by grouping
	if q.GroupBy != "" {
		col, err := e.column(ctx, a, q.GroupBy)
		if err != nil {
			return Stats{}, err
		}
		if by, err = group(ctx, rows, col, n); err != nil {
			return Stats{}, err
		}
		r.grouped = by.found
	}
	figures := make([]figures, len(r.metrics))
	for i, m := range r.metrics {
		var col *column
		if m.field != "" {
			if col, err = e.column(ctx, a, m.field); err != nil {
				return Stats{}, err
			}
		}
		figures[i] = m.figures(ctx, rows, col, n, by)
	}
	s := r.stats(ctx, by, figures, maxGroups)
	if err := ctx.Err(); err != nil {
		return Stats{}, err
	}
	s.Note, err = emptyResultNote(ctx, e, a, &r)
	return s, err
}

// selectRows returns the rows whose records meet all conditions, reusing the memory of
// rows.
func selectRows(ctx context.Context, e *Estate, a *array, rows []uint32, conditions []*condition) ([]uint32, error) {
	n := len(a.starts)
	for _, c := range conditions {
		col, err := e.column(ctx, a, c.field)
		if err != nil {
			return nil, err
		}
		if rows, err = c.narrow(ctx, rows, col, n); err != nil {
			return nil, err
		}
		for _, p := range c.peers {
			other, err := e.column(ctx, a, p.field)
			if err != nil {
				return nil, err
			}
			if rows, err = p.compare(ctx, rows, col, other, n); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// selectAny returns the rows whose records meet one of the alternatives, or all rows if
// there are none.
func selectAny(ctx context.Context, e *Estate, a *array, rows []uint32, alternatives [][]*condition) ([]uint32, error) {
	if len(alternatives) == 0 {
		return rows, nil
	}
	meets := make([]bool, len(a.starts))
	for _, conditions := range alternatives {
		some, err := selectRows(ctx, e, a, slices.Clone(rows), conditions)
		if err != nil {
			return nil, err
		}
		for _, row := range some {
			meets[row] = true
		}
	}
	return slices.DeleteFunc(rows, func(row uint32) bool { return !meets[row] }), nil
}

// run is the state of one computation.
type run struct {
	groupBy string
	filter  []*condition
	metrics []*metric
	records int
	grouped bool // a record had the field of groupBy, possibly null
}

// figures are the values of one metric by group and over all records.
type figures struct {
	groups []float64
	total  float64
}

func (r *run) stats(ctx context.Context, by grouping, of []figures, maxGroups int) Stats {
	s := Stats{Records: r.records, GroupCount: by.labels, Groups: Groups{}}
	ranked := by.rank(ctx, of[0].groups, maxGroups)
	s.Truncated = by.nonEmpty > len(ranked)
	for i, m := range r.metrics {
		f := Figures{Groups: make(Groups, len(ranked)), Total: Number(of[i].total)}
		for k, g := range ranked {
			f.Groups[k] = Group{by.keys[g], Number(of[i].groups[g])}
		}
		switch {
		case i == 0:
			s.Groups, s.Total = f.Groups, f.Total
		case s.Metrics == nil:
			s.Metrics = map[string]Figures{m.name: f}
		default:
			s.Metrics[m.name] = f
		}
	}
	return s
}

// unknownFields returns the fields of the query that no record had.
func (r *run) unknownFields() []string {
	var fields []string
	for _, c := range r.filter {
		if c.tested && !c.found {
			fields = append(fields, c.field)
		}
	}
	if r.records == 0 {
		return fields
	}
	if r.groupBy != "" && !r.grouped {
		fields = append(fields, r.groupBy)
	}
	for _, m := range r.metrics {
		if !m.found {
			fields = append(fields, m.field)
		}
	}
	return fields
}
