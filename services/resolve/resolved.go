package resolve

import (
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
)

// resolvedSkill is a revision of a skill in a scope. The caller holds mu while using it.
type resolvedSkill struct {
	*Resolver
	reader   graph.Reader // of the links of the revision
	scope    scope.Scope
	skill    graph.Node
	manifest []byte // the record, as in responses
	domain   string
	why      *reasons
}

func (s resolvedSkill) builders() []graph.LinkedRecord {
	return s.reader.ContextBuilders(s.scope, s.skill, s.domain)
}

func (s resolvedSkill) guardrails() []graph.LinkedRecord {
	return s.reader.Guardrails(s.scope, s.skill, s.domain)
}

// tools returns the tools of the context builders and of the skill, without duplicates.
func (s resolvedSkill) tools(builders []graph.LinkedRecord) []graph.LinkedRecord {
	var tools []graph.LinkedRecord
	seen := map[graph.Node]bool{}
	for _, from := range append(builders[:len(builders):len(builders)], graph.LinkedRecord{Node: s.skill}) {
		for _, t := range s.reader.Linked(s.scope, from.Node, graph.Tools) {
			if !seen[t.Node] {
				tools = append(tools, t)
			}
			seen[t.Node] = true
		}
	}
	return tools
}

func (s resolvedSkill) template() (graph.LinkedRecord, bool) {
	return s.reader.Template(s.scope, s.skill)
}

// records returns the records of the nodes and adds their explanations.
func (s resolvedSkill) records(reached []graph.LinkedRecord) []jsontext.Value {
	records := make([]jsontext.Value, len(reached))
	for i, n := range reached {
		records[i] = s.record(n.Node)
		s.why.add(n.Node, n.Via, records[i])
	}
	return records
}

// enriched returns the skill with its context builders, guardrails, tools and template.
func (s resolvedSkill) enriched() *schemas.SkillPackage {
	p := &schemas.SkillPackage{SkillID: s.skill.ID, Manifest: s.manifest, Template: jsontext.Value(`{}`)}
	s.why.add(s.skill, "skill_id", s.manifest)
	builders := s.builders()
	p.ContextBuilders = s.records(builders)
	p.Guardrails = s.records(s.guardrails())
	p.Tools = s.records(s.tools(builders))
	if t, ok := s.template(); ok {
		p.Template = s.records([]graph.LinkedRecord{t})[0]
	}
	p.Explain = s.why.list
	return p
}

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
