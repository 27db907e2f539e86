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

// Record is one record to register.
type Record struct {
	Source string // file:line
	Kind   string
	ID     string
	Tenant string         // empty: global
	JSON   jsontext.Value // the record
	// Warnings are problems of the source that do not prevent the registration.
	Warnings []schemas.FieldError
	err      error // error that prevents the registration
}

// Put returns the request that registers the record, or the error of Validate.
func (r Record) Put() (schemas.PutRecord, error) {
	if r.err != nil {
		return schemas.PutRecord{}, flags.Usage(r.err)
	}
	put := schemas.PutRecord{Kind: r.Kind, ID: r.ID, Record: r.JSON}
	return put, put.Validate()
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
	kind, wrapped, err := kindOf(whole)
	if err != nil {
		return err
	}
	inner := text
	if wrapped {
		inner = whole[schemas.Wrapper(kind)]
	}
	var members object
	if err := json.Unmarshal(inner, &members, lenient); err != nil {
		return fmt.Errorf("expected a record (a JSON object), got %.40s", inner)
	}
	r.Kind, r.JSON = kind, inner.Clone()
	if tenant != "" && members["tenant_id"] == nil {
		add(r, "tenant_id", tenant)
		r.Tenant = tenant
	}
	if skills := whole["skill_ids"]; wrapped && kind == schemas.KindAgent && skills != nil && skills.Kind() != 'n' {
		add(r, "skill_ids", skills)
	}
	_ = json.Unmarshal(members[idOf(kind)], &r.ID) // Validate reports an id that is not a string
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
	_, err := r.Put()
	return err
}

// kindOf returns the kind of an object, determined from its members, and whether the object is the
// body of a registration rather than a record. A skill may contain a template ID.
func kindOf(whole object) (kind string, wrapped bool, err error) {
	bare := kindsMatching(func(kind string) bool { return whole[idOf(kind)] != nil })
	if slices.Equal(bare, []string{schemas.KindSkill, schemas.KindTemplate}) {
		bare = bare[:1]
	}
	bodies := kindsMatching(func(kind string) bool { return whole[schemas.Wrapper(kind)].Kind() == '{' })
	switch {
	case len(bare) == 1:
		return bare[0], false, nil
	case len(bare) == 0 && len(bodies) == 1:
		return bodies[0], true, nil
	case len(bare)+len(bodies) == 0:
		return "", false, errors.New(
			"unknown kind: expected an id such as skill_id or tool_id, or a body such as {\"agent_data\": {…}}; got the members " +
				strings.Join(slices.Sorted(maps.Keys(whole)), ", "))
	default:
		return "", false, errors.New(
			"ambiguous kind: the record has ids or bodies of several kinds; expected one body, such as {\"agent_data\": {…}}")
	}
}

func kindsMatching(match func(kind string) bool) []string {
	return slices.DeleteFunc(schemas.Kinds(), func(kind string) bool { return !match(kind) })
}

// idOf returns the member with the id of a record of the kind.
func idOf(kind string) string { return kind + "_id" }
