package records

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
	"cairn/schemas/member"
)

// kindSpec describes the registration of one kind of records.
type kindSpec struct {
	kind   string
	member string // request member that contains the record
}

var kindSpecs = []kindSpec{
	{schemas.KindSkill, "record"},
	{schemas.KindAgent, "agent_data"},
	{schemas.KindTool, "tool_data"},
	{schemas.KindContextBuilder, "cb_data"},
	{schemas.KindGuardrail, "guardrail_data"},
	{schemas.KindTemplate, "template_data"},
}

// id returns the name of the ID field.
func (s kindSpec) id() string { return s.kind + "_id" }

// Record is one record to register.
type Record struct {
	Source string // file:line
	Kind   string
	ID     string
	Tenant string         // empty: global
	JSON   jsontext.Value // the record
	err    error          // error that prevents the registration
}

// Put returns the request that registers the record.
func (r Record) Put() schemas.PutRecord {
	return schemas.PutRecord{Kind: r.Kind, ID: r.ID, Record: r.JSON}
}

// Key names the record.
func (r Record) Key() schemas.RecordKey { return ExactKey(r.Kind, r.ID, r.Tenant) }

// ExactKey names a record of the tenant, or the global one without a tenant.
func ExactKey(kind, id, tenant string) schemas.RecordKey {
	return schemas.RecordKey{Kind: kind, ID: id, TenantID: schemas.Optional(tenant), Scope: schemas.ScopeOf(tenant)}
}

// object is a JSON object with unparsed members.
type object map[string]jsontext.Value

// lenient accepts duplicate names, which the service rejects.
var lenient = jsontext.AllowDuplicateNames(true)

func (r *Record) read(text jsontext.Value, tenant string) error {
	var whole object
	if err := json.Unmarshal(text, &whole, lenient); err != nil {
		return fmt.Errorf("expected a record (a JSON object), got %.40s", text)
	}
	s, wrapped, err := kindOf(whole)
	if err != nil {
		return err
	}
	inner := text
	if wrapped {
		inner = whole[s.member]
	}
	var members object
	if err := json.Unmarshal(inner, &members, lenient); err != nil {
		return fmt.Errorf("expected a record (a JSON object), got %.40s", inner)
	}
	r.Kind, r.JSON = s.kind, inner.Clone()
	if tenant != "" && members["tenant_id"] == nil {
		add(r, "tenant_id", tenant)
		r.Tenant = tenant
	}
	if skills := whole["skill_ids"]; wrapped && s.kind == schemas.KindAgent && skills != nil && skills.Kind() != 'n' {
		add(r, "skill_ids", skills)
	}
	_ = json.Unmarshal(members[s.id()], &r.ID) // Validate reports an id that is not a string
	if r.Tenant == "" {
		_ = json.Unmarshal(members["tenant_id"], &r.Tenant)
	}
	return nil
}

// add sets a member of the record. It does not change a record with duplicate names, which
// Validate rejects.
func add(r *Record, name string, value any) {
	if changed, err := member.Append(r.JSON, member.Member{Name: name, Value: value}); err == nil {
		r.JSON = changed
	}
}

// Validate returns the first error of the record that can be detected without a server.
func (r Record) Validate() error {
	if r.err != nil {
		return flags.Usage(r.err)
	}
	put := r.Put()
	return put.Validate()
}

// kindOf determines the kind from the members of whole, and whether it is the body of a
// registration rather than a record. A skill may contain a template ID.
func kindOf(whole object) (s kindSpec, wrapped bool, err error) {
	bare := kindsMatching(func(s kindSpec) bool { return whole[s.id()] != nil })
	if len(bare) > 1 && bare[0].kind == schemas.KindSkill && bare[1].kind == schemas.KindTemplate {
		bare = bare[:1]
	}
	bodies := kindsMatching(func(s kindSpec) bool { return whole[s.member].Kind() == '{' })
	switch {
	case len(bare) == 1:
		return bare[0], false, nil
	case len(bare) == 0 && len(bodies) == 1:
		return bodies[0], true, nil
	case len(bare)+len(bodies) == 0:
		return s, false, errors.New("unknown kind: expected an id such as skill_id or tool_id, or a body such as {\"agent_data\": {…}}; got the members " +
			strings.Join(slices.Sorted(maps.Keys(whole)), ", "))
	default:
		return s, false, errors.New("ambiguous kind: the record has ids or bodies of several kinds; expected one body, such as {\"agent_data\": {…}}")
	}
}

func kindsMatching(match func(kindSpec) bool) []kindSpec {
	return slices.DeleteFunc(slices.Clone(kindSpecs), func(s kindSpec) bool { return !match(s) })
}
