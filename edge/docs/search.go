package docs

import (
	"bytes"
	"cmp"
	"html/template"
	"slices"
	"strings"
)

const (
	maxQuery   = 200 // bytes of a search query that are used
	maxTerms   = 10
	maxResults = 20
	excerpt    = 240 // bytes
)

var resultsTemplate = template.Must(template.New("results").Parse(`<h1>Search</h1>
{{if .Results}}<ul class="results">{{range .Results}}<li><a href="/docs/{{.Page}}#{{.ID}}">{{.Title}}</a> <small>{{.Page}}</small><br>
{{.Text}}</li>
{{end}}</ul>{{else}}<p>No section contains all words of “{{.Query}}”.</p>{{end}}`))

// Search returns a page with the sections that contain all words of the query.
// Matches in headings rank higher. The cost is bounded by the size of the manual.
func (m *Manual) Search(query string) ([]byte, error) {
	query = strings.ToValidUTF8(query[:min(len(query), maxQuery)], "")
	terms := strings.Fields(strings.ToLower(query))
	terms = terms[:min(len(terms), maxTerms)]
	type hit struct {
		section
		score int
	}
	var hits []hit
	for _, s := range m.sections {
		if score := s.score(terms); score > 0 {
			hits = append(hits, hit{s, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var results []section
	for _, h := range hits[:min(len(hits), maxResults)] {
		h.Text = h.excerpt(terms[0])
		results = append(results, h.section)
	}
	var b bytes.Buffer
	if err := resultsTemplate.Execute(&b, map[string]any{"Query": query, "Results": results}); err != nil {
		return nil, err
	}
	return m.Layout("search", "Search", template.HTML(b.String())) // escaped by resultsTemplate
}

// score is 0 when a term is missing; a term in the heading counts ten times.
func (s *section) score(terms []string) (total int) {
	for _, t := range terms {
		n := 10*strings.Count(s.heading, t) + min(strings.Count(s.words, t), 9)
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}

// excerpt is the text around the first occurrence of the term.
func (s *section) excerpt(term string) string {
	text := s.Text
	if len(text) <= excerpt {
		return text
	}
	from := max(0, min(strings.Index(s.words, term)-excerpt/3, len(text)-excerpt))
	return strings.ToValidUTF8("… "+text[from:from+excerpt]+" …", "")
}
