package bus

import (
	"time"

	"cairn/schemas"
)

// All subjects, each with its request, reply and permission. A subject is the path of
// the HTTP route with dots, after "cairn.".
var (
	WriteTag  = Endpoint[schemas.TagWrite, schemas.TagWritten]{"cairn.tags.write", malformed, schemas.PermissionTag}
	ReadTag   = Endpoint[schemas.TagKey, schemas.TagFound]{"cairn.tags.read", malformed, schemas.PermissionRead}
	DeleteTag = Endpoint[schemas.TagKey, schemas.Nothing]{"cairn.tags.delete", malformed, schemas.PermissionTag}

	RegisterSkill = Endpoint[schemas.RegisterSkill, schemas.SkillRegistered]{"cairn.register.skill", unregistrable,
		schemas.PermissionRegister}
	RegisterAgent = Endpoint[schemas.RegisterAgent, schemas.AgentRegistered]{"cairn.register.agent", unregistrable,
		schemas.PermissionRegister}
	RegisterTool = Endpoint[schemas.RegisterTool, schemas.ToolRegistered]{"cairn.register.tool", unregistrable,
		schemas.PermissionRegister}
	RegisterContextBuilder = Endpoint[schemas.RegisterContextBuilder, schemas.ContextBuilderRegistered]{"cairn.register.context_builder",
		unregistrable, schemas.PermissionRegister}
	RegisterGuardrail = Endpoint[schemas.RegisterGuardrail, schemas.GuardrailRegistered]{"cairn.register.guardrail", unregistrable,
		schemas.PermissionRegister}
	RegisterTemplate = Endpoint[schemas.RegisterTemplate, schemas.TemplateRegistered]{"cairn.register.template", unregistrable,
		schemas.PermissionRegister}
	Unregister = Endpoint[schemas.Unregister, schemas.Unregistered]{"cairn.register.delete", unregistrable,
		schemas.PermissionRegister}
	Reindex = Endpoint[schemas.Nothing, schemas.Reindexed]{"cairn.register.reindex", malformed, schemas.PermissionOperate}

	// Projected announces catalog changes that were applied to a shared index.
	Projected = Topic[schemas.Projected]{"cairn.projected"}

	ResolveSkill           = Endpoint[schemas.SkillQuery, schemas.SkillAnswer]{"cairn.resolve.skill", malformed, schemas.PermissionRead}
	ResolveAgent           = Endpoint[schemas.AgentQuery, schemas.AgentAnswer]{"cairn.resolve.agent", malformed, schemas.PermissionRead}
	ResolveContext         = Endpoint[schemas.ContextQuery, schemas.ContextAnswer]{"cairn.resolve.context", malformed, schemas.PermissionRead}
	ResolveContextBuilders = Endpoint[schemas.ContextQuery, schemas.ContextAnswer]{"cairn.resolve.context_builders", malformed,
		schemas.PermissionRead}
	ResolveTools     = Endpoint[schemas.ToolsQuery, schemas.ToolsAnswer]{"cairn.resolve.tools", malformed, schemas.PermissionRead}
	ResolveToolClass = Endpoint[schemas.ToolClassQuery, schemas.ToolClassAnswer]{"cairn.resolve.tool_class", malformed,
		schemas.PermissionRead}
	ResolveTemplate  = Endpoint[schemas.SkillRef, schemas.TemplateAnswer]{"cairn.resolve.template", malformed, schemas.PermissionRead}
	ResolveGuardrail = Endpoint[schemas.SkillRef, schemas.GuardrailAnswer]{"cairn.resolve.guardrail", malformed, schemas.PermissionRead}

	ListSkills = Endpoint[schemas.ListQuery, schemas.SkillList]{"cairn.skills", malformed, schemas.PermissionRead}
	ListTools  = Endpoint[schemas.ListQuery, schemas.ToolList]{"cairn.tools", malformed, schemas.PermissionRead}

	Analyze = Stream[schemas.Analysis]{
		Subject:    "cairn.analyze",
		Invalid:    schemas.ErrAnalysisMalformed,
		Permission: schemas.PermissionAnalyze,
		Timeout:    120 * time.Second,
		Grace:      5 * time.Second,
		MaxBody:    10 << 20,
		Errors:     (*schemas.Error).Analysis,
	}
)

// Render is the built-in rendering agent; --render may select another.
var Render = Stream[schemas.Rendering]{
	Subject: "cairn.render",
	Invalid: schemas.ErrMalformed,
	Timeout: 60 * time.Second,
	MaxBody: 10 << 20,
}

// Services returns the names of the services that have a Health endpoint, in the order
// in which they are stopped.
func Services() []string { return []string{"tags", "register", "resolve", "analyze"} }

// Health returns the health endpoint of the service of the name.
func Health(service string) Endpoint[schemas.Nothing, schemas.Health] {
	return Endpoint[schemas.Nothing, schemas.Health]{"cairn.health." + service, malformed, ""}
}

var (
	malformed     = schemas.ErrMalformed
	unregistrable = schemas.ErrInvalidRegistration
)
