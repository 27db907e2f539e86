package index

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// errIncomparable is returned when the live index holds vectors of another model.
var errIncomparable = errors.New("vectors of another model")

// multiSearch is one _msearch request and its results.
type multiSearch struct {
	query Query
	question
	family string // index prefix of the query's model; empty: no vectors

	results // parts by text
}

// criterion is what a lookup compares.
type criterion int

const (
	byWords criterion = iota
	byVector
	byCoverage // the document with the most words
	byTenant   // any document, to identify the live generation
	byID       // the document that the query names
)

// lookup is one search in a multiSearch.
type lookup struct {
	part      int
	criterion criterion
	words     int // distinct words in the query, for coverage
	body      object
}

func (m *multiSearch) lookups() (all []lookup) {
	tenant, filter := m.query.Tenant, m.query.Filter
	m.parts = make([]part, len(m.texts))
	if len(m.texts) > 0 && !strings.ContainsFunc(m.id, unicode.IsSpace) {
		all = append(all, lookup{criterion: byID, body: idQuery(tenant, filter, m.id)})
	}
	if m.family != "" && len(m.texts) > 0 {
		all = append(all, lookup{criterion: byTenant, body: tenantQuery(tenant)})
	}
	for i, text := range m.texts {
		m.parts[i].plain = m.space.Lexical // Elasticsearch does not weight dimensions
		m.parts[i].static = m.space.Static
		words := newTerms(text)
		if len(words.all) > 0 {
			all = append(all, lookup{i, byWords, 0, textQuery(tenant, filter, strings.Join(words.all, " "))})
		}
		if len(words.all) > 0 && (m.space.Lexical || m.space.Name == "") {
			n := len(words.distinct)
			all = append(all, lookup{i, byCoverage, n, coverageQuery(tenant, filter, words.distinct)})
		}
		if dot(m.vectors[i], m.vectors[i]) > 0 {
			all = append(all, lookup{i, byVector, 0, vectorQuery(tenant, filter, m.family, m.vectors[i])})
		}
	}
	return all
}

// tenantQuery finds any document of a tenant. It detects a live generation of another
// model, in which a kNN search finds nothing without an error.
func tenantQuery(tenant string) object {
	return search(1, "query", object{"bool": object{"filter": filter(tenant, Filter{})}})
}

// add adds the result of a lookup.
func (m *multiSearch) add(l lookup, a response) error {
	if a.Status >= http.StatusMultipleChoices {
		switch err := (&statusError{a.Status, a.Error}); {
		case a.Status == http.StatusNotFound: // no live index, so nothing to compare with
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case l.criterion == byVector:
			return fmt.Errorf("%w: %w", errIncomparable, err)
		case err.invalid():
			return err
		default:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	if hits := a.Hits.Hits; m.family != "" && len(hits) > 0 && !strings.HasPrefix(hits[0].Index, m.family) {
		return errIncomparable
	}
	p := &m.parts[l.part]
	switch l.criterion {
	case byWords:
		p.text = a.matches(func(score float64) float64 { return score })
	case byVector:
		// Elasticsearch reports a cosine as (1 + cosine) / 2.
		p.vector = a.matches(func(score float64) float64 { return min(1, 2*score-1) })
	case byID:
		m.exact = len(a.Hits.Hits) > 0
	case byCoverage:
		for _, h := range a.Hits.Hits {
			p.coverage = min(1, max(0, h.Score/float64(l.words)))
		}
	}
	return nil
}
