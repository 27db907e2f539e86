package bus

import (
	"slices"
	"time"

	"github.com/nats-io/nats.go/micro"

	"cairn/schemas"
)

// All subjects, in the order of the services, each with its request, reply and permission. Most
// consist of "cairn." and the path of the HTTP route with dots; edge/docs/nats-api.md lists the route of each.
var (
	WriteTag = declare(Endpoint[schemas.TagWrite, schemas.TagWritten]{"cairn.tags.write", "Store the tag of a request",
		schemas.ErrMalformed, schemas.PermissionTag})
	ReadTag   = read[schemas.TagKey, schemas.TagFound]("cairn.tags.read", "The tag of a request")
	DeleteTag = declare(Endpoint[schemas.TagKey, schemas.Nothing]{"cairn.tags.delete",
		"Delete the tag of a request; succeeds if there is none", schemas.ErrMalformed, schemas.PermissionTag})
	ListTags = read[schemas.TagQuery, schemas.TagList]("cairn.tags.list",
		"The tags of a tenant without their values, the earliest first, in pages")
	TagQuota = read[schemas.QuotaQuery, schemas.Quota]("cairn.tags.quota",
		"Number and size of the tags of a tenant, with their limits")

	RegisterSkill = register[schemas.RegisterSkill, schemas.SkillRegistered]("cairn.register.skill",
		"Register or replace a skill")
	RegisterAgent = register[schemas.RegisterAgent, schemas.AgentRegistered]("cairn.register.agent",
		"Register or replace an agent")
	RegisterTool = register[schemas.RegisterTool, schemas.ToolRegistered]("cairn.register.tool",
		"Register or replace a tool")

	RegisterContextBuilder = register[schemas.RegisterContextBuilder, schemas.ContextBuilderRegistered](
		"cairn.register.context_builder", "Register or replace a context builder")
	RegisterGuardrail = register[schemas.RegisterGuardrail, schemas.GuardrailRegistered](
		"cairn.register.guardrail", "Register or replace a guardrail")
	RegisterTemplate = register[schemas.RegisterTemplate, schemas.TemplateRegistered](
		"cairn.register.template", "Register or replace a template")
	Unregister = register[schemas.Unregister, schemas.Unregistered](
		"cairn.register.delete", "Delete a record; succeeds if there is none")
	Reindex = declare(Endpoint[schemas.Nothing, schemas.Reindexed]{"cairn.register.reindex",
		"Build a new search index from the catalog; 501 with the embedded index", schemas.ErrMalformed,
		schemas.PermissionOperate})
	PutRecord = register[schemas.PutRecord, schemas.RecordStored]("cairn.records.put",
		"Register or replace a record of any kind")
	PutRecords = register[schemas.PutRecords, schemas.RecordResults](
		"cairn.records.bulk", "Register or replace many records of any kind, each with a result of its own")
	DeleteRecord = register[schemas.DeleteRecord, schemas.Unregistered](
		"cairn.records.delete", "Delete a record to which no other links; succeeds if there is none")
	PutAlias = register[schemas.PutAlias, schemas.AliasStored](
		"cairn.records.put_alias", "Create or replace an alias of a revision of a record")
	DeleteAlias = register[schemas.AliasKey, schemas.AliasDeleted](
		"cairn.records.delete_alias", "Delete an alias of a record; succeeds if there is none")
	RecordQuota = read[schemas.QuotaQuery, schemas.Quota](
		"cairn.records.quota", "Number and size of the records of a tenant, with their limits")
	ListTenants = read[schemas.TenantQuery, schemas.TenantList](
		"cairn.records.tenants", "Tenants that store records and that the caller may read, in pages")

	// Audit has the permission of writes: a caller sees the changes that it could make.
	Audit = declare(Endpoint[schemas.AuditQuery, schemas.AuditList]{"cairn.audit",
		"Changes of records and keys: who made them, when and why; the latest first, in pages", schemas.ErrMalformed,
		schemas.PermissionRegister})

	// Projected announces catalog changes that were applied to a shared index.
	Projected = declare(Topic[schemas.Projected]{"cairn.projected", "Catalog changes that were applied to a shared index"})

	// TagChanges announces to the tag workers which tags another one has written and deleted.
	TagChanges = declare(Topic[schemas.TagChanges]{"cairn.usage.tags",
		"Changes of the number and size of the tags of tenants, for the tag workers"})

	ResolveSkill = read[schemas.SkillQuery, schemas.SkillAnswer]("cairn.resolve.skill",
		"The package of a skill, or a search for skills")
	ResolvePackage = read[schemas.SkillRef, schemas.EncodedPackage]("cairn.resolve.package", "The package of a skill")
	ResolveAgent   = read[schemas.AgentQuery, schemas.AgentAnswer]("cairn.resolve.agent",
		"The agent that best matches a query")
	ResolveContext = read[schemas.ContextQuery, schemas.ContextAnswer]("cairn.resolve.context",
		"The context builders of a skill")

	ResolveContextBuilders = read[schemas.ContextQuery, schemas.ContextAnswer](
		"cairn.resolve.context_builders", "Alias of /resolve/context")
	ResolveTools     = read[schemas.ToolsQuery, schemas.ToolsAnswer]("cairn.resolve.tools", "Tools by id")
	ResolveToolClass = read[schemas.ToolClassQuery, schemas.ToolClassAnswer]("cairn.resolve.tool_class",
		"All tools of a class")
	ResolveTemplate = read[schemas.TemplateQuery, schemas.TemplateAnswer]("cairn.resolve.template",
		"The template of a skill or of an id, rendered with the values of its variables")
	ResolveGuardrail = read[schemas.SkillRef, schemas.GuardrailAnswer]("cairn.resolve.guardrail",
		"The guardrails of a skill")

	ListSkills  = read[schemas.ListQuery, schemas.SkillList]("cairn.skills", "Active skills, ordered by id, in pages")
	ListTools   = read[schemas.ListQuery, schemas.ToolList]("cairn.tools", "Active tools, ordered by id, in pages")
	ListRecords = read[schemas.RecordQuery, schemas.RecordList](
		"cairn.records.list", "Records of a kind of any status, ordered by id, in pages")
	SearchRecords = read[schemas.RecordSearch, schemas.RecordHits](
		"cairn.records.search", "Search records of several kinds, in the tenant's scope and the global one, in pages")
	GetRecord     = read[schemas.RecordAt, schemas.RecordFound]("cairn.records.get", "A record as it was registered")
	RecordHistory = read[schemas.RecordKey, schemas.RecordHistory](
		"cairn.records.history", "The retained revisions of a record, newest first")
	ListAliases = read[schemas.RecordKey, schemas.AliasList](
		"cairn.records.aliases", "The aliases of a record, ordered by name")
	Referrers = read[schemas.ReferrerQuery, schemas.ReferrerList](
		"cairn.records.referrers", "Records of the tenant and global ones that link to a record, in pages")
	RecordUsage = read[schemas.RecordKey, schemas.RecordUsage]("cairn.records.usage",
		"How often the tenant has used a record")

	// Watch ends with done after 55 minutes at the worker; the client continues after the last
	// revision. Timeout is the upper bound.
	Watch = declare(Stream[schemas.Watch]{
		Subject:    "cairn.watch",
		Summary:    "Watch registrations, replacements and deletions of records; responds with a stream of events",
		Invalid:    schemas.ErrMalformed,
		Permission: schemas.PermissionRead,
		Timeout:    time.Hour,
		Runs:       64,
		MaxBody:    maxInline,
	})

	Analyze = declare(Stream[schemas.Analysis]{
		Subject:    "cairn.analyze",
		Summary:    "Analyze an estate; responds with a stream of events",
		Invalid:    schemas.ErrAnalysisMalformed,
		Permission: schemas.PermissionAnalyze,
		Timeout:    120 * time.Second,
		Grace:      5 * time.Second,
		MaxBody:    10 << 20,
		Errors:     (*schemas.Error).Analysis,
	})
	ListRuns = declare(Endpoint[schemas.RunQuery, schemas.RunList]{"cairn.runs",
		"Analyses in progress and those of the last day, the latest first, in pages",
		schemas.ErrMalformed, schemas.PermissionAnalyze})

	// Render is the built-in rendering agent; --render may select another.
	Render = declare(Stream[schemas.Rendering]{
		Subject: "cairn.render",
		Summary: "Rewrite an answer for a target; responds with a stream of events",
		Invalid: schemas.ErrMalformed,
		Timeout: 60 * time.Second,
		MaxBody: 10 << 20,
	})
)

// operations contains every subject above.
var operations []Operation

// declare adds the subject to operations.
func declare[T interface{ Operation() Operation }](subject T) T {
	operations = append(operations, subject.Operation())
	return subject
}

// read declares an endpoint for reads.
func read[Req, Res any](subject, summary string) Endpoint[Req, Res] {
	return declare(Endpoint[Req, Res]{subject, summary, schemas.ErrMalformed, schemas.PermissionRead})
}

// register declares an endpoint for writes of records.
func register[Req, Res any](subject, summary string) Endpoint[Req, Res] {
	return declare(Endpoint[Req, Res]{subject, summary, schemas.ErrInvalidRegistration, schemas.PermissionRegister})
}

// Services returns the names of the services that have a Health endpoint, in the order
// in which they are stopped.
func Services() []string { return []string{"tags", "register", "resolve", "analyze"} }

// Health returns the health endpoint of the service of the name.
func Health(service string) Endpoint[schemas.Nothing, schemas.Health] {
	return Endpoint[schemas.Nothing, schemas.Health]{healthSubjects + service, "Health of the service",
		schemas.ErrMalformed, ""}
}

// QueueGroup is the NATS queue group in which the workers of a service share requests.
const QueueGroup = micro.DefaultQueueGroup

// Operations returns the operations of all subjects, in the order of the services.
func Operations() []Operation {
	list := slices.Clone(operations)
	for _, service := range Services() {
		list = append(list, Health(service).Operation())
	}
	return list
}
