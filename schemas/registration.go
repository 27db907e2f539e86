package schemas

import "strings"

// Skill contains the interpreted fields of a skill record. Other fields are stored unchanged.
type Skill struct {
	SkillID             string   `json:"skill_id" doc:"<domain>.<skill_name>"`
	TenantID            *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain              string   `json:"domain,omitzero" doc:"must equal the first segment of skill_id, which is the default"`
	DisplayName         string   `json:"display_name,omitzero"`
	Purpose             string   `json:"purpose,omitzero"`
	Description         string   `json:"description,omitzero"`
	Capabilities        []string `json:"capabilities,omitempty"`
	ContextDescriptions []string `json:"context_descriptions,omitempty"`
	OutputType          string   `json:"output_type,omitzero"`
	Metadata
	Publication
	ExampleQueries    []string `json:"example_queries,omitempty" doc:"queries that should match this skill"`
	ContextBuilderIDs []string `json:"context_builder_ids,omitempty"`
	ToolIDs           []string `json:"tool_ids,omitempty"`
	GuardrailIDs      []string `json:"guardrail_ids,omitempty"`
	TemplateID        string   `json:"template_id,omitzero"`

	Instructions string     `json:"instructions,omitzero" doc:"how to perform the skill, in Markdown; searched, but absent from hits and listings"`
	License      string     `json:"license,omitzero" doc:"such as an SPDX expression"`
	Resources    []Resource `json:"resources,omitempty" doc:"files of the skill, at most 1 MiB together; packages, hits and listings have no content of them"`
}

// Agent contains the interpreted fields of an agent record.
type Agent struct {
	AgentID      string   `json:"agent_id" doc:"dot-separated segments"`
	TenantID     *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain       string   `json:"domain,omitzero"`
	DisplayName  string   `json:"display_name,omitzero"`
	Purpose      string   `json:"purpose,omitzero"`
	Description  string   `json:"description,omitzero"`
	Capabilities []string `json:"capabilities,omitempty"`
	Metadata
	Publication
	ExampleQueries []string   `json:"example_queries,omitempty"`
	SkillIDs       []string   `json:"skill_ids,omitempty"`
	AgentCard      *AgentCard `json:"agent_card,omitzero" doc:"A2A agent card; its texts are searched, and GET /agents/{id}/card returns it"`
}

// Tool contains the interpreted fields of a tool record.
type Tool struct {
	ToolID       string   `json:"tool_id" doc:"<provider>.<service>.<operation>"`
	TenantID     *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	ToolClass    string   `json:"tool_class,omitzero" doc:"a grouping label"`
	Provider     string   `json:"provider,omitzero"`
	Domain       string   `json:"domain,omitzero"`
	DisplayName  string   `json:"display_name,omitzero"`
	Purpose      string   `json:"purpose,omitzero"`
	Description  string   `json:"description,omitzero"`
	Capabilities []string `json:"capabilities,omitempty"`
	Metadata
	Publication
	ExampleQueries []string `json:"example_queries,omitempty"`
}

// ContextBuilder contains the interpreted fields of a context builder record.
type ContextBuilder struct {
	ContextBuilderID string   `json:"context_builder_id"`
	TenantID         *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain           string   `json:"domain,omitzero" doc:"without links, the context builder serves every skill of the domain"`
	Description      string   `json:"description,omitzero"`
	ContextType      string   `json:"context_type,omitzero"`
	ToolIDs          []string `json:"tool_ids,omitempty"`
	SkillIDs         []string `json:"skill_ids,omitempty"`
	Instructions     string   `json:"instructions,omitzero"`
	Metadata
}

// Guardrail contains the interpreted fields of a guardrail record.
type Guardrail struct {
	GuardrailID string   `json:"guardrail_id"`
	TenantID    *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain      string   `json:"domain,omitzero" doc:"applies to every skill of the domain"`
	SkillIDs    []string `json:"skill_ids,omitempty" doc:"applies to these skills; with neither domain nor skill_ids, to every skill"`
	Description string   `json:"description,omitzero"`
	Metadata
}

// Strictness contains the fields of all writes of records.
type Strictness struct {
	Strict bool `json:"strict,omitzero" doc:"reject a record that gives warnings"`
}

// Checks contains the fields of all registrations.
type Checks struct {
	Strictness
	ReturnWarnings bool `json:"return_warnings,omitzero" doc:"return the warnings in the reply"`
}

// Requests that register a record of each kind.
//
//nolint:revive // the comment of the group is the comment of each type
type (
	RegisterSkill struct {
		Record Record[Skill] `json:"record"`
		Checks
	}
	RegisterAgent struct {
		AgentData Record[Agent] `json:"agent_data"`
		SkillIDs  []string      `json:"skill_ids,omitempty" doc:"the skills the agent owns"`
		Checks
	}
	RegisterTool struct {
		ToolData Record[Tool] `json:"tool_data"`
		Checks
	}
	RegisterContextBuilder struct {
		CBData Record[ContextBuilder] `json:"cb_data"`
		Checks
	}
	RegisterGuardrail struct {
		GuardrailData Record[Guardrail] `json:"guardrail_data"`
		Checks
	}
	RegisterTemplate struct {
		TemplateData Record[Template] `json:"template_data"`
		Checks
	}
)

// Registered contains the fields of all registration responses.
type Registered struct {
	// Catalog and Revision identify the revision of the catalog that contains the
	// record; they are sent in a header.
	Catalog  string `json:"-"`
	Revision uint64 `json:"-"`
	// Warnings are about a record that is stored.
	Warnings []FieldError `json:"warnings,omitempty" doc:"probable mistakes in the record that is stored, such as fields that resemble those of the kind and references to absent records"`
	// Indexed is false if the record is durable but not searchable yet because a
	// dependency is unavailable; otherwise nil.
	Indexed *bool `json:"indexed,omitzero" doc:"false: durable, but not searchable yet; otherwise absent"`
	// Unchanged means that the record was stored already, and that there is no new revision.
	Unchanged bool `json:"unchanged,omitzero" doc:"true: equal to the stored record, whose revision stays the newest; otherwise absent"`
}

// CatalogRevision returns the token that makes a later read include this registration.
func (r Registered) CatalogRevision() ConsistencyToken {
	return ConsistencyToken{r.Catalog, r.Revision}
}

// Responses to the registration of each kind.
//
//nolint:revive // the comment of the group is the comment of each type
type (
	SkillRegistered struct {
		SkillID string `json:"skill_id"`
		Registered
	}
	AgentRegistered struct {
		AgentID string `json:"agent_id"`
		Registered
	}
	ToolRegistered struct {
		ToolID string `json:"tool_id"`
		Registered
	}
	ContextBuilderRegistered struct {
		ContextBuilderID string `json:"context_builder_id"`
		Registered
	}
	GuardrailRegistered struct {
		GuardrailID string `json:"guardrail_id"`
		Registered
	}
	TemplateRegistered struct {
		TemplateID string `json:"template_id"`
		Registered
	}
)

// Unregister removes a record. Removing an absent record is not an error.
type Unregister struct {
	Kind     string  `json:"kind" doc:"skill, agent, tool, context_builder, guardrail or template"`
	ID       string  `json:"id"`
	TenantID *string `json:"tenant_id,omitzero" doc:"absent or null: global"`
}

// Unregistered is the response to an Unregister.
type Unregistered struct {
	Registered
	Aliases   []string         `json:"aliases,omitempty" doc:"names of the aliases that were deleted with the record"`
	Referrers *ReferrerSummary `json:"referrers,omitzero" doc:"records that linked to the deleted one; absent: none, or unknown"`
}

func (r *RegisterSkill) validate(c *check) {
	f := r.Record.Fields
	c.replacement(KindSkill, f.SkillID, f.Metadata)
	if first, _, _ := strings.Cut(f.SkillID, "."); f.SkillID != "" && f.Domain != "" && f.Domain != first {
		c.fail("record.domain", "must equal the first segment of skill_id, %q, got %q", first, f.Domain)
	}
	checkResources(c, "record.resources", f.Resources)
}

func (r *RegisterSkill) tenantField() tenantField {
	return tenantField{"record.tenant_id", &r.Record.Fields.TenantID, &r.Record.Raw}
}

func (r *RegisterAgent) validate(c *check) {
	f := r.AgentData.Fields
	c.replacement(KindAgent, f.AgentID, f.Metadata)
	checkCard(c, "agent_data.agent_card.", f.AgentCard)
}

func (r *RegisterAgent) tenantField() tenantField {
	return tenantField{"agent_data.tenant_id", &r.AgentData.Fields.TenantID, &r.AgentData.Raw}
}

func (r *RegisterTool) validate(c *check) {
	c.replacement(KindTool, r.ToolData.Fields.ToolID, r.ToolData.Fields.Metadata)
}

func (r *RegisterTool) tenantField() tenantField {
	return tenantField{"tool_data.tenant_id", &r.ToolData.Fields.TenantID, &r.ToolData.Raw}
}

func (r *RegisterContextBuilder) validate(c *check) {
	c.replacement(KindContextBuilder, r.CBData.Fields.ContextBuilderID, r.CBData.Fields.Metadata)
}

func (r *RegisterContextBuilder) tenantField() tenantField {
	return tenantField{"cb_data.tenant_id", &r.CBData.Fields.TenantID, &r.CBData.Raw}
}

func (r *RegisterGuardrail) validate(c *check) {
	c.replacement(KindGuardrail, r.GuardrailData.Fields.GuardrailID, r.GuardrailData.Fields.Metadata)
}

func (r *RegisterGuardrail) tenantField() tenantField {
	return tenantField{"guardrail_data.tenant_id", &r.GuardrailData.Fields.TenantID, &r.GuardrailData.Raw}
}

func (r *RegisterTemplate) validate(c *check) {
	f := r.TemplateData.Fields
	c.replacement(KindTemplate, f.TemplateID, f.Metadata)
	checkVariables(c, "template_data.variables", f.Variables)
}

func (r *RegisterTemplate) tenantField() tenantField {
	return tenantField{"template_data.tenant_id", &r.TemplateData.Fields.TenantID, &r.TemplateData.Raw}
}

func (u *Unregister) validate(c *check) { c.kindID(u.Kind, u.ID) }

func (u *Unregister) tenantField() tenantField { return tenantField{"tenant_id", &u.TenantID, nil} }
