package index

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// errIncomparable says that the live index has no vectors like the query's.
var errIncomparable = errors.New("vectors of another model")

// round is what is asked in one request, and what is found.
type round struct {
	query Query
	question
	family string // of the indices with vectors of the question's model; empty: it has no vectors

	found [2][]part // by scope
}

// side is what a lookup goes by.
type side int

const (
	byWords side = iota
	byVector
	byCoverage // finds who has most of the words
	byScope    // finds anyone, to tell which index answers
)

// lookup is one search of a round.
type lookup struct {
	scope, part int
	side        side
	words       int // asked for, to tell the share of those that are found
	body        object
}

// scopes returns the collections asked, the one preferred first.
func (r *round) scopes() []string {
	if r.query.Tenant == "" {
		return []string{""}
	}
	return []string{r.query.Tenant, ""}
}

func (r *round) lookups() (all []lookup) {
	for scope, tenant := range r.scopes() {
		r.found[scope] = make([]part, len(r.texts))
		if r.family != "" && len(r.texts) > 0 {
			all = append(all, lookup{side: byScope, body: scopeQuery(tenant)})
		}
		for i, text := range r.texts {
			r.found[scope][i].plain = r.space.Lexical // Elasticsearch weighs no dimensions
			words := newAsking(text)
			if len(words.all) > 0 {
				all = append(all, lookup{scope, i, byWords, 0, textQuery(tenant, strings.Join(words.all, " "))})
			}
			if len(words.all) > 0 && (r.space.Lexical || r.space.Name == "") {
				n := len(words.distinct)
				all = append(all, lookup{scope, i, byCoverage, n, coverageQuery(tenant, words.distinct)})
			}
			if dot(r.vectors[i], r.vectors[i]) > 0 {
				all = append(all, lookup{scope, i, byVector, 0, vectorQuery(tenant, r.family, r.vectors[i])})
			}
		}
	}
	return all
}

// scopeQuery finds one document of a collection. Vectors of one model find
// nothing among those of another, and would not tell why.
func scopeQuery(tenant string) object {
	return search(1, "query", object{"bool": object{"filter": filter(tenant)}})
}

// note takes an answer in. Who asked by vectors in vain asks again without.
func (r *round) note(l lookup, a response) error {
	if a.Status >= http.StatusMultipleChoices {
		switch err := (&statusError{a.Status, a.Error}); {
		case a.Status == http.StatusNotFound: // no index is live, so there is nothing to compare with
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case l.side == byVector:
			return fmt.Errorf("%w: %w", errIncomparable, err)
		case err.ours():
			return err
		default:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	if hits := a.Hits.Hits; r.family != "" && len(hits) > 0 && !strings.HasPrefix(hits[0].Index, r.family) {
		return errIncomparable
	}
	p := &r.found[l.scope][l.part]
	switch l.side {
	case byWords:
		p.text = a.matches(func(score float64) float64 { return score })
	case byVector:
		// The score of a cosine is (1 + cosine) / 2.
		p.vector = a.matches(func(score float64) float64 { return min(1, 2*score-1) })
	case byCoverage:
		for _, h := range a.Hits.Hits {
			p.coverage = min(1, max(0, h.Score/float64(l.words)))
		}
	}
	return nil
}

func (r *round) result() Result {
	for scope, tenant := range r.scopes() {
		if hits := relevant(r.found[scope], r.space, r.query.TopK); len(hits) > 0 {
			return Result{Hits: hits, Tenant: tenant, Degraded: r.degraded}
		}
	}
	return Result{Degraded: r.degraded}
}
