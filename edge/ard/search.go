package ard

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"cairn/schemas"
)

// Search is a search for entries.
type Search struct {
	publisher  Publisher
	request    schemas.ARDSearch
	query      schemas.RecordSearch
	ids        []string // accepted identifiers; nil: all
	digest     string   // of the query, in page tokens
	impossible bool     // no entry satisfies the filter
}

// Search returns the entries of the tenant, and global ones, that match the request.
func (p Publisher) Search(find func(schemas.RecordSearch) (schemas.RecordHits, error), tenant string, r schemas.ARDSearch) (
	schemas.ARDResults, error,
) {
	search, err := p.NewSearch(r, tenant)
	if err != nil {
		return schemas.ARDResults{}, err
	}
	var hits schemas.RecordHits
	if query, possible := search.Query(); possible {
		if hits, err = find(query); err != nil {
			return schemas.ARDResults{}, err
		}
	}
	return search.Results(hits), nil
}

// metadata is the path of labels in a filter, before the name.
const metadata = "metadata."

// restrict adds the values of a path of the filter. It reports whether the path is supported.
func (s *Search) restrict(path string, values []string) bool {
	switch path {
	case "type":
		s.keepKinds(func(kind, media string) bool { return slices.Contains(values, media) })
	case "publisher":
		s.impossible = s.impossible || !slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, s.publisher.domain) })
	case "identifier":
		s.identified(values)
	case "displayName":
		s.query.Any.DisplayNames = values
	case "version":
		s.query.Any.Versions = values
	case "status":
		s.query.Any.Statuses = values
	case "capabilities":
		s.query.Any.Capabilities = values
	case "tags":
		s.query.Any.Domains = values
	default:
		name, ok := strings.CutPrefix(path, metadata)
		if !ok || name == "" {
			return false
		}
		terms := make([]string, len(values))
		for i, value := range values {
			terms[i] = name + "=" + value
		}
		s.query.Any.Labels = append(s.query.Any.Labels, terms)
	}
	return true
}

// keepKinds removes the kinds for which keep returns false.
func (s *Search) keepKinds(keep func(kind, media string) bool) {
	var left []string
	for _, k := range resources {
		if (s.query.Kinds == nil || slices.Contains(s.query.Kinds, k.kind)) && keep(k.kind, k.media) {
			left = append(left, k.kind)
		}
	}
	s.query.Kinds, s.impossible = left, s.impossible || len(left) == 0
}

// identified restricts the search to the records of the identifiers.
func (s *Search) identified(urns []string) {
	var named []string
	for _, urn := range urns {
		if of, ok := s.publisher.parse(urn); ok {
			named = append(named, of.kind)
			s.query.Any.IDs = append(s.query.Any.IDs, of.id)
		}
	}
	s.ids = urns
	s.keepKinds(func(kind, _ string) bool { return slices.Contains(named, kind) })
}

// Query returns the search of records, or false if it finds nothing.
func (s Search) Query() (schemas.RecordSearch, bool) { return s.query, !s.impossible }

// offset returns the offset of a page token.
func (s Search) offset(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	digits, digest, _ := strings.Cut(token, ".")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > schemas.MaxSearchOffset || digest != s.digest || strconv.Itoa(n) != digits {
		return 0, schemas.ErrMalformed.With(schemas.FieldError{
			Field: "pageToken", Message: "expected the unmodified pageToken of a page of the same query",
		})
	}
	return n, nil
}

// Results returns the page of entries for the records that were found.
func (s Search) Results(found schemas.RecordHits) schemas.ARDResults {
	page := schemas.ARDResults{Results: []schemas.ARDResult{}}
	for _, h := range found.Hits {
		e, ok := s.publisher.Entry(h.Kind, h.Record)
		if !ok || s.ids != nil && !slices.Contains(s.ids, e.Identifier) {
			continue
		}
		page.Results = append(page.Results, schemas.ARDResult{
			ARDEntry: e, Score: int(math.Round(100 * min(1, max(0, h.Score)))), Source: s.publisher.source(),
		})
	}
	if s.request.Federation == schemas.FederationReferrals {
		page.Referrals = []schemas.ARDEntry{}
	}
	if found.NextOffset != nil {
		page.PageToken = strconv.Itoa(*found.NextOffset) + "." + s.digest
	}
	return page
}
