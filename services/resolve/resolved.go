package resolve

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
	"cairn/services/internal/usage"
)

// resolvedSkill is a revision of a skill in a scope, with mu held for reading until it is closed (openSkill). If the
// reader has an error, results are incomplete, and records returns it.
type resolvedSkill struct {
	*Resolver
	reader   *graph.Reader // of the links of the revision
	scope    scope.Scope
	skill    graph.Node
	manifest []byte // the record, as in responses
	domain   string
	why      *reasons
}

func (s resolvedSkill) close() { s.mu.RUnlock() }

// finish counts the uses of the records of an answer, or returns an error if the reply cannot contain them.
func (s resolvedSkill) finish(ctx context.Context) error {
	if err := bus.FitsReply(ctx, s.why.size); err != nil {
		return err
	}
	s.deps.Usage.Add(usage.NewUses(string(s.scope), usage.Resolved, s.why.records...))
	return nil
}

func (s resolvedSkill) builders(ctx context.Context) []graph.LinkedRecord {
	return s.reader.ContextBuilders(ctx, s.scope, s.skill, s.domain)
}

func (s resolvedSkill) guardrails(ctx context.Context) []graph.LinkedRecord {
	return s.reader.Guardrails(ctx, s.scope, s.skill, s.domain)
}

// tools returns the tools of the context builders and of the skill, without duplicates.
func (s resolvedSkill) tools(ctx context.Context, builders []graph.LinkedRecord) []graph.LinkedRecord {
	var tools []graph.LinkedRecord
	seen := map[graph.Node]bool{}
	for _, from := range append(builders[:len(builders):len(builders)], graph.LinkedRecord{Node: s.skill}) {
		if s.reader.Err(ctx) != nil {
			break
		}
		for _, t := range s.reader.Linked(s.scope, from.Node, graph.Tools) {
			if !seen[t.Node] {
				tools = append(tools, t)
			}
			seen[t.Node] = true
		}
	}
	return tools
}

// template returns the template of the skill; empty: none.
func (s resolvedSkill) template(ctx context.Context) []graph.LinkedRecord {
	if t, ok := s.reader.Template(ctx, s.scope, s.skill); ok {
		return []graph.LinkedRecord{t}
	}
	return nil
}

// records returns the records of the nodes and adds their explanations. It fails when ctx ends,
// there are too many links, or the reply cannot contain the records.
func (s resolvedSkill) records(ctx context.Context, reached []graph.LinkedRecord) ([]jsontext.Value, error) {
	records := make([]jsontext.Value, len(reached))
	for i, n := range reached {
		records[i] = s.record(n.Node)
		s.why.add(n.Node, n.Via, records[i])
		if err := bus.FitsReply(ctx, s.why.size); err != nil {
			return nil, err
		}
	}
	return records, s.reader.Err(ctx)
}

// enriched returns the skill with its context builders, guardrails, tools and template.
func (s resolvedSkill) enriched(ctx context.Context) (p *schemas.SkillPackage, err error) {
	p = &schemas.SkillPackage{SkillID: s.skill.ID, Manifest: s.manifest, Template: jsontext.Value(`{}`)}
	s.why.add(s.skill, "skill_id", s.manifest)
	builders := s.builders(ctx)
	if p.ContextBuilders, err = s.records(ctx, builders); err != nil {
		return nil, err
	}
	if p.Guardrails, err = s.records(ctx, s.guardrails(ctx)); err != nil {
		return nil, err
	}
	if p.Tools, err = s.records(ctx, s.tools(ctx, builders)); err != nil {
		return nil, err
	}
	template, err := s.records(ctx, s.template(ctx))
	if err != nil {
		return nil, err
	}
	if len(template) > 0 {
		p.Template = template[0]
	}
	for _, n := range s.reader.Missing() {
		p.Missing = append(p.Missing, schemas.MissingRecord{Kind: n.Kind, ID: n.ID, Via: n.Via})
		s.why.size += missingSize + len(n.ID)
	}
	p.Explain = s.why.list
	return p, nil
}

// missingSize is the size in bytes of a schemas.MissingRecord as JSON without its id.
const missingSize = 80

// reasons collects the records of a response, and their explanations if they were requested.
type reasons struct {
	wanted  bool
	list    []schemas.Explanation
	records []catalog.Key
	size    int // of the records, in bytes
}

func (w *reasons) add(n graph.Node, via string, record []byte) {
	w.records = append(w.records, keyOf(n))
	w.size += len(record)
	if w.wanted {
		w.list = append(w.list, explain(n, via))
	}
}

func explain(n graph.Node, via string) schemas.Explanation {
	return schemas.Explanation{Kind: n.Kind, ID: n.ID, Scope: schemas.ScopeOf(n.Tenant), Via: via}
}
