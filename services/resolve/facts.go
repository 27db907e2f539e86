package resolve

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
)

// facts are the fields of a record by which it is chosen, read once.
type facts struct {
	domain, status, class, provider, contextType string
}

// taken is a change that was read: what the views are to hold of it.
type taken struct {
	facts  facts
	edges  []graph.Edge
	record []byte // as it is answered
}

// take reads the change's record, as strictly as registration did.
func take(c catalog.Change) (t taken, err error) {
	t.record = c.Record
	switch c.Key.Kind {
	case schemas.KindSkill:
		t.facts, err = skillFacts(c)
	case schemas.KindTool:
		t.facts, err = toolFacts(c.Record)
	case schemas.KindContextBuilder:
		t.facts, t.record, err = builderFacts(c.Record)
	case schemas.KindTemplate:
		t.edges, err = templateEdges(c.Record)
	case schemas.KindAgent:
		err = json.Unmarshal(c.Record, &schemas.Agent{})
	case schemas.KindGuardrail:
		err = json.Unmarshal(c.Record, &schemas.Guardrail{})
	}
	if err != nil {
		return taken{}, fmt.Errorf("read %s: %w", c.Key, err)
	}
	edges, err := graph.Derive(c.Key.Kind, c.Record)
	t.edges = append(t.edges, edges...)
	return t, err
}

func skillFacts(c catalog.Change) (facts, error) {
	var s schemas.Skill
	err := json.Unmarshal(c.Record, &s)
	if s.Domain == "" {
		s.Domain, _, _ = strings.Cut(c.Key.ID, ".")
	}
	return facts{domain: s.Domain, status: s.Status}, err
}

func toolFacts(record []byte) (facts, error) {
	var t schemas.Tool
	err := json.Unmarshal(record, &t)
	return facts{domain: t.Domain, status: t.Status, class: t.ToolClass, provider: t.Provider}, err
}

// templateEdges lead from a template to the skills it names. The contract
// shows no link to a template; a skill may name one, or one its skills.
func templateEdges(record []byte) ([]graph.Edge, error) {
	var t schemas.Template
	err := json.Unmarshal(record, &t)
	var edges []graph.Edge
	for _, id := range t.SkillIDs {
		edges = append(edges, graph.Edge{Predicate: graph.Skills, To: id})
	}
	return edges, err
}

// builderFacts also completes the record: the contract has a context type,
// tools and instructions in each context builder.
func builderFacts(record []byte) (facts, []byte, error) {
	var b schemas.ContextBuilder
	if err := json.Unmarshal(record, &b); err != nil {
		return facts{}, nil, err
	}
	whole, err := complete(record, []member{{"context_type", `""`}, {"tool_ids", `[]`}, {"instructions", `""`}})
	return facts{domain: b.Domain, contextType: b.ContextType}, whole, err
}
