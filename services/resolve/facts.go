package resolve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
func take(c catalog.Change) (taken, error) {
	t := taken{record: c.Record}
	err := t.read(c)
	if err != nil {
		return taken{}, fmt.Errorf("read %s: %w", c.Key, err)
	}
	return t, nil
}

func (t *taken) read(c catalog.Change) error {
	switch c.Key.Kind {
	case schemas.KindSkill:
		return t.skill(c)
	case schemas.KindTool:
		var f schemas.Tool
		err := t.known(c, &f)
		t.facts = facts{domain: f.Domain, status: f.Status, class: f.ToolClass, provider: f.Provider}
		return err
	case schemas.KindContextBuilder:
		return t.contextBuilder(c)
	case schemas.KindTemplate:
		return t.template(c)
	case schemas.KindGuardrail:
		return t.known(c, &schemas.Guardrail{})
	default:
		return t.known(c, &schemas.Agent{})
	}
}

// known reads the fields that mean something in a record of the kind, and the
// links that follow from them. Another field means nothing, whatever its name.
func (t *taken) known(c catalog.Change, fields any) error {
	if jsontext.Value(c.Record).Kind() != jsontext.KindBeginObject {
		return errors.New("not a JSON object") // null would pass for an empty one
	}
	if err := json.Unmarshal(c.Record, fields); err != nil {
		return err
	}
	record, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	t.edges, err = graph.Derive(c.Key.Kind, record)
	return err
}

func (t *taken) skill(c catalog.Change) error {
	var s schemas.Skill
	err := t.known(c, &s)
	if s.Domain == "" {
		s.Domain, _, _ = strings.Cut(c.Key.ID, ".")
	}
	t.facts = facts{domain: s.Domain, status: s.Status}
	return err
}

// contextBuilder also completes the record: the contract has a context type,
// tools and instructions in each that is resolved.
func (t *taken) contextBuilder(c catalog.Change) error {
	var b schemas.ContextBuilder
	err := t.known(c, &b)
	if err != nil {
		return err
	}
	t.facts = facts{domain: b.Domain, contextType: b.ContextType}
	t.record, err = complete(c.Record, []member{{"context_type", `""`}, {"tool_ids", `[]`}, {"instructions", `""`}})
	return err
}

// template leads from the template to the skills it names. The contract shows
// no link to a template; here a skill may name one, or one its skills.
func (t *taken) template(c catalog.Change) error {
	var f schemas.Template
	err := t.known(c, &f)
	for _, id := range f.SkillIDs {
		t.edges = append(t.edges, graph.Edge{Predicate: graph.Skills, To: id})
	}
	return err
}
