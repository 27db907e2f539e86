package bus

import (
	"reflect"
	"time"

	"github.com/nats-io/nats.go/micro"

	"cairn/schemas"
)

// All subjects, each with its request, reply and permission. Most consist of "cairn." and the path
// of the HTTP route with dots; edge/docs/nats-api.md lists the route of each.
var (
	WriteTag = Endpoint[schemas.TagWrite, schemas.TagWritten]{"cairn.tags.write", "Store the tag of a request",
		malformed, schemas.PermissionTag}
	ReadTag = Endpoint[schemas.TagKey, schemas.TagFound]{"cairn.tags.read", "The tag of a request",
		malformed, schemas.PermissionRead}
	DeleteTag = Endpoint[schemas.TagKey, schemas.Nothing]{"cairn.tags.delete",
		"Delete the tag of a request; succeeds if there is none", malformed, schemas.PermissionTag}
	TagQuota = Endpoint[schemas.QuotaQuery, schemas.Quota]{"cairn.tags.quota", "Number and size of the tags of a tenant, with their limits",
		malformed, schemas.PermissionRead}

	RegisterSkill = Endpoint[schemas.RegisterSkill, schemas.SkillRegistered]{"cairn.register.skill", "Register or replace a skill",
		unregistrable, schemas.PermissionRegister}
	RegisterAgent = Endpoint[schemas.RegisterAgent, schemas.AgentRegistered]{"cairn.register.agent", "Register or replace an agent",
		unregistrable, schemas.PermissionRegister}
	RegisterTool = Endpoint[schemas.RegisterTool, schemas.ToolRegistered]{"cairn.register.tool", "Register or replace a tool",
		unregistrable, schemas.PermissionRegister}
	RegisterContextBuilder = Endpoint[schemas.RegisterContextBuilder, schemas.ContextBuilderRegistered]{"cairn.register.context_builder",
		"Register or replace a context builder", unregistrable, schemas.PermissionRegister}
	RegisterGuardrail = Endpoint[schemas.RegisterGuardrail, schemas.GuardrailRegistered]{"cairn.register.guardrail",
		"Register or replace a guardrail", unregistrable, schemas.PermissionRegister}
	RegisterTemplate = Endpoint[schemas.RegisterTemplate, schemas.TemplateRegistered]{"cairn.register.template",
		"Register or replace a template", unregistrable, schemas.PermissionRegister}
	Unregister = Endpoint[schemas.Unregister, schemas.Unregistered]{"cairn.register.delete",
		"Delete a record; succeeds if there is none", unregistrable, schemas.PermissionRegister}
	Reindex = Endpoint[schemas.Nothing, schemas.Reindexed]{"cairn.register.reindex",
		"Build a new search index from the catalog; 501 with the embedded index", malformed, schemas.PermissionOperate}

	// Projected announces catalog changes that were applied to a shared index.
	Projected = Topic[schemas.Projected]{"cairn.projected", "Catalog changes that were applied to a shared index"}

	// TagUsage announces changes of the tag usage of tenants to the tag workers.
	TagUsage = Topic[schemas.TagUsage]{"cairn.usage.tags", "Changes of the tag usage of tenants, for the tag workers"}

	ResolveSkill = Endpoint[schemas.SkillQuery, schemas.SkillAnswer]{"cairn.resolve.skill",
		"The package of a skill, or a search for skills", malformed, schemas.PermissionRead}
	ResolvePackage = Endpoint[schemas.SkillRef, schemas.EncodedPackage]{"cairn.resolve.package",
		"The package of a skill", malformed, schemas.PermissionRead}
	ResolveAgent = Endpoint[schemas.AgentQuery, schemas.AgentAnswer]{"cairn.resolve.agent",
		"The agent that best matches a query", malformed, schemas.PermissionRead}
	ResolveContext = Endpoint[schemas.ContextQuery, schemas.ContextAnswer]{"cairn.resolve.context",
		"The context builders of a skill", malformed, schemas.PermissionRead}
	ResolveContextBuilders = Endpoint[schemas.ContextQuery, schemas.ContextAnswer]{"cairn.resolve.context_builders",
		"Alias of /resolve/context", malformed, schemas.PermissionRead}
	ResolveTools = Endpoint[schemas.ToolsQuery, schemas.ToolsAnswer]{"cairn.resolve.tools", "Tools by id",
		malformed, schemas.PermissionRead}
	ResolveToolClass = Endpoint[schemas.ToolClassQuery, schemas.ToolClassAnswer]{"cairn.resolve.tool_class", "All tools of a class",
		malformed, schemas.PermissionRead}
	ResolveTemplate = Endpoint[schemas.SkillRef, schemas.TemplateAnswer]{"cairn.resolve.template", "The template of a skill",
		malformed, schemas.PermissionRead}
	ResolveGuardrail = Endpoint[schemas.SkillRef, schemas.GuardrailAnswer]{"cairn.resolve.guardrail", "The guardrails of a skill",
		malformed, schemas.PermissionRead}

	ListSkills = Endpoint[schemas.ListQuery, schemas.SkillList]{"cairn.skills", "Active skills, ordered by id, in pages",
		malformed, schemas.PermissionRead}
	ListTools = Endpoint[schemas.ListQuery, schemas.ToolList]{"cairn.tools", "Active tools, ordered by id, in pages",
		malformed, schemas.PermissionRead}

	ListRecords = Endpoint[schemas.RecordQuery, schemas.RecordList]{"cairn.records.list",
		"Records of a kind of any status, ordered by id, in pages", malformed, schemas.PermissionRead}
	GetRecord = Endpoint[schemas.RecordAt, schemas.RecordFound]{"cairn.records.get", "A record as it was registered",
		malformed, schemas.PermissionRead}
	RecordHistory = Endpoint[schemas.RecordKey, schemas.RecordHistory]{"cairn.records.history",
		"The retained revisions of a record, newest first", malformed, schemas.PermissionRead}
	Referrers = Endpoint[schemas.ReferrerQuery, schemas.ReferrerList]{"cairn.records.referrers",
		"Records of the tenant and global ones that link to a record, in pages", malformed, schemas.PermissionRead}
	RecordUsage = Endpoint[schemas.RecordKey, schemas.RecordUsage]{"cairn.records.usage",
		"How often the tenant has used a record", malformed, schemas.PermissionRead}
	SearchRecords = Endpoint[schemas.RecordSearch, schemas.RecordHits]{"cairn.records.search",
		"Search records of several kinds, in the tenant's scope and the global one, in pages", malformed, schemas.PermissionRead}
	PutRecord = Endpoint[schemas.PutRecord, schemas.RecordStored]{"cairn.records.put", "Register or replace a record of any kind",
		unregistrable, schemas.PermissionRegister}
	PutRecords = Endpoint[schemas.PutRecords, schemas.RecordResults]{"cairn.records.bulk",
		"Register or replace many records of any kind, each with a result of its own", unregistrable, schemas.PermissionRegister}
	DeleteRecord = Endpoint[schemas.Unregister, schemas.Unregistered]{"cairn.records.delete",
		"Delete a record; succeeds if there is none", unregistrable, schemas.PermissionRegister}

	RecordQuota = Endpoint[schemas.QuotaQuery, schemas.Quota]{"cairn.records.quota",
		"Number and size of the records of a tenant, with their limits", malformed, schemas.PermissionRead}

	// Watch ends with done after 55 minutes at the worker; the client continues after the last
	// revision. Timeout is the upper bound.
	Watch = Stream[schemas.Watch]{
		Subject:    "cairn.watch",
		Summary:    "Watch registrations, replacements and deletions of records; responds with a stream of events",
		Invalid:    malformed,
		Permission: schemas.PermissionRead,
		Timeout:    time.Hour,
		Runs:       64,
		MaxBody:    maxInline,
	}

	Analyze = Stream[schemas.Analysis]{
		Subject:    "cairn.analyze",
		Summary:    "Analyze an estate; responds with a stream of events",
		Invalid:    schemas.ErrAnalysisMalformed,
		Permission: schemas.PermissionAnalyze,
		Timeout:    120 * time.Second,
		Grace:      5 * time.Second,
		MaxBody:    10 << 20,
		Errors:     (*schemas.Error).Analysis,
	}
	ListRuns = Endpoint[schemas.RunQuery, schemas.RunList]{"cairn.runs",
		"Analyses that run or can be replayed, the latest first, in pages", malformed, schemas.PermissionAnalyze}
)

// Render is the built-in rendering agent; --render may select another.
var Render = Stream[schemas.Rendering]{
	Subject: "cairn.render",
	Summary: "Rewrite an answer for a target; responds with a stream of events",
	Invalid: schemas.ErrMalformed,
	Timeout: 60 * time.Second,
	MaxBody: 10 << 20,
}

// subjects has every subject above.
var subjects = []interface{ Operation() Operation }{
	WriteTag, ReadTag, DeleteTag, TagQuota,
	RegisterSkill, RegisterAgent, RegisterTool, RegisterContextBuilder, RegisterGuardrail, RegisterTemplate, Unregister, Reindex,
	PutRecord, PutRecords, DeleteRecord, RecordQuota, Projected, TagUsage,
	ResolveSkill, ResolvePackage, ResolveAgent, ResolveContext, ResolveContextBuilders, ResolveTools, ResolveToolClass, ResolveTemplate,
	ResolveGuardrail, ListSkills, ListTools, ListRecords, SearchRecords, GetRecord, RecordHistory,
	Referrers, RecordUsage, Watch, Analyze, ListRuns, Render,
}

// Services returns the names of the services that have a Health endpoint, in the order
// in which they are stopped.
func Services() []string { return []string{"tags", "register", "resolve", "analyze"} }

const healthSubjects = "cairn.health."

// Health returns the health endpoint of the service of the name.
func Health(service string) Endpoint[schemas.Nothing, schemas.Health] {
	return Endpoint[schemas.Nothing, schemas.Health]{healthSubjects + service, "Health of the service", malformed, ""}
}

var (
	malformed     = schemas.ErrMalformed
	unregistrable = schemas.ErrInvalidRegistration
)

// QueueGroup is the NATS queue group in which the workers of a service share requests.
const QueueGroup = micro.DefaultQueueGroup

// Pattern is how messages on a subject are answered.
type Pattern int

// The patterns of the subjects.
const (
	RequestReply  Pattern = iota // Endpoint: one reply
	RequestEvents                // Stream: events
	Announcement                 // Topic: no reply; every subscriber receives each message
)

// Operation describes a subject.
type Operation struct {
	Pattern    Pattern
	Subject    string
	Summary    string
	Permission schemas.Permission // empty: no permission is required
	Request    reflect.Type       // type of the messages on the subject
	Reply      reflect.Type       // type of the reply; nil unless RequestReply
}

// Operations returns the operations of all subjects, in the order of the services.
func Operations() []Operation {
	var list []Operation
	for _, s := range subjects {
		list = append(list, s.Operation())
	}
	for _, service := range Services() {
		list = append(list, Health(service).Operation())
	}
	return list
}
