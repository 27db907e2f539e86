package records

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// shape describes the registration of a kind of records.
type shape struct {
	kind   string
	member string             // request member that contains the record
	check  func([]byte) error // validates a request body
}

var shapes = []shape{
	{schemas.KindSkill, "record", check[schemas.RegisterSkill]},
	{schemas.KindAgent, "agent_data", check[schemas.RegisterAgent]},
	{schemas.KindTool, "tool_data", check[schemas.RegisterTool]},
	{schemas.KindContextBuilder, "cb_data", check[schemas.RegisterContextBuilder]},
	{schemas.KindGuardrail, "guardrail_data", check[schemas.RegisterGuardrail]},
	{schemas.KindTemplate, "template_data", check[schemas.RegisterTemplate]},
}

func check[T any](body []byte) error {
	_, err := schemas.Decode[T](body, schemas.ErrInvalidRegistration)
	return err
}

// id returns the name of the ID field.
func (s shape) id() string { return s.kind + "_id" }

// Record is one record to register.
type Record struct {
	Source string // file:line
	Kind   string
	ID     string
	tenant jsontext.Value
	check  func([]byte) error
	body   []byte // request body
	wrong  error  // error that prevents the registration
}

// object is a JSON object with unparsed members.
type object map[string]jsontext.Value

// lenient accepts duplicate names, which the service rejects.
var lenient = jsontext.AllowDuplicateNames(true)

func (r *Record) read(text jsontext.Value, tenant string) error {
	var whole object
	if err := json.Unmarshal(text, &whole, lenient); err != nil {
		return fmt.Errorf("want a record (a JSON object), got %.40s", text)
	}
	s, wrapped, err := shapeOf(whole)
	if err != nil {
		return err
	}
	inner, rest := text, object{}
	if wrapped {
		inner, rest = whole[s.member], whole
	}
	rest[s.member], r.tenant = withTenant(inner, tenant)
	r.Kind, r.check = s.kind, s.check
	r.ID = stringOf(inner, s.id())
	r.body, err = json.Marshal(rest, json.Deterministic(true), lenient)
	return err
}

// Fault returns the validation error of the record, as far as no server is required.
func (r Record) Fault() error {
	if r.wrong != nil {
		return r.wrong
	}
	return r.check(r.body)
}

// shapeOf returns the shape of whole by its members, and whether it is the body of a
// registration rather than a record. A skill may contain a template ID.
func shapeOf(whole object) (s shape, wrapped bool, err error) {
	bare := shapesWhere(func(s shape) bool { return whole[s.id()] != nil })
	if len(bare) > 1 && bare[0].kind == schemas.KindSkill && bare[1].kind == schemas.KindTemplate {
		bare = bare[:1]
	}
	bodies := shapesWhere(func(s shape) bool { return whole[s.member].Kind() == '{' })
	switch {
	case len(bare) == 1:
		return bare[0], false, nil
	case len(bare) == 0 && len(bodies) == 1:
		return bodies[0], true, nil
	case len(bare)+len(bodies) == 0:
		return s, false, errors.New("unknown kind: want an id such as skill_id or tool_id, or a body such as {\"agent_data\": {…}}; got the members " +
			strings.Join(slices.Sorted(maps.Keys(whole)), ", "))
	default:
		return s, false, errors.New("ambiguous kind: the record has ids or bodies of several kinds; want one body, such as {\"agent_data\": {…}}")
	}
}

func shapesWhere(holds func(shape) bool) []shape {
	return slices.DeleteFunc(slices.Clone(shapes), func(s shape) bool { return !holds(s) })
}

// withTenant sets the tenant of a record that has none. It returns the record and its
// tenant.
func withTenant(inner jsontext.Value, tenant string) (text, has jsontext.Value) {
	var o object
	if json.Unmarshal(inner, &o, lenient) != nil || tenant == "" || o["tenant_id"] != nil {
		return inner, o["tenant_id"]
	}
	o["tenant_id"], _ = jsontext.AppendQuote(nil, tenant)
	text, _ = json.Marshal(o, json.Deterministic(true), lenient) // cannot fail: o was unmarshaled from JSON
	return text, o["tenant_id"]
}

func stringOf(o jsontext.Value, member string) string {
	var m object
	var s string
	_ = json.Unmarshal(o, &m, lenient) // a member that is not a string counts as empty
	_ = json.Unmarshal(m[member], &s)
	return s
}
