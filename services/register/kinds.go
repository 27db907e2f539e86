package register

import (
	"context"
	"fmt"

	"cairn/schemas"
	"cairn/schemas/member"
	"cairn/services/internal/catalog"
)

func (r registry) skill(ctx context.Context, req schemas.RegisterSkill) (schemas.SkillRegistered, error) {
	id, at, err := r.register(ctx, req)
	return schemas.SkillRegistered{SkillID: id, Registered: at}, err
}

func (r registry) agent(ctx context.Context, req schemas.RegisterAgent) (schemas.AgentRegistered, error) {
	id, at, err := r.register(ctx, req)
	return schemas.AgentRegistered{AgentID: id, Registered: at}, err
}

func (r registry) tool(ctx context.Context, req schemas.RegisterTool) (schemas.ToolRegistered, error) {
	id, at, err := r.register(ctx, req)
	return schemas.ToolRegistered{ToolID: id, Registered: at}, err
}

func (r registry) contextBuilder(ctx context.Context, req schemas.RegisterContextBuilder) (schemas.ContextBuilderRegistered, error) {
	id, at, err := r.register(ctx, req)
	return schemas.ContextBuilderRegistered{ContextBuilderID: id, Registered: at}, err
}

func (r registry) guardrail(ctx context.Context, req schemas.RegisterGuardrail) (schemas.GuardrailRegistered, error) {
	id, at, err := r.register(ctx, req)
	return schemas.GuardrailRegistered{GuardrailID: id, Registered: at}, err
}

func (r registry) template(ctx context.Context, req schemas.RegisterTemplate) (schemas.TemplateRegistered, error) {
	id, at, err := r.register(ctx, req)
	return schemas.TemplateRegistered{TemplateID: id, Registered: at}, err
}

// register stores the record of a registration, such as a schemas.RegisterSkill.
func (r registry) register(ctx context.Context, registration any) (id string, at schemas.Registered, err error) {
	e, err := entryOf(registration)
	if err != nil {
		return "", at, err
	}
	at, err = r.put(ctx, e)
	return e.key.ID, at, err
}

// entry is a record as it is stored.
type entry struct {
	key    catalog.Key
	record []byte
}

// entryOf returns the entry of a registration, such as a schemas.RegisterSkill.
func entryOf(registration any) (entry, error) {
	switch req := registration.(type) {
	case schemas.RegisterSkill:
		return skillEntry(req)
	case schemas.RegisterAgent:
		return agentEntry(req)
	case schemas.RegisterTool:
		f := req.ToolData.Fields
		return entry{keyOf(schemas.KindTool, f.TenantID, f.ToolID), req.ToolData.Raw}, nil
	case schemas.RegisterContextBuilder:
		f := req.CBData.Fields
		return entry{keyOf(schemas.KindContextBuilder, f.TenantID, f.ContextBuilderID), req.CBData.Raw}, nil
	case schemas.RegisterGuardrail:
		f := req.GuardrailData.Fields
		return entry{keyOf(schemas.KindGuardrail, f.TenantID, f.GuardrailID), req.GuardrailData.Raw}, nil
	case schemas.RegisterTemplate:
		f := req.TemplateData.Fields
		return entry{keyOf(schemas.KindTemplate, f.TenantID, f.TemplateID), req.TemplateData.Raw}, nil
	default:
		return entry{}, fmt.Errorf("not a registration: %T", registration)
	}
}

// skillEntry adds the fields that schemas.CompleteSkill derives.
func skillEntry(req schemas.RegisterSkill) (entry, error) {
	f := req.Record.Fields
	record, err := schemas.CompleteSkill(f, req.Record.Raw)
	return entry{keyOf(schemas.KindSkill, f.TenantID, f.SkillID), record}, err
}

// agentEntry adds the skill_ids of the request to the record. A request without
// skill_ids keeps those of the record.
func agentEntry(req schemas.RegisterAgent) (entry, error) {
	f, record := req.AgentData.Fields, []byte(req.AgentData.Raw)
	var err error
	if req.SkillIDs != nil {
		record, err = member.Append(record, member.Member{Name: "skill_ids", Value: req.SkillIDs})
	}
	return entry{keyOf(schemas.KindAgent, f.TenantID, f.AgentID), record}, err
}
