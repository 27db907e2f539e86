package index

import (
	"slices"
	"strings"
)

// attributes are the fields of a document that filters compare.
type attributes struct {
	id, domain, status, name, version string
	labels, capabilities              []string
	public                            bool
}

// folded returns the text as it is compared without case.
func folded(text string) string { return strings.ToLower(text) }

func (f Filter) empty() bool {
	return f.Domain == "" && f.Status == "" && len(f.Labels)+len(f.Capabilities) == 0 && !f.Public && len(f.Any.choices()) == 0
}

func (f Filter) matches(a attributes) bool {
	return (f.Domain == "" || f.Domain == a.domain) && (f.Status == "" || f.Status == a.status) &&
		within(f.Labels, a.labels) && within(f.Capabilities, a.capabilities) && (a.public || !f.Public) && f.Any.matches(a)
}

// within reports whether all contains each of the texts.
func within(texts, all []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !slices.Contains(all, s) })
}

func (y Any) matches(a attributes) bool {
	for _, c := range y.choices() {
		has := c.of(a)
		if !slices.ContainsFunc(c.values, func(s string) bool { return slices.Contains(has, s) }) {
			return false
		}
	}
	return true
}

// choice is a list of values of a field, one of which a document has.
type choice struct {
	field  string
	values []string
	of     func(attributes) []string
}

// choices returns the lists that are not empty.
func (y Any) choices() []choice {
	names := make([]string, len(y.Names))
	for i, name := range y.Names {
		names[i] = folded(name)
	}
	all := []choice{
		{"id", y.IDs, func(a attributes) []string { return []string{a.id} }},
		{"name", names, func(a attributes) []string { return []string{a.name} }},
		{"version", y.Versions, func(a attributes) []string { return []string{a.version} }},
		{"domain", y.Domains, func(a attributes) []string { return []string{a.domain} }},
		{"status", y.Statuses, func(a attributes) []string { return []string{a.status} }},
		{"capabilities", y.Capabilities, func(a attributes) []string { return a.capabilities }},
	}
	for _, labels := range y.Labels {
		all = append(all, choice{"labels", labels, func(a attributes) []string { return a.labels }})
	}
	return slices.DeleteFunc(all, func(c choice) bool { return len(c.values) == 0 })
}

// clauses returns the filter as clauses of Elasticsearch.
func (f Filter) clauses() (list []object) {
	term := func(field string, value any) { list = append(list, object{"term": object{field: value}}) }
	if f.Domain != "" {
		term("domain", f.Domain)
	}
	if f.Status != "" {
		term("status", f.Status)
	}
	for _, label := range f.Labels {
		term("labels", label)
	}
	for _, capability := range f.Capabilities {
		term("capabilities", capability)
	}
	if f.Public {
		term("public", true)
	}
	for _, c := range f.Any.choices() {
		list = append(list, object{"terms": object{c.field: c.values}})
	}
	return list
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
