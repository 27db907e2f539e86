// Package edge speaks HTTP for Cairn. It translates and nothing more: a body
// goes to its subject as it came, and the workers behind the subjects decide.
package edge

import (
	"cairn/bus"
	"cairn/schemas"
)

// routes is everything that can be asked over HTTP, in the order of the
// contracts. The status is that of success; the errors are those that the
// contracts give the route alone.
func routes(analysis bus.Stream[schemas.Analysis]) []route {
	return []route{
		get("/health", health(), 200, "How Cairn and its services are"),
		get("/health/live", live(), 200, "Whether this process runs"),
		get("/health/ready", ready(), 200, "Whether requests can be served: NATS answers, some service has a worker, and the edge is not stopping"),
		get(metricsPath, metrics(), 200, "The metrics of this process, for Prometheus"),

		post("/tags/write", forward(bus.WriteTag), 201, "Store the tag of a request", schemas.ErrTagExists),
		get("/tags/{request_id}", fromURL(bus.ReadTag), 200, "The tag of a request", schemas.ErrTagNotFound),
		remove("/tags/{request_id}", fromURL(bus.DeleteTag), 204, "Remove the tag of a request; absent is no error"),

		post("/register/skill", forward(bus.RegisterSkill), 200, "Register a skill, or replace it"),
		post("/register/agent", forward(bus.RegisterAgent), 200, "Register an agent, or replace it"),
		post("/register/tool", forward(bus.RegisterTool), 200, "Register a tool, or replace it"),
		post("/register/context_builder", forward(bus.RegisterContextBuilder), 200, "Register a context builder, or replace it"),
		post("/register/guardrail", forward(bus.RegisterGuardrail), 200, "Register a guardrail, or replace it"),
		post("/register/template", forward(bus.RegisterTemplate), 200, "Register a template, or replace it"),
		post("/register/reindex", bare(bus.Reindex), 200, "Fill a new search index from the catalog; 501 where it is in memory", schemas.ErrNotImplemented),
		remove("/register/{kind}/{id}", fromURL(bus.Unregister), 204, "Remove a record; absent is no error"),

		post("/resolve/skill", fresh(forward(bus.ResolveSkill)), 200, "A skill with all that serves it, or a search for skills", schemas.ErrSkillNotFound),
		post("/resolve/agent", fresh(forward(bus.ResolveAgent)), 200, "The agent that fits a query best", schemas.ErrAgentNotFound),
		post("/resolve/context", fresh(forward(bus.ResolveContext)), 200, "The context builders of a skill", schemas.ErrSkillNotFound, schemas.ErrContextBuilderNotFound),
		post("/resolve/context_builders", fresh(forward(bus.ResolveContextBuilders)), 200, "Another name for /resolve/context", schemas.ErrSkillNotFound, schemas.ErrContextBuilderNotFound),
		post("/resolve/tools", fresh(forward(bus.ResolveTools)), 200, "Tools by id", schemas.ErrToolNotFound),
		post("/resolve/tool_class", fresh(forward(bus.ResolveToolClass)), 200, "All tools of a class", schemas.ErrToolNotFound),
		post("/resolve/template", fresh(forward(bus.ResolveTemplate)), 200, "The template of a skill", schemas.ErrSkillNotFound, schemas.ErrTemplateNotFound),
		post("/resolve/guardrail", fresh(forward(bus.ResolveGuardrail)), 200, "The guardrails of a skill", schemas.ErrSkillNotFound),

		get("/skills", fresh(fromURL(bus.ListSkills)), 200, "Active skills, ordered by id, a page at a time"),
		get("/tools", fresh(fromURL(bus.ListTools)), 200, "Active tools, ordered by id, a page at a time"),

		post("/search/playbooks", notImplemented(), 501, "Not implemented"),
		post("/answer/knowledge", notImplemented(), 501, "Not implemented"),
		post("/resolve/domain_knowledge", notImplemented(), 501, "Not implemented"),

		post("/api/v1/analyze", events(analysis), 200, "Ask about an estate; the answer is a stream of events"),
		get("/api/v1/analyze/{run}", resume(analysis), 200, "The events of an analysis that follow the one of Last-Event-ID; 204 when it was the last", schemas.ErrRunNotFound),
		remove("/api/v1/analyze/{run}", stop(analysis), 204, "Stop an analysis; one that is over is no error"),

		get("/openapi.json", openAPI(), 200, "This interface in the words of OpenAPI 3.1"),
		get("/docs", manualPage(func(d description) []byte { return d.index }), 200, "The manual: table of contents and error codes, as HTML"),
		get("/docs/reference", manualPage(func(d description) []byte { return d.reference }), 200, "This interface as HTML"),
		get("/docs/search", searchManual(), 200, "Sections of the manual that contain all words of a query, as HTML"),
		get("/docs/{page}", readManual(), 200, "A page of the manual as HTML", schemas.ErrUnknownPath),
	}
}
