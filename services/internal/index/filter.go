package index

import (
	"cmp"
	"slices"

	"cairn/schemas"
)

// attributes are the fields of a document that filters compare.
type attributes struct {
	domain, status       string
	labels, capabilities []string
}

func (d Document) attributes() attributes {
	return attributes{d.Domain, cmp.Or(d.Status, schemas.StatusActive), d.Labels, d.Capabilities}
}

func (f Filter) empty() bool {
	return f.Domain == "" && f.Status == "" && len(f.Labels)+len(f.Capabilities) == 0
}

func (f Filter) fits(a attributes) bool {
	return (f.Domain == "" || f.Domain == a.domain) && (f.Status == "" || f.Status == a.status) &&
		within(f.Labels, a.labels) && within(f.Capabilities, a.capabilities)
}

// within reports whether all contains each of the texts.
func within(texts, all []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !slices.Contains(all, s) })
}

// clauses returns the filter as clauses of Elasticsearch.
func (f Filter) clauses() (list []object) {
	term := func(field, value string) { list = append(list, object{"term": object{field: value}}) }
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
	return list
}
