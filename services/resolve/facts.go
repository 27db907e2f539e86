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
	public                                       bool   // published
	labels                                       string // terms, each after a line end
}

// metadata returns the facts that records of all kinds have.
func metadata(domain string, m schemas.Metadata) facts {
	f := facts{domain: domain, status: m.Status}
	for _, term := range schemas.LabelTerms(m.Labels) {
		f.labels += "\n" + term
	}
	return f
}

// published returns the facts of a record that can be published.
func (f facts) published(c catalog.Change, p schemas.Publication) facts {
	if p.Public {
		_, f.public = schemas.Published(c.Key.Kind, c.Record)
	}
	return f
}

// labeled reports whether the record has the label.
func (f facts) labeled(term string) bool {
	return strings.Contains(f.labels+"\n", "\n"+term+"\n")
}

// decoded is a decoded change.
type decoded struct {
	facts  facts
	edges  []graph.Edge
	record []byte // as in responses
	// instructions is their part of the record of a skill.
	instructions span
	// unreadable means that the record cannot be decoded.
	unreadable bool
}

// decode decodes the change's record as strictly as registration does. Fields
// without a meaning for the kind are ignored.
func decode(c catalog.Change) (decoded, error) {
	t, err := read(c)
	if err != nil {
		return decoded{}, fmt.Errorf("read %s: %w", c.Key, err)
	}
	return t, nil
}

func read(c catalog.Change) (decoded, error) {
	switch c.Key.Kind {
	case schemas.KindSkill:
		return skill(c)
	case schemas.KindTool:
		f, err := fields[schemas.Tool](c)
		properties := metadata(f.Domain, f.Metadata).published(c, f.Publication)
		properties.class, properties.provider = f.ToolClass, f.Provider
		return decoded{facts: properties, record: c.Record}, err
	case schemas.KindContextBuilder:
		return contextBuilder(c)
	case schemas.KindTemplate:
		f, err := fields[schemas.Template](c)
		return linked(c, metadata(f.Domain, f.Metadata), graph.Fields{Skills: f.SkillIDs}), err
	case schemas.KindGuardrail:
		f, err := fields[schemas.Guardrail](c)
		return linked(c, metadata(f.Domain, f.Metadata), graph.Fields{Domain: f.Domain, Skills: f.SkillIDs}), err
	default:
		f, err := fields[schemas.Agent](c)
		return linked(c, metadata(f.Domain, f.Metadata).published(c, f.Publication), graph.Fields{Skills: f.SkillIDs}), err
	}
}

// maxNesting is the nesting of a record that a response, which adds two levels, can
// contain: the JSON package encodes at most 10,000. Registration permits fewer levels; older records
// and records of other writers may have more.
const maxNesting = 10_000 - 2

// fields decodes the change's record as a T.
func fields[T any](c catalog.Change) (f T, err error) {
	if jsontext.Value(c.Record).Kind() != jsontext.KindBeginObject {
		return f, errors.New("not a JSON object") // null would decode as an empty object
	}
	if schemas.NestedDeeper(c.Record, maxNesting) {
		return f, errors.New("nested too deeply to be part of a response")
	}
	return schemas.DecodeStored[T](c.Key.Kind, c.Record)
}

func linked(c catalog.Change, f facts, links graph.Fields) decoded {
	return decoded{facts: f, edges: graph.Edges(c.Key.Kind, links), record: c.Record}
}

func skill(c catalog.Change) (decoded, error) {
	s, err := fields[schemas.Skill](c)
	if s.Domain == "" {
		s.Domain, _, _ = strings.Cut(c.Key.ID, ".")
	}
	if err != nil {
		return decoded{}, err
	}
	properties := metadata(s.Domain, s.Metadata).published(c, s.Publication)
	d := linked(c, properties, graph.Fields{
		ContextBuilders: s.ContextBuilderIDs, Guardrails: s.GuardrailIDs, Template: s.TemplateID, Tools: s.ToolIDs,
	})
	if d.record, err = withoutContent(c.Record, s.Resources); err != nil || s.Instructions == "" {
		return d, err
	}
	start, end, err := member.Span(d.record, "instructions")
	d.instructions = span{uint32(start), uint32(end)}
	return d, err
}

// withoutContent returns the skill's record without the content of its resources,
// which would multiply the memory of a worker and the size of its responses.
func withoutContent(record []byte, resources []schemas.Resource) ([]byte, error) {
	if len(resources) == 0 {
		return record, nil
	}
	var raw struct {
		Resources []jsontext.Value `json:"resources"`
	}
	if err := json.Unmarshal(record, &raw); err != nil {
		return nil, err
	}
	for i, item := range raw.Resources {
		item, err := member.Without(item, "text", "data")
		if err != nil {
			return nil, err
		}
		raw.Resources[i] = item
	}
	return member.Append(record, member.Member{Name: "resources", Value: raw.Resources})
}

// contextBuilder also adds the members that the contract requires in responses:
// the context type, tools and instructions.
func contextBuilder(c catalog.Change) (decoded, error) {
	b, err := fields[schemas.ContextBuilder](c)
	if err != nil {
		return decoded{}, err
	}
	properties := metadata(b.Domain, b.Metadata)
	properties.contextType = b.ContextType
	t := linked(c, properties, graph.Fields{Domain: b.Domain, Tools: b.ToolIDs, Skills: b.SkillIDs})
	t.record, err = member.Default(c.Record, member.Member{Name: "context_type", Value: ""},
		member.Member{Name: "tool_ids", Value: []string{}}, member.Member{Name: "instructions", Value: ""})
	return t, err
}
