// Package edge is the HTTP server. It translates requests into NATS messages: a
// request body is forwarded to its subject unchanged and is validated by the worker.
package edge

import (
	"cairn/bus"
	"cairn/schemas"
)

// routes returns the route table, in the order of the contracts. The status is that
// of success; the errors are those that the contract names for the route alone.
func routes(analysis bus.Stream[schemas.Analysis]) []route {
	return []route{
		get("/health", health(), "Health of Cairn and its services"),
		get("/health/live", live(), "Liveness of this process"),
		get("/health/ready", ready(), "Readiness: NATS is connected, at least one service has a worker, and the edge is not shutting down"),
		get(metricsPath, metrics(), "Metrics of this process in the Prometheus text format"),

		post("/tags/write", forward(bus.WriteTag), 201, "Store the tag of a request", schemas.ErrTagExists),
		get("/tags/{request_id}", fromURL(bus.ReadTag), "The tag of a request", schemas.ErrTagNotFound),
		remove("/tags/{request_id}", fromURL(bus.DeleteTag), 204, "Delete the tag of a request; succeeds if there is none"),

		post("/register/skill", forward(bus.RegisterSkill), 200, "Register or replace a skill"),
		post("/register/agent", forward(bus.RegisterAgent), 200, "Register or replace an agent"),
		post("/register/tool", forward(bus.RegisterTool), 200, "Register or replace a tool"),
		post("/register/context_builder", forward(bus.RegisterContextBuilder), 200, "Register or replace a context builder"),
		post("/register/guardrail", forward(bus.RegisterGuardrail), 200, "Register or replace a guardrail"),
		post("/register/template", forward(bus.RegisterTemplate), 200, "Register or replace a template"),
		post("/register/reindex", bare(bus.Reindex), 200, "Build a new search index from the catalog; 501 with the embedded index",
			schemas.ErrNotImplemented),
		remove("/register/{kind}/{id}", fromURL(bus.Unregister), 204, "Delete a record; succeeds if there is none"),

		post("/resolve/skill", fresh(forward(bus.ResolveSkill)), 200, "The package of a skill, or a search for skills", schemas.ErrSkillNotFound),
		post("/resolve/agent", fresh(forward(bus.ResolveAgent)), 200, "The agent that best matches a query", schemas.ErrAgentNotFound),
		post("/resolve/context", fresh(forward(bus.ResolveContext)), 200, "The context builders of a skill", schemas.ErrSkillNotFound,
			schemas.ErrContextBuilderNotFound),
		post("/resolve/context_builders", fresh(forward(bus.ResolveContextBuilders)), 200, "Alias of /resolve/context",
			schemas.ErrSkillNotFound, schemas.ErrContextBuilderNotFound),
		post("/resolve/tools", fresh(forward(bus.ResolveTools)), 200, "Tools by id", schemas.ErrToolNotFound),
		post("/resolve/tool_class", fresh(forward(bus.ResolveToolClass)), 200, "All tools of a class", schemas.ErrToolNotFound),
		post("/resolve/template", fresh(forward(bus.ResolveTemplate)), 200, "The template of a skill", schemas.ErrSkillNotFound,
			schemas.ErrTemplateNotFound),
		post("/resolve/guardrail", fresh(forward(bus.ResolveGuardrail)), 200, "The guardrails of a skill", schemas.ErrSkillNotFound),

		get("/skills", fresh(fromURL(bus.ListSkills)), "Active skills, ordered by id, in pages"),
		get("/tools", fresh(fromURL(bus.ListTools)), "Active tools, ordered by id, in pages"),

		post("/search/playbooks", notImplemented(), 501, "Not implemented"),
		post("/answer/knowledge", notImplemented(), 501, "Not implemented"),
		post("/resolve/domain_knowledge", notImplemented(), 501, "Not implemented"),

		post("/api/v1/analyze", events(analysis), 200, "Analyze an estate; responds with a stream of events"),
		get("/api/v1/analyze/{run}", resume(analysis), "Resume an analysis: its events after Last-Event-ID; 204 if that was the last",
			schemas.ErrRunNotFound),
		remove("/api/v1/analyze/{run}", stop(analysis), 204, "Cancel an analysis; succeeds if it has ended"),

		get("/openapi.json", openAPI(), "The OpenAPI 3.1 description of this interface"),
		get("/docs", manualPage(func(d description) []byte { return d.index }), "Table of contents of the manual and error codes, as HTML"),
		get("/docs/reference", manualPage(func(d description) []byte { return d.reference }), "The HTTP reference as HTML"),
		get("/docs/search", searchManual(), "Sections of the manual that contain all words of a query, as HTML"),
		get("/docs/{page}", readManual(), "A page of the manual as HTML", schemas.ErrUnknownPath),
	}
}
