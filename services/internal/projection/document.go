package projection

import (
	"cmp"
	"slices"
	"strings"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

// document returns the searchable part of a record. A change here requires a higher
// index.textVersion, so that records are indexed again.
func document(c catalog.Change) (index.Document, error) {
	var (
		d   index.Document
		err error
	)
	switch c.Key.Kind {
	case schemas.KindSkill:
		d, err = skillDocument(c.Record)
	case schemas.KindAgent:
		d, err = agentDocument(c.Record)
	case schemas.KindTool:
		d, err = toolDocument(c.Record)
	case schemas.KindGuardrail:
		d, err = guardrailDocument(c.Record)
	default:
		d, err = templateDocument(c.Record)
	}
	d.Kind, d.Tenant, d.ID = c.Key.Kind, c.Key.Tenant, c.Key.ID
	d.Title = cmp.Or(d.Title, strings.Join(strings.FieldsFunc(d.ID, isSeparator), " "))
	return d, err
}

func skillDocument(record []byte) (index.Document, error) {
	s, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, record)
	return index.Document{
		Title: joinSentences(s.DisplayName, s.Purpose),
		Body: joinSentences(slices.Concat([]string{s.Description}, s.Capabilities, s.ContextDescriptions,
			[]string{s.OutputType})...),
		Instructions: s.Instructions,
		Examples:     s.ExampleQueries,
		Domain:       s.Domain,
		Status:       s.Status,
		Labels:       schemas.LabelTerms(s.Labels),
		Capabilities: s.Capabilities,
		Name:         s.DisplayName,
		Version:      s.Version,
		Public:       published(schemas.KindSkill, record, s.Publication),
	}, err
}

func agentDocument(record []byte) (index.Document, error) {
	a, err := schemas.DecodeStored[schemas.Agent](schemas.KindAgent, record)
	descriptions, examples := a.AgentCard.Texts()
	body := append([]string{a.Description}, a.Capabilities...)
	return index.Document{
		Title:        joinSentences(a.DisplayName, a.Purpose),
		Body:         joinSentences(append(body, missing(descriptions, append(body, a.DisplayName))...)...),
		Examples:     append(a.ExampleQueries, missing(examples, a.ExampleQueries)...),
		Domain:       a.Domain,
		Status:       a.Status,
		Labels:       schemas.LabelTerms(a.Labels),
		Capabilities: a.Capabilities,
		Name:         a.DisplayName,
		Version:      a.Version,
		Public:       published(schemas.KindAgent, record, a.Publication),
	}, err
}

func toolDocument(record []byte) (index.Document, error) {
	t, err := schemas.DecodeStored[schemas.Tool](schemas.KindTool, record)
	return index.Document{
		Title:        joinSentences(t.DisplayName, t.Purpose),
		Body:         joinSentences(append([]string{t.Description}, t.Capabilities...)...),
		Examples:     t.ExampleQueries,
		Domain:       t.Domain,
		Status:       t.Status,
		Labels:       schemas.LabelTerms(t.Labels),
		Capabilities: t.Capabilities,
		Name:         t.DisplayName,
		Version:      t.Version,
		Public:       published(schemas.KindTool, record, t.Publication),
		Class:        t.ToolClass,
		Provider:     t.Provider,
	}, err
}

func guardrailDocument(record []byte) (index.Document, error) {
	g, err := schemas.DecodeStored[schemas.Guardrail](schemas.KindGuardrail, record)
	return index.Document{
		Body:         g.Description,
		Instructions: joinSentences(schemas.OtherTexts(schemas.KindGuardrail, record)...),
		Domain:       g.Domain,
		Status:       g.Status,
		Labels:       schemas.LabelTerms(g.Labels),
		Version:      g.Version,
	}, err
}

func templateDocument(record []byte) (index.Document, error) {
	t, err := schemas.DecodeStored[schemas.Template](schemas.KindTemplate, record)
	return index.Document{
		Body:         t.Description,
		Instructions: joinSentences(append(schemas.OtherTexts(schemas.KindTemplate, record), t.Body)...),
		Domain:       t.Domain,
		Status:       t.Status,
		Labels:       schemas.LabelTerms(t.Labels),
		Version:      t.Version,
	}, err
}

// published reports whether the record is published. It decodes records that are public.
func published(kind string, record []byte, p schemas.Publication) bool {
	if !p.Public {
		return false
	}
	_, ok := schemas.Published(kind, record)
	return ok
}

// missing returns the texts that are not in list: an imported agent repeats texts of its card.
func missing(texts, list []string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return slices.Contains(list, s) })
}

// joinSentences joins the non-empty texts.
func joinSentences(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ". ")
}

// isSeparator reports whether r separates the words of an id. An id is the title of a record
// with neither name nor purpose.
func isSeparator(r rune) bool { return strings.ContainsRune("._-/:", r) }

// Changes converts log entries to index changes. An unreadable record is removed from
// the index together with the version it replaced.
func Changes(log []catalog.Change) []index.Change {
	var documents []index.Change
	for _, c := range log {
		id := index.Document{Kind: c.Key.Kind, Tenant: c.Key.Tenant, ID: c.Key.ID}
		if !isSearchable(id.Kind) {
			continue
		}
		d, err := document(c)
		if c.Removed || err != nil {
			documents = append(documents, index.Change{Document: id, Revision: c.Revision, Removed: true})
			continue
		}
		documents = append(documents, index.Change{Document: d, Revision: c.Revision})
	}
	return documents
}

// isSearchable reports whether records of the kind are searchable.
func isSearchable(kind string) bool {
	return slices.Contains(schemas.SearchableKinds(), kind)
}
