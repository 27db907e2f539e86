package bus

import (
	"time"

	"cairn/schemas"
)

// Every subject, bound once to what is asked or told on it, and what is answered. A
// subject is the path of the HTTP route, its segments behind "cairn.".
var (
	WriteTag  = Endpoint[schemas.TagWrite, schemas.TagWritten]{"cairn.tags.write", malformed, schemas.RightTag}
	ReadTag   = Endpoint[schemas.TagKey, schemas.TagFound]{"cairn.tags.read", malformed, schemas.RightRead}
	DeleteTag = Endpoint[schemas.TagKey, schemas.Nothing]{"cairn.tags.delete", malformed, schemas.RightTag}

	RegisterSkill          = Endpoint[schemas.RegisterSkill, schemas.SkillRegistered]{"cairn.register.skill", unregistrable, schemas.RightRegister}
	RegisterAgent          = Endpoint[schemas.RegisterAgent, schemas.AgentRegistered]{"cairn.register.agent", unregistrable, schemas.RightRegister}
	RegisterTool           = Endpoint[schemas.RegisterTool, schemas.ToolRegistered]{"cairn.register.tool", unregistrable, schemas.RightRegister}
	RegisterContextBuilder = Endpoint[schemas.RegisterContextBuilder, schemas.ContextBuilderRegistered]{"cairn.register.context_builder", unregistrable, schemas.RightRegister}
	RegisterGuardrail      = Endpoint[schemas.RegisterGuardrail, schemas.GuardrailRegistered]{"cairn.register.guardrail", unregistrable, schemas.RightRegister}
	RegisterTemplate       = Endpoint[schemas.RegisterTemplate, schemas.TemplateRegistered]{"cairn.register.template", unregistrable, schemas.RightRegister}
	Unregister             = Endpoint[schemas.Unregister, schemas.Unregistered]{"cairn.register.delete", unregistrable, schemas.RightRegister}
	Reindex                = Endpoint[schemas.Nothing, schemas.Reindexed]{"cairn.register.reindex", malformed, schemas.RightOperate}

	// Projected is told after changes of the catalog were brought into an index
	// that workers share.
	Projected = Topic[schemas.Projected]{"cairn.projected"}

	ResolveSkill           = Endpoint[schemas.SkillQuery, schemas.SkillAnswer]{"cairn.resolve.skill", malformed, schemas.RightRead}
	ResolveAgent           = Endpoint[schemas.AgentQuery, schemas.AgentAnswer]{"cairn.resolve.agent", malformed, schemas.RightRead}
	ResolveContext         = Endpoint[schemas.ContextQuery, schemas.ContextAnswer]{"cairn.resolve.context", malformed, schemas.RightRead}
	ResolveContextBuilders = Endpoint[schemas.ContextQuery, schemas.ContextAnswer]{"cairn.resolve.context_builders", malformed, schemas.RightRead}
	ResolveTools           = Endpoint[schemas.ToolsQuery, schemas.ToolsAnswer]{"cairn.resolve.tools", malformed, schemas.RightRead}
	ResolveToolClass       = Endpoint[schemas.ToolClassQuery, schemas.ToolClassAnswer]{"cairn.resolve.tool_class", malformed, schemas.RightRead}
	ResolveTemplate        = Endpoint[schemas.SkillRef, schemas.TemplateAnswer]{"cairn.resolve.template", malformed, schemas.RightRead}
	ResolveGuardrail       = Endpoint[schemas.SkillRef, schemas.GuardrailAnswer]{"cairn.resolve.guardrail", malformed, schemas.RightRead}

	ListSkills = Endpoint[schemas.ListQuery, schemas.SkillList]{"cairn.skills", malformed, schemas.RightRead}
	ListTools  = Endpoint[schemas.ListQuery, schemas.ToolList]{"cairn.tools", malformed, schemas.RightRead}

	Analyze = Stream[schemas.Analysis]{
		Subject: "cairn.analyze",
		Invalid: schemas.ErrAnalysisMalformed,
		Needs:   schemas.RightAnalyze,
		Timeout: 120 * time.Second,
		Grace:   5 * time.Second,
		MaxBody: 10 << 20,
		Errors:  (*schemas.Error).Analysis,
	}
)

// Render is the rendering agent that comes with Cairn; --render may name another.
var Render = Stream[schemas.Rendering]{
	Subject: "cairn.render",
	Invalid: schemas.ErrMalformed,
	Timeout: 60 * time.Second,
	MaxBody: 10 << 20,
}

// Services are the names of the services behind the subjects, in the order in
// which they stop: each may be asked for its Health.
func Services() []string { return []string{"tags", "register", "resolve", "analyze"} }

// Health is the subject on which the service of the name says how it is.
func Health(service string) Endpoint[schemas.Nothing, schemas.Health] {
	return Endpoint[schemas.Nothing, schemas.Health]{"cairn.health." + service, malformed, ""}
}

var (
	malformed     = schemas.ErrMalformed
	unregistrable = schemas.ErrInvalidRegistration
)
