package index

import (
	"context"
	"slices"
	"strings"
)

// attributes are the fields of a document that filters compare. Fields of several values are
// in postings of the pool.
type attributes struct {
	id, domain, status, name, version string
	public                            bool
}

// folded returns the text as it is compared without case.
func folded(text string) string { return strings.ToLower(text) }

func (f Filter) empty() bool { return !f.Public && len(f.choices()) == 0 }

// choice is a list of values of a field, one of which a document has.
type choice struct {
	field     string
	values    []string
	attribute func(attributes) string // nil: a field of several values
}

// choices returns the lists of values that are not empty. Documents that satisfy all of them, and
// Public, satisfy the filter.
func (f Filter) choices() []choice {
	names := make([]string, len(f.Any.Names))
	for i, name := range f.Any.Names {
		names[i] = folded(name)
	}
	domain, status := func(a attributes) string { return a.domain }, func(a attributes) string { return a.status }
	all := []choice{
		{"id", f.Any.IDs, func(a attributes) string { return a.id }},
		{"name", names, func(a attributes) string { return a.name }},
		{"version", f.Any.Versions, func(a attributes) string { return a.version }},
		{"domain", f.Any.Domains, domain},
		{"status", f.Any.Statuses, status},
		{"capabilities", f.Any.Capabilities, nil},
	}
	if f.Domain != "" {
		all = append(all, choice{"domain", []string{f.Domain}, domain})
	}
	if f.Status != "" {
		all = append(all, choice{"status", []string{f.Status}, status})
	}
	for _, label := range f.Labels {
		all = append(all, choice{"labels", []string{label}, nil})
	}
	for _, capability := range f.Capabilities {
		all = append(all, choice{"capabilities", []string{capability}, nil})
	}
	for _, labels := range f.Any.Labels {
		all = append(all, choice{"labels", labels, nil})
	}
	return slices.DeleteFunc(all, func(c choice) bool { return len(c.values) == 0 })
}

// clauses returns the filter as clauses of Elasticsearch.
func (f Filter) clauses() (list []object) {
	for _, c := range f.choices() {
		list = append(list, object{"terms": object{c.field: c.values}})
	}
	if f.Public {
		list = append(list, object{"term": object{"public": true}})
	}
	return list
}

// checkInterval is the number of steps of a scan after which it checks its context.
const checkInterval = 4096

// scan finds the rows that satisfy the choices of a filter.
type scan struct {
	satisfied []uint32 // by row: the number of leading choices that it satisfies
	steps     int      // rows and entries that were compared
}

// step returns the error of the context at every checkInterval-th call.
func (s *scan) step(ctx context.Context) error {
	if s.steps++; s.steps%checkInterval == 0 {
		return ctx.Err()
	}
	return nil
}

// several marks the rows with one of the values, among those that satisfy the first i choices.
func (s *scan) several(ctx context.Context, rows postings[string], values []string, i uint32) error {
	for _, value := range values {
		for _, e := range rows[value] {
			if err := s.step(ctx); err != nil {
				return err
			}
			if s.satisfied[e.row] == i {
				s.satisfied[e.row]++
			}
		}
	}
	return nil
}

// single marks the rows whose field has one of the values, among those that satisfy the first i choices.
func (s *scan) single(ctx context.Context, rows []attributes, c choice, i uint32) error {
	values := make(map[string]bool, len(c.values))
	for _, value := range c.values {
		values[value] = true
	}
	for row := range rows {
		if err := s.step(ctx); err != nil {
			return err
		}
		if s.satisfied[row] == i && values[c.attribute(rows[row])] {
			s.satisfied[row]++
		}
	}
	return nil
}

// Filter selects the documents that a search considers: those that satisfy all of its
// fields. Empty fields match any document.
type Filter struct {
	Domain       string
	Status       string
	Labels       []string // name=value
	Capabilities []string
	Public       bool // only published documents
	Any          Any
}

// Any selects the documents with at least one value of each list that is not empty.
type Any struct {
	IDs          []string
	Names        []string // compared without case
	Versions     []string
	Domains      []string
	Statuses     []string
	Capabilities []string
	Labels       [][]string // each a list of name=value
}
