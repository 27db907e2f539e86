package estate

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Bounds on a query: each field may require reading all records.
const (
	maxPathBytes   = 512
	maxConditions  = 50
	maxMetrics     = 20
	maxGroupBy     = 3
	maxLookups     = 5
	maxListedNames = 100
	defaultNames   = 20
)

// A Query selects and aggregates the records of one array.
type Query struct {
	DataKey string  `json:"data_key"`
	GroupBy GroupBy `json:"group_by"`
	// Filter selects records. All of its conditions must hold.
	Filter Filter `json:"filter"`
	// AnyOf has further filters. At least one of them must hold.
	AnyOf   []Filter `json:"any_of"`
	Metrics []string `json:"metrics"` // default: count
	// Having has conditions on the groups, by metric.
	Having Filter `json:"having"`
	// OverGroups are the figures over the groups' values of the first metric: avg, min, max, sum, p50, p95 or count.
	OverGroups []string          `json:"over_groups"`
	Names      *Names            `json:"names"`
	Top        *Top              `json:"top"`
	Share      *Share            `json:"share"`
	Lookup     map[string]Lookup `json:"lookup"`
}

// GroupBy has up to three fields; none: total only. In JSON, one field may be a string.
type GroupBy []string

// UnmarshalJSON reads a string or an array of strings; empty ones are no fields.
func (g *GroupBy) UnmarshalJSON(data []byte) error {
	fields := make([]string, 1)
	target := any(&fields[0])
	if data[0] == '[' {
		target = &fields
	}
	if err := json.Unmarshal(data, target); err != nil {
		return fmt.Errorf("expected a field or an array of up to %d fields", maxGroupBy)
	}
	*g = GroupBy(fields).Named()
	return nil
}

// Named returns the fields that are not empty.
func (g GroupBy) Named() GroupBy {
	return slices.DeleteFunc(g, func(field string) bool { return field == "" })
}

// Names requests the names of the records that match.
type Names struct {
	Limit int    `json:"limit"` // 1 to 100, default 20
	Field string `json:"field"` // default: the field that names the records
}

// Top requests the names of the records with the largest or smallest values of a field.
type Top struct {
	By    string `json:"by"`
	Order string `json:"order"` // desc (default) or asc
	Limit int    `json:"limit"` // 1 to 100, default 1; further records with the last value are added
}

// Share requests the share of the records that match Of which also match the filter of the query.
type Share struct {
	Of Filter `json:"of"`
}

// Lookup finds the record of another array whose Field has the value of a field. Its fields then follow that field,
// as in dockerHost.provider.
type Lookup struct {
	DataKey string `json:"data_key"`
	Field   string `json:"field"`
}

// parsedQuery is a validated query.
type parsedQuery struct {
	Query
	filter       []*condition
	alternatives [][]*condition
	metrics      []*metric
	having       []*condition // by metric
	havingBy     []*metric
	base         []*condition
}

func (q Query) parse() (p parsedQuery, err error) {
	q.GroupBy = slices.Clone(q.GroupBy).Named()
	p.Query = q
	tooLong := func(field string) bool { return len(field) > maxPathBytes }
	if len(q.GroupBy) > maxGroupBy || slices.ContainsFunc(q.GroupBy, tooLong) {
		return p, fmt.Errorf("group_by: expected up to %d fields of at most %d bytes", maxGroupBy, maxPathBytes)
	}
	if p.metrics, err = parseMetrics(q.Metrics); err != nil {
		return p, err
	}
	if p.filter, err = parseFilter("filter", q.Filter, true); err != nil {
		return p, err
	}
	if p.alternatives, err = parseAny(q.AnyOf); err != nil {
		return p, err
	}
	if q.Share != nil {
		if p.base, err = parseFilter("share of", q.Share.Of, true); err != nil {
			return p, err
		}
	}
	if err := p.parseGroups(); err != nil {
		return p, err
	}
	return p, p.parseNames()
}

// parseGroups parses the arguments about groups.
func (p *parsedQuery) parseGroups() (err error) {
	if (len(p.Having) > 0 || len(p.OverGroups) > 0) && len(p.GroupBy) == 0 {
		return fmt.Errorf("having and over_groups need group_by")
	}
	for name, raw := range p.Having {
		var number float64
		var bounds map[string]float64
		if json.Unmarshal(raw, &number) != nil && json.Unmarshal(raw, &bounds) != nil {
			return fmt.Errorf("having %q: expected a number, or numbers by operator, as in {\"gt\": 5}",
				string(truncate([]byte(name), maxPathBytes)))
		}
	}
	if p.having, err = parseFilter("having", p.Having, false); err != nil {
		return err
	}
	for _, c := range p.having {
		m, err := parseMetric(c.field)
		if err != nil {
			return fmt.Errorf("having: %w", err)
		}
		p.havingBy = append(p.havingBy, m)
	}
	for _, op := range p.OverGroups {
		if !slices.Contains([]string{"avg", "min", "max", "sum", "p50", "p95", "count"}, op) {
			return fmt.Errorf("over_groups: expected avg, min, max, sum, p50, p95 or count, got %q",
				string(truncate([]byte(op), 64)))
		}
	}
	return nil
}

// parseNames validates the arguments that return names, and lookups.
func (p *parsedQuery) parseNames() error {
	if n := p.Names; n != nil && (n.Limit < 0 || n.Limit > maxListedNames || len(n.Field) > maxPathBytes) {
		return fmt.Errorf("names: expected {\"limit\": 1 to %d, \"field\": name}, both optional", maxListedNames)
	}
	if t := p.Top; t != nil {
		isOrder := t.Order == "" || t.Order == "asc" || t.Order == "desc"
		if t.Limit < 0 || t.Limit > maxListedNames || t.By == "" || len(t.By) > maxPathBytes || !isOrder {
			return fmt.Errorf(`top: expected {"by": field, "order": "desc" or "asc", "limit": 1 to %d}`, maxListedNames)
		}
	}
	if len(p.Lookup) > maxLookups {
		return fmt.Errorf("lookup: expected at most %d fields", maxLookups)
	}
	for field, l := range p.Lookup {
		if field == "" || l.Field == "" || len(field) > maxPathBytes || len(l.Field) > maxPathBytes {
			return fmt.Errorf("lookup: expected {field: {\"data_key\": array, \"field\": name}}")
		}
	}
	return nil
}
