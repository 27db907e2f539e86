package resolve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/schemas/member"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
)

// facts are the fields by which records are selected.
type facts struct {
	domain, status, class, provider, contextType string
}

// taken is a decoded change.
type taken struct {
	facts  facts
	edges  []graph.Edge
	record []byte // as it is answered
}

// decodeFacts decodes the change's record as strictly as registration does. Fields
// without a meaning for the kind are ignored.
func decodeFacts(c catalog.Change) (taken, error) {
	t, err := read(c)
	if err != nil {
		return taken{}, fmt.Errorf("read %s: %w", c.Key, err)
	}
	return t, nil
}

func read(c catalog.Change) (taken, error) {
	switch c.Key.Kind {
	case schemas.KindSkill:
		return skill(c)
	case schemas.KindTool:
		f, err := fields[schemas.Tool](c)
		return taken{facts{domain: f.Domain, status: f.Status, class: f.ToolClass, provider: f.Provider}, nil, c.Record}, err
	case schemas.KindContextBuilder:
		return contextBuilder(c)
	case schemas.KindTemplate:
		f, err := fields[schemas.Template](c)
		return linked(c, facts{}, graph.Fields{Skills: f.SkillIDs}), err
	case schemas.KindGuardrail:
		f, err := fields[schemas.Guardrail](c)
		return linked(c, facts{}, graph.Fields{Domain: f.Domain, Skills: f.SkillIDs}), err
	default:
		f, err := fields[schemas.Agent](c)
		return taken{facts{status: f.Status}, nil, c.Record}, err
	}
}

// maxNesting is the nesting of a record that a response, which adds two levels, can
// contain: the JSON package encodes at most 10,000. Registration permits fewer;
// older records and those of other writers may have more.
const maxNesting = 10_000 - 2

// fields decodes the change's record as a T.
func fields[T any](c catalog.Change) (f T, err error) {
	if jsontext.Value(c.Record).Kind() != jsontext.KindBeginObject {
		return f, errors.New("not a JSON object") // null would decode as an empty object
	}
	if schemas.Nested(c.Record, maxNesting) {
		return f, errors.New("nested too deep to be part of a response")
	}
	return f, json.Unmarshal(c.Record, &f)
}

func linked(c catalog.Change, f facts, links graph.Fields) taken {
	return taken{f, graph.Edges(c.Key.Kind, links), c.Record}
}

func skill(c catalog.Change) (taken, error) {
	s, err := fields[schemas.Skill](c)
	if s.Domain == "" {
		s.Domain, _, _ = strings.Cut(c.Key.ID, ".")
	}
	return linked(c, facts{domain: s.Domain, status: s.Status}, graph.Fields{
		ContextBuilders: s.ContextBuilderIDs, Guardrails: s.GuardrailIDs, Template: s.TemplateID, Tools: s.ToolIDs,
	}), err
}

// contextBuilder also adds the members that the contract requires in responses:
// the context type, tools and instructions.
func contextBuilder(c catalog.Change) (taken, error) {
	b, err := fields[schemas.ContextBuilder](c)
	if err != nil {
		return taken{}, err
	}
	t := linked(c, facts{domain: b.Domain, contextType: b.ContextType},
		graph.Fields{Domain: b.Domain, Tools: b.ToolIDs, Skills: b.SkillIDs})
	t.record, err = member.Default(c.Record, member.Member{Name: "context_type", Value: ""},
		member.Member{Name: "tool_ids", Value: []string{}}, member.Member{Name: "instructions", Value: ""})
	return t, err
}
