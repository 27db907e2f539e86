package schemas

import (
	"fmt"
	"strings"
)

// Validate returns ErrInvalidRegistration with the invalid fields.
func (r *RegisterSkill) Validate() error {
	s := r.Record.Fields
	c := record("record", KindSkill, s.SkillID, s.TenantID, s.Metadata)
	if first, _, _ := strings.Cut(s.SkillID, "."); s.SkillID != "" && s.Domain != "" && s.Domain != first {
		c.fail("record.domain", "must equal the first segment of skill_id, %q, got %q", first, s.Domain)
	}
	c.ids("record.context_builder_ids", s.ContextBuilderIDs)
	c.ids("record.tool_ids", s.ToolIDs)
	c.ids("record.guardrail_ids", s.GuardrailIDs)
	c.optionalID("record.template_id", s.TemplateID)
	c.atMost("record.capabilities", len(s.Capabilities), maxItems)
	c.atMost("record.context_descriptions", len(s.ContextDescriptions), maxItems)
	c.atMost("record.example_queries", len(s.ExampleQueries), maxItems)
	c.length("record.instructions", s.Instructions, 0, maxInstructions)
	c.length("record.license", s.License, 0, maxID)
	c.resources("record.resources", s.Resources)
	return c.as(ErrInvalidRegistration)
}

// Validate returns ErrInvalidRegistration with the invalid fields.
func (r *RegisterAgent) Validate() error {
	a := r.AgentData.Fields
	c := record("agent_data", KindAgent, a.AgentID, a.TenantID, a.Metadata)
	c.ids("agent_data.skill_ids", a.SkillIDs)
	c.ids("skill_ids", r.SkillIDs)
	c.atMost("agent_data.capabilities", len(a.Capabilities), maxItems)
	c.atMost("agent_data.example_queries", len(a.ExampleQueries), maxItems)
	c.card("agent_data.agent_card.", a.AgentCard)
	return c.as(ErrInvalidRegistration)
}

// Validate returns ErrInvalidRegistration with the invalid fields.
func (r *RegisterTool) Validate() error {
	t := r.ToolData.Fields
	c := record("tool_data", KindTool, t.ToolID, t.TenantID, t.Metadata)
	c.atMost("tool_data.capabilities", len(t.Capabilities), maxItems)
	c.atMost("tool_data.example_queries", len(t.ExampleQueries), maxItems)
	return c.as(ErrInvalidRegistration)
}

// Validate returns ErrInvalidRegistration with the invalid fields.
func (r *RegisterContextBuilder) Validate() error {
	b := r.CBData.Fields
	c := record("cb_data", KindContextBuilder, b.ContextBuilderID, b.TenantID, b.Metadata)
	c.ids("cb_data.tool_ids", b.ToolIDs)
	c.ids("cb_data.skill_ids", b.SkillIDs)
	return c.as(ErrInvalidRegistration)
}

// Validate returns ErrInvalidRegistration with the invalid fields.
func (r *RegisterGuardrail) Validate() error {
	g := r.GuardrailData.Fields
	c := record("guardrail_data", KindGuardrail, g.GuardrailID, g.TenantID, g.Metadata)
	c.ids("guardrail_data.skill_ids", g.SkillIDs)
	return c.as(ErrInvalidRegistration)
}

// Validate returns ErrInvalidRegistration with the invalid fields.
func (r *RegisterTemplate) Validate() error {
	t := r.TemplateData.Fields
	c := record("template_data", KindTemplate, t.TemplateID, t.TenantID, t.Metadata)
	c.ids("template_data.skill_ids", t.SkillIDs)
	return c.as(ErrInvalidRegistration)
}

// Validate returns ErrInvalidRegistration with the invalid fields.
func (u *Unregister) Validate() error {
	var c check
	if !KnownKind(u.Kind) {
		c.fail("kind", "expected one of %s, got %q", strings.Join(Kinds(), ", "), u.Kind)
	}
	c.id("id", u.ID, segments(u.Kind))
	c.tenant("tenant_id", u.TenantID)
	return c.as(ErrInvalidRegistration)
}

// record validates the fields that records of all kinds share. The record is the
// member wrapper of the request.
func record(wrapper, kind, id string, tenant *string, m Metadata) check {
	var c check
	c.id(fmt.Sprintf("%s.%s_id", wrapper, kind), id, segments(kind))
	c.tenant(wrapper+".tenant_id", tenant)
	c.metadata(wrapper, kind, id, m)
	return c
}

func (c *check) optionalID(field, s string) {
	if s != "" {
		c.id(field, s, 1)
	}
}
