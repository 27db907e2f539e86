package estate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// MaxGroups bounds the groups of a result; it has the largest ones.
const MaxGroups = 1000

// NullGroup is the label of records whose value is null or missing.
const NullGroup = "null"

// Stats is the result of a Query. Groups and Total are those of the first metric.
type Stats struct {
	Groups  Groups             `json:"groups"` // of one group field
	Total   Number             `json:"total"`
	Unit    string             `json:"unit,omitempty"`    // of groups and total, if they are quantities
	Metrics map[string]Figures `json:"metrics,omitempty"` // further metrics by name
	Rows    []Row              `json:"rows,omitempty"`    // of several group fields
	// GroupCount is the number of groups, without those of null and missing values.
	GroupCount int               `json:"group_count,omitzero"`
	Truncated  bool              `json:"truncated,omitzero"`
	OverGroups map[string]Number `json:"over_groups,omitempty"`
	Names      []Name            `json:"names,omitempty"`
	NamesUnit  string            `json:"names_unit,omitempty"` // of the values of Names, if they are quantities
	MoreNames  int               `json:"more_names,omitzero"`  // records that match and are not in Names
	Share      *ShareOf          `json:"share,omitempty"`
	Matched    int               `json:"matched"` // records that match the filter
	Records    int               `json:"records"` // of the array
	// Coverage has the fields of groups and metrics for which some matching records have no value to compute with.
	Coverage map[string]Coverage `json:"coverage,omitempty"`
	Note     string              `json:"note,omitempty"` // a hint when the query may be wrong
}

// Listed returns the number of groups in the result.
func (s Stats) Listed() int { return max(len(s.Groups), len(s.Rows)) }

// Largest returns the result with its n largest groups.
func (s Stats) Largest(n int) Stats {
	s.Groups, s.Rows, s.Truncated = s.Groups[:min(n, len(s.Groups))], s.Rows[:min(n, len(s.Rows))], true
	further := map[string]Figures{}
	for name, f := range s.Metrics {
		f.Groups = f.Groups[:min(n, len(f.Groups))]
		further[name] = f
	}
	s.Metrics = further
	return s
}

// Figures are the values of one metric.
type Figures struct {
	Groups Groups `json:"groups"`
	Total  Cell   `json:"total"`
	Unit   string `json:"unit,omitempty"`
}

// A Row is a group by several fields.
type Row struct {
	By      []string        `json:"by"` // a label of each field
	Value   Number          `json:"value"`
	Metrics map[string]Cell `json:"metrics,omitempty"` // further metrics by name
}

// A Name is a record that matches.
type Name struct {
	Name  string `json:"name"`
	Value *Cell  `json:"value,omitempty"` // of top
}

// ShareOf is the number of records that match among those that match another filter.
type ShareOf struct {
	Records int    `json:"records"`
	Of      int    `json:"of"`
	Percent Number `json:"percent"` // with up to four decimals; null of no records
}

// Coverage counts the matching records whose field has no value to compute with.
type Coverage struct {
	ReadAs  string `json:"read_as,omitempty"` // number, quantity or date, for texts
	Null    int    `json:"null,omitzero"`
	Missing int    `json:"missing,omitzero"`
	Skipped int    `json:"skipped,omitzero"` // values of another type
}

// Groups are ordered by the first metric, largest first, then by key.
type Groups []Group

// A Group is the value of a metric for the records with one label.
type Group struct {
	Key string
	Cell
}

// MarshalJSON returns an object whose members are in the order of g.
func (g Groups) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, group := range g {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quote([]byte(group.Key))...), ':')
		out = group.append(out)
	}
	return append(out, '}'), nil
}

// A Cell is a number, or a text if IsText is set.
type Cell struct {
	Value  Number
	Text   string
	IsText bool
}

// MarshalJSON returns a number, a string or null.
func (c Cell) MarshalJSON() ([]byte, error) { return c.append(nil), nil }

func (c Cell) append(out []byte) []byte {
	if c.IsText {
		return append(out, quote([]byte(c.Text))...)
	}
	return c.Value.append(out)
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

// computation is the state of one query.
type computation struct {
	selection
	parsedQuery
	maxGroups int
	absent    []string // fields of groups and names that no selected record has
	result    Stats
}

func compute(ctx context.Context, e *Estate, q Query, maxGroups int) (Stats, error) {
	a, err := e.find(ctx, q.DataKey)
	if err != nil {
		return Stats{}, err
	}
	p, err := q.parse()
	if err != nil {
		return Stats{}, err
	}
	x := newReader(ctx, e)
	defer x.close()
	c := computation{selection: selection{reader: x, array: a}, parsedQuery: p, maxGroups: maxGroups}
	c.result = Stats{Groups: Groups{}, Records: a.count}
	if c.join, err = c.openLookups(ctx, p.Lookup); err != nil {
		return Stats{}, err
	}
	if err := c.selectRows(ctx); err != nil {
		return Stats{}, err
	}
	if err := c.addFigures(ctx); err != nil {
		return Stats{}, err
	}
	if err := c.addNames(ctx); err != nil {
		return Stats{}, err
	}
	c.result.Note, err = c.note(ctx)
	return c.result, err
}

// selectRows selects the records that match, after computing the share if one is requested.
func (c *computation) selectRows(ctx context.Context) error {
	if c.Share != nil {
		some := c.selection
		if err := some.all(ctx); err != nil {
			return err
		}
		if err := some.narrow(ctx, c.of); err != nil {
			return err
		}
		share := ShareOf{Of: len(some.rows)}
		if err := some.match(ctx, c.filter, c.alternatives); err != nil {
			return err
		}
		share.Records = len(some.rows)
		share.Percent = Number(math.Round(float64(share.Records)/float64(share.Of)*1e6) / 1e4)
		c.result.Share = &share
	}
	if err := c.all(ctx); err != nil {
		return err
	}
	err := c.match(ctx, c.filter, c.alternatives)
	c.result.Matched = len(c.rows)
	return err
}

// match keeps the rows whose records meet all conditions and one of the alternatives.
func (s *selection) match(ctx context.Context, filter []*condition, alternatives [][]*condition) error {
	if err := s.narrow(ctx, filter); err != nil {
		return err
	}
	return s.narrowAny(ctx, alternatives)
}

// addFigures computes the metrics over all selected records and over groups.
func (c *computation) addFigures(ctx context.Context) error {
	by, err := c.group(ctx)
	if err != nil {
		return err
	}
	measures := make([]measure, 0, len(c.metrics)+1)
	for _, m := range c.metrics {
		v, err := c.measure(ctx, m)
		if err != nil {
			return err
		}
		if v.texts != nil && len(measures) == 0 { // groups and total are numbers
			measures = append(measures, measure{metric: countMetric})
		}
		if len(measures) == 0 || m.name != measures[0].name {
			measures = append(measures, v)
		}
	}
	ranked, figures, total, err := c.rankGroups(ctx, &by, measures[0])
	if err != nil {
		return err
	}
	var rows, groups []uint32
	if len(measures) > 1 {
		rows, groups = by.ranked(ranked)
	}
	for i, v := range measures {
		if i > 0 {
			if figures, total, err = c.figures(ctx, v, rows, groups, len(ranked)); err != nil {
				return err
			}
		}
		isPart := i > 0 && len(rows) != len(c.rows) // some groups are left out
		if isPart || len(by.rows) != len(c.rows) {  // or lists are divided
			if _, total, err = c.figures(ctx, v, c.rows, nil, 0); err != nil {
				return err
			}
		}
		c.add(i == 0, v, by, ranked, figures, total)
	}
	return ctx.Err()
}

// add adds the figures of a metric to the result: those of the ranked groups, and over all records.
func (c *computation) add(first bool, v measure, by grouping, ranked []uint32, figures []float64, total float64) {
	f := Figures{Total: v.cell(total), Unit: v.unit, Groups: Groups{}}
	for k, figure := range figures {
		value := v.cell(figure)
		switch {
		case len(c.GroupBy) == 1:
			f.Groups = append(f.Groups, Group{by.keys[0][ranked[k]], value})
		case first:
			c.result.Rows = append(c.result.Rows, Row{By: by.labels(ranked[k]), Value: value.Value})
		case c.result.Rows[k].Metrics == nil:
			c.result.Rows[k].Metrics = map[string]Cell{v.name: value}
		default:
			c.result.Rows[k].Metrics[v.name] = value
		}
	}
	switch {
	case first:
		c.result.Groups, c.result.Total, c.result.Unit = f.Groups, f.Total.Value, f.Unit
	case c.result.Metrics == nil:
		c.result.Metrics = map[string]Figures{v.name: f}
	default:
		c.result.Metrics[v.name] = f
	}
}

// rankGroups returns the first groups by the first metric, among those that meet the conditions on groups, with their
// figures, and the figure over all of their records.
func (c *computation) rankGroups(ctx context.Context, by *grouping, first measure) (
	ranked []uint32, kept []float64, total float64, err error,
) {
	n := len(by.counts)
	if err := c.acquire(8 * n); err != nil {
		return nil, nil, 0, err
	}
	figures, total := by.countFigures(), float64(len(c.rows))
	if first.field != "" {
		figures, total, err = c.figures(ctx, first, by.rows, by.of, n)
	}
	if err != nil || len(c.GroupBy) == 0 {
		return nil, nil, total, err
	}
	for i, m := range c.havingBy {
		v, err := c.measure(ctx, m)
		if err != nil {
			return nil, nil, 0, err
		}
		if v.texts != nil {
			return nil, nil, 0, fmt.Errorf("having %q: expected a metric that is a number", m.name)
		}
		matches, err := bindAll(ctx, c.reader, newColumn(m.name, 1<<kindNumber, 0, nil, nil, nil), c.having[i].tests)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("having %q: %w", m.name, err)
		}
		limits, _, err := c.figures(ctx, v, by.rows, by.of, n)
		if err != nil {
			return nil, nil, 0, err
		}
		for g, figure := range limits {
			if by.counts[g] > 0 && (figure != figure || !matches(operand{kindNumber, Number(figure).String()}, 0)) {
				by.drop(g)
			}
		}
	}
	if len(c.OverGroups) > 0 && c.metrics[0].name != first.name {
		return nil, nil, 0, fmt.Errorf("over_groups: %q is no number", c.metrics[0].name)
	}
	c.result.GroupCount = by.nonNull
	if len(c.OverGroups) > 0 {
		c.result.OverGroups = by.over(ctx, c.OverGroups, figures)
	}
	ranked = by.rank(ctx, figures, c.maxGroups)
	c.result.Truncated = by.nonEmpty > len(ranked)
	kept = make([]float64, len(ranked))
	for k, g := range ranked {
		kept[k] = figures[g]
	}
	return ranked, kept, total, ctx.Err()
}

// cover counts the selected records whose field has no value to compute with.
func (c *computation) cover(path string, col *column, numbers []float64, readAs string) {
	use := Coverage{ReadAs: readAs}
	codes := col.dense(c.array.count)
	if col.nulls > 0 || len(col.codes) < len(codes) || col.gaps || numbers != nil {
		for _, row := range c.rows {
			switch code := codes[row]; {
			case code == codeMissing:
				use.Missing++
			case code == codeNull:
				use.Null++
			case numbers != nil && numbers[code-codeValues] != numbers[code-codeValues]:
				use.Skipped++
			}
		}
	}
	if use == (Coverage{}) || use.Missing == len(c.rows) {
		return // a field that no record has is in the note
	}
	if c.result.Coverage == nil {
		c.result.Coverage = map[string]Coverage{}
	}
	if known, ok := c.result.Coverage[path]; ok { // of another metric of the field
		use.ReadAs, use.Skipped = cmp.Or(use.ReadAs, known.ReadAs), max(use.Skipped, known.Skipped)
	}
	c.result.Coverage[path] = use
}

// unknownFields returns the fields of the query that no selected record has.
func (c *computation) unknownFields() []string {
	var fields []string
	for _, condition := range slices.Concat(slices.Concat(c.alternatives...), c.filter, c.of) {
		if condition.tested && !condition.found && !slices.Contains(fields, condition.field) {
			fields = append(fields, condition.field)
		}
	}
	if len(c.rows) == 0 {
		return fields
	}
	fields = append(fields, c.absent...)
	for _, m := range append(c.metrics, c.havingBy...) {
		if m.field != "" && !m.found {
			fields = append(fields, m.field)
		}
	}
	return fields
}
