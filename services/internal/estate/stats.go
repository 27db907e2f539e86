package estate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
)

// MaxGroups is how many groups a result holds; of more, the largest.
const MaxGroups = 1000

// NullGroup is the group of records whose value is null or missing.
const NullGroup = "null"

// Bounds on a query: each field named costs a look at every record.
const (
	maxPathBytes  = 512
	maxConditions = 50
	maxMetrics    = 20
)

// maxLabelBytes is where the name of a group is cut.
const maxLabelBytes = 4 << 10

// A Query asks for figures about the records of one array.
type Query struct {
	DataKey string `json:"data_key"`
	GroupBy string `json:"group_by"` // empty asks for the total only
	// Filter holds for each field a value that the record's must equal, or
	// {operator: value, …}. All must hold.
	Filter  map[string]json.RawMessage `json:"filter"`
	Metrics []string                   `json:"metrics"` // none is count
}

// Stats is the answer to a Query. Groups and Total are of the first metric.
type Stats struct {
	Groups     Groups             `json:"groups"`
	Total      Number             `json:"total"`
	Metrics    map[string]Figures `json:"metrics,omitempty"` // the further ones by name
	GroupCount int                `json:"group_count,omitzero"`
	Truncated  bool               `json:"truncated,omitzero"`
	Note       string             `json:"note,omitempty"` // what may be wrong with the query

	// Records is how many records match the filter, whatever the metrics.
	Records int `json:"-"`
}

// Figures are the values of one metric.
type Figures struct {
	Groups Groups `json:"groups"`
	Total  Number `json:"total"`
}

// Groups is ordered by the first metric, largest first, then by key.
type Groups []Group

// A Group is the records with one value, by its label.
type Group struct {
	Key   string
	Value Number
}

// Get returns the value of the group called key.
func (g Groups) Get(key string) (Number, bool) {
	for _, group := range g {
		if group.Key == key {
			return group.Value, true
		}
	}
	return 0, false
}

// MarshalJSON writes an object whose members are in the order of g.
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

// Number is a figure. Where there is none, such as the average of no numbers,
// it is NaN, which is null in JSON.
type Number float64

// MarshalJSON writes the shortest form; integers without exponent.
func (n Number) MarshalJSON() ([]byte, error) { return n.append(nil), nil }

func (n Number) append(out []byte) []byte {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(out, "null"...)
	}
	return append(out, shortest(strconv.AppendFloat(nil, f, 'f', -1, 64))...)
}

// String is the number as in JSON.
func (n Number) String() string { return string(n.append(nil)) }

// Stats computes the figures that q asks for. An unknown array gives an
// *UnknownKeyError; a metric, operator or operand that cannot be gives an
// error that says what can. A field that no record has is no error: its
// records group under "null" and Note tells.
//
// Records are grouped by label: numbers in their shortest form with all digits
// of integers, arrays and objects as compact JSON. The number 1 and the string
// "1" share the group "1", as null, a missing value and the string "null" share
// the group "null". GroupCount counts the labels that values have: null and
// missing are none.
func (e *Estate) Stats(q Query) (Stats, error) { return e.compute(q, MaxGroups) }

func (e *Estate) compute(q Query, maxGroups int) (Stats, error) {
	a, err := e.find(q.DataKey)
	if err != nil {
		return Stats{}, err
	}
	r := run{groupBy: q.GroupBy, groups: map[string]*tallies{}}
	if len(q.GroupBy) > maxPathBytes {
		return Stats{}, fmt.Errorf("group_by: want a field of at most %d bytes", maxPathBytes)
	}
	if r.metrics, err = parseMetrics(q.Metrics); err != nil {
		return Stats{}, err
	}
	if r.filter, err = parseFilter(q.Filter); err != nil {
		return Stats{}, err
	}
	r.total = newTallies(r.metrics)
	for record := range a.records() {
		r.add(record)
	}
	s := r.stats(maxGroups)
	s.Note = e.note(a, &r)
	return s, nil
}

// run is the state of one computation.
type run struct {
	groupBy string
	filter  []*condition
	metrics []*metric
	groups  map[string]*tallies
	empty   *tallies // of the records without a value to group by
	total   *tallies
	records int
	grouped bool // some record had the field to group by, null or not
}

func (r *run) add(record value) {
	for _, c := range r.filter {
		if !c.holds(record) {
			return
		}
	}
	r.records++
	group := r.group(record)
	for i, m := range r.metrics {
		m.add(record, &r.total.of[i], group, i)
	}
}

// group returns the tallies of the record's group, nil without grouping.
func (r *run) group(record value) *tallies {
	if r.groupBy == "" {
		return nil
	}
	v, ok := record.field(r.groupBy)
	r.grouped = r.grouped || ok
	if !ok || v.kind() == kindNull {
		if r.empty == nil {
			r.empty = newTallies(r.metrics)
		}
		return r.empty
	}
	label := v.label()
	g := r.groups[string(label)]
	if g == nil {
		g = newTallies(r.metrics)
		r.groups[string(label)] = g
	}
	return g
}

// ranked is a group with its figures.
type ranked struct {
	key    string
	values []Number
}

func (r *run) stats(maxGroups int) Stats {
	s := Stats{Records: r.records, GroupCount: len(r.groups), Groups: Groups{}}
	if r.empty != nil {
		if g := r.groups[NullGroup]; g != nil {
			r.empty.merge(g)
		}
		r.groups[NullGroup] = r.empty
	}
	all := r.rank()
	if s.Truncated = len(all) > maxGroups; s.Truncated {
		all = all[:maxGroups]
	}
	totals := r.total.values(r.metrics)
	for i, m := range r.metrics {
		f := Figures{Groups: make(Groups, len(all)), Total: totals[i]}
		for k, g := range all {
			f.Groups[k] = Group{g.key, g.values[i]}
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

func (r *run) rank() []ranked {
	all := make([]ranked, 0, len(r.groups))
	for label, t := range r.groups {
		all = append(all, ranked{groupKey(label), t.values(r.metrics)})
	}
	sort.Slice(all, func(i, k int) bool {
		x, y := all[i].values[0], all[k].values[0]
		if x == y || x != x && y != y { // NaN is last.
			return all[i].key < all[k].key
		}
		return x > y || y != y
	})
	return all
}

// groupKey is the label, or when that is very long its beginning and a sum of
// the rest, so that two groups do not become one.
func groupKey(label string) string {
	if len(label) <= maxLabelBytes {
		return label
	}
	return string(shorten(bytes.Clone([]byte(label)), maxLabelBytes)) + checksum(label)
}
