package estate

import (
	"math"
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

// resultSize is the memory of a group or cell with the unused part of its list or map, in bytes.
const resultSize = 80

// Size returns the approximate memory of the groups and rows in bytes.
func (s Stats) Size() int {
	n := resultSize * len(s.Groups)
	for _, f := range s.Metrics {
		n += resultSize * len(f.Groups)
	}
	for _, r := range s.Rows {
		n += resultSize * (1 + len(r.Metrics))
	}
	return n
}

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
	for _, group := range g {
		out = append(append(out, quote([]byte(group.Key))...), ':')
		out = append(group.append(out), ',')
	}
	return closed(out, '}'), nil
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
