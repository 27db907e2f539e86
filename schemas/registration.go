package schemas

// Skill is what a skill record means here. Other fields are kept as they are.
type Skill struct {
	SkillID             string   `json:"skill_id" doc:"<domain>.<skill_name>"`
	TenantID            *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain              string   `json:"domain,omitzero" doc:"the first segment of skill_id, which is the default"`
	DisplayName         string   `json:"display_name,omitzero"`
	Purpose             string   `json:"purpose,omitzero"`
	Description         string   `json:"description,omitzero"`
	Capabilities        []string `json:"capabilities,omitempty"`
	ContextDescriptions []string `json:"context_descriptions,omitempty"`
	OutputType          string   `json:"output_type,omitzero"`
	Status              string   `json:"status,omitzero" doc:"only active skills, the default, are found by search and listing"`
	ExampleQueries      []string `json:"example_queries,omitempty" doc:"questions that should find this skill"`
	ContextBuilderIDs   []string `json:"context_builder_ids,omitempty"`
	ToolIDs             []string `json:"tool_ids,omitempty"`
	GuardrailIDs        []string `json:"guardrail_ids,omitempty"`
	TemplateID          string   `json:"template_id,omitzero"`
}

// Agent is what an agent record means here.
type Agent struct {
	AgentID        string   `json:"agent_id" doc:"dotted"`
	TenantID       *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain         string   `json:"domain,omitzero"`
	DisplayName    string   `json:"display_name,omitzero"`
	Purpose        string   `json:"purpose,omitzero"`
	Description    string   `json:"description,omitzero"`
	Capabilities   []string `json:"capabilities,omitempty"`
	Status         string   `json:"status,omitzero"`
	ExampleQueries []string `json:"example_queries,omitempty"`
	SkillIDs       []string `json:"skill_ids,omitempty"`
}

// Tool is what a tool record means here.
type Tool struct {
	ToolID         string   `json:"tool_id" doc:"<provider>.<service>.<operation>"`
	TenantID       *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	ToolClass      string   `json:"tool_class,omitzero" doc:"a grouping label"`
	Provider       string   `json:"provider,omitzero"`
	Domain         string   `json:"domain,omitzero"`
	DisplayName    string   `json:"display_name,omitzero"`
	Purpose        string   `json:"purpose,omitzero"`
	Description    string   `json:"description,omitzero"`
	Capabilities   []string `json:"capabilities,omitempty"`
	Status         string   `json:"status,omitzero"`
	ExampleQueries []string `json:"example_queries,omitempty"`
}

// ContextBuilder is what a context builder record means here.
type ContextBuilder struct {
	ContextBuilderID string   `json:"context_builder_id"`
	TenantID         *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain           string   `json:"domain,omitzero" doc:"serves every skill of the domain when nothing links it"`
	Description      string   `json:"description,omitzero"`
	ContextType      string   `json:"context_type,omitzero"`
	ToolIDs          []string `json:"tool_ids,omitempty"`
	SkillIDs         []string `json:"skill_ids,omitempty"`
	Instructions     string   `json:"instructions,omitzero"`
}

// Guardrail is what a guardrail record means here.
type Guardrail struct {
	GuardrailID string   `json:"guardrail_id"`
	TenantID    *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain      string   `json:"domain,omitzero" doc:"applies to every skill of the domain"`
	SkillIDs    []string `json:"skill_ids,omitempty" doc:"applies to these skills; with neither domain nor skill_ids, to every skill"`
	Description string   `json:"description,omitzero"`
}

// Template is what a template record means here.
type Template struct {
	TemplateID  string   `json:"template_id"`
	TenantID    *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain      string   `json:"domain,omitzero"`
	SkillIDs    []string `json:"skill_ids,omitempty"`
	Description string   `json:"description,omitzero"`
}

// The requests to register a record of each kind.
type (
	RegisterSkill struct {
		Record Record[Skill] `json:"record"`
	}
	RegisterAgent struct {
		AgentData Record[Agent] `json:"agent_data"`
		SkillIDs  []string      `json:"skill_ids,omitempty" doc:"the skills the agent owns"`
	}
	RegisterTool struct {
		ToolData Record[Tool] `json:"tool_data"`
	}
	RegisterContextBuilder struct {
		CBData Record[ContextBuilder] `json:"cb_data"`
	}
	RegisterGuardrail struct {
		GuardrailData Record[Guardrail] `json:"guardrail_data"`
	}
	RegisterTemplate struct {
		TemplateData Record[Template] `json:"template_data"`
	}
)

// Registered says how far a registration has come. It is part of every answer
// to one.
type Registered struct {
	// Revision of the catalog that holds the record; carried in a header.
	Revision uint64 `json:"-"`
	// Indexed is false when the record is durable, but search will see it only
	// once a dependency is back; otherwise absent.
	Indexed *bool `json:"indexed,omitzero" doc:"false: durable, searchable later"`
}

// CatalogRevision is the revision to be read to see this registration.
func (r Registered) CatalogRevision() uint64 { return r.Revision }

// The answers to a registration of each kind.
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

// Unregister asks to remove a record; that it is absent is no error.
type Unregister struct {
	Kind     string  `json:"kind" doc:"skill, agent, tool, context_builder, guardrail or template"`
	ID       string  `json:"id"`
	TenantID *string `json:"tenant_id,omitzero" doc:"absent or null: global"`
}

// Unregistered answers an Unregister.
type Unregistered struct {
	Registered
}
