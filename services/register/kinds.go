package register

import (
	"fmt"
	"strings"

	"cairn/schemas"
	"cairn/schemas/member"
	"cairn/services/internal/catalog"
)

// entry is a record as it is stored.
type entry struct {
	key    catalog.Key
	record []byte

	received []byte // the record of the request
	strict   bool
	warns    bool // the reply has the warnings
	// wrapper is the member of the request that holds the record. The request of an agent
	// may have skill_ids in addition.
	wrapper string
	beside  bool
}

// entryOf returns the entry of a registration, such as a schemas.RegisterSkill.
func entryOf(registration any) (e entry, err error) {
	switch req := registration.(type) {
	case schemas.RegisterSkill:
		f := req.Record.Fields
		e = newEntry(keyOf(schemas.KindSkill, f.TenantID, f.SkillID), req.Record.Raw, req.Checks)
		e.record, err = schemas.CompleteSkill(f, req.Record.Raw)
	case schemas.RegisterAgent:
		f := req.AgentData.Fields
		e = newEntry(keyOf(schemas.KindAgent, f.TenantID, f.AgentID), req.AgentData.Raw, req.Checks)
		if req.SkillIDs != nil { // else those of the record remain
			e.beside = true
			e.record, err = member.Append(e.record, member.Member{Name: "skill_ids", Value: req.SkillIDs})
		}
	case schemas.RegisterTool:
		f := req.ToolData.Fields
		e = newEntry(keyOf(schemas.KindTool, f.TenantID, f.ToolID), req.ToolData.Raw, req.Checks)
	case schemas.RegisterContextBuilder:
		f := req.CBData.Fields
		e = newEntry(keyOf(schemas.KindContextBuilder, f.TenantID, f.ContextBuilderID), req.CBData.Raw, req.Checks)
	case schemas.RegisterGuardrail:
		f := req.GuardrailData.Fields
		e = newEntry(keyOf(schemas.KindGuardrail, f.TenantID, f.GuardrailID), req.GuardrailData.Raw, req.Checks)
	case schemas.RegisterTemplate:
		f := req.TemplateData.Fields
		e = newEntry(keyOf(schemas.KindTemplate, f.TenantID, f.TemplateID), req.TemplateData.Raw, req.Checks)
	default:
		err = fmt.Errorf("not a registration: %T", registration)
	}
	return e, err
}

func newEntry(key catalog.Key, raw []byte, c schemas.Checks) entry {
	return entry{key: key, record: raw, received: raw, wrapper: schemas.Wrapper(key.Kind), strict: c.Strict,
		warns: c.ReturnWarnings}
}

// path returns the path in the request of a path in the record.
func (e entry) path(field string) string {
	if e.beside && strings.HasPrefix(field, "skill_ids[") {
		return field
	}
	return e.wrapper + "." + field
}

// permits returns the warnings as an error if the request is strict.
func (e entry) permits(warnings []schemas.FieldError) error {
	if e.strict && len(warnings) > 0 {
		return schemas.ErrInvalidRegistration.With(warnings...)
	}
	return nil
}

// keyOf returns the key of a record of the entry's tenant that the reference names.
func (e entry) keyOf(to schemas.Reference) catalog.Key {
	return catalog.Key{Kind: to.Kind, Tenant: e.key.Tenant, ID: to.ID}
}
