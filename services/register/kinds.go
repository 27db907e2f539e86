package register

import (
	"context"
	"strings"

	"cairn/schemas"
	"cairn/schemas/member"
)

// skill stores the record with the default domain derived from its id.
func (r registry) skill(ctx context.Context, req schemas.RegisterSkill) (schemas.SkillRegistered, error) {
	f, record := req.Record.Fields, []byte(req.Record.Raw)
	if f.Domain == "" {
		domain, _, _ := strings.Cut(f.SkillID, ".")
		var err error
		if record, err = member.Append(record, member.Member{Name: "domain", Value: domain}); err != nil {
			return schemas.SkillRegistered{}, err
		}
	}
	registered, err := r.put(ctx, keyOf(schemas.KindSkill, f.TenantID, f.SkillID), record)
	return schemas.SkillRegistered{SkillID: f.SkillID, Registered: registered}, err
}

// agent stores the record with the skill_ids of the request. A request without
// skill_ids keeps those of the record.
func (r registry) agent(ctx context.Context, req schemas.RegisterAgent) (schemas.AgentRegistered, error) {
	f, record := req.AgentData.Fields, []byte(req.AgentData.Raw)
	if req.SkillIDs != nil {
		var err error
		if record, err = member.Append(record, member.Member{Name: "skill_ids", Value: req.SkillIDs}); err != nil {
			return schemas.AgentRegistered{}, err
		}
	}
	registered, err := r.put(ctx, keyOf(schemas.KindAgent, f.TenantID, f.AgentID), record)
	return schemas.AgentRegistered{AgentID: f.AgentID, Registered: registered}, err
}

func (r registry) tool(ctx context.Context, req schemas.RegisterTool) (schemas.ToolRegistered, error) {
	f := req.ToolData.Fields
	registered, err := r.put(ctx, keyOf(schemas.KindTool, f.TenantID, f.ToolID), req.ToolData.Raw)
	return schemas.ToolRegistered{ToolID: f.ToolID, Registered: registered}, err
}

func (r registry) contextBuilder(ctx context.Context, req schemas.RegisterContextBuilder) (schemas.ContextBuilderRegistered, error) {
	f := req.CBData.Fields
	registered, err := r.put(ctx, keyOf(schemas.KindContextBuilder, f.TenantID, f.ContextBuilderID), req.CBData.Raw)
	return schemas.ContextBuilderRegistered{ContextBuilderID: f.ContextBuilderID, Registered: registered}, err
}

func (r registry) guardrail(ctx context.Context, req schemas.RegisterGuardrail) (schemas.GuardrailRegistered, error) {
	f := req.GuardrailData.Fields
	registered, err := r.put(ctx, keyOf(schemas.KindGuardrail, f.TenantID, f.GuardrailID), req.GuardrailData.Raw)
	return schemas.GuardrailRegistered{GuardrailID: f.GuardrailID, Registered: registered}, err
}

func (r registry) template(ctx context.Context, req schemas.RegisterTemplate) (schemas.TemplateRegistered, error) {
	f := req.TemplateData.Fields
	registered, err := r.put(ctx, keyOf(schemas.KindTemplate, f.TenantID, f.TemplateID), req.TemplateData.Raw)
	return schemas.TemplateRegistered{TemplateID: f.TemplateID, Registered: registered}, err
}
