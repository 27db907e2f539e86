// Package edge is the HTTP server. It translates requests into NATS messages: a
// request body is forwarded to its subject unchanged and is validated by the worker.
package edge

import (
	"cairn/bus"
	"cairn/edge/a2a"
	"cairn/edge/describe"
	"cairn/edge/mcp"
	"cairn/edge/registry"
	"cairn/schemas"
)

// routes returns the route table, in the order of the contracts. The status is the
// success status; the errors are the ones that the contract lists for this route only.
func routes(e *edge) []route {
	analysis := e.analysis
	return []route{
		get(consolePath, consolePage(), schemas.ErrUnknownPath),
		get(consoleFiles+"{build}/{file}", consoleFile(), schemas.ErrUnknownPath),
		get("/identity", identity()),

		get("/health", health(e)),
		get("/health/live", live()),
		get("/health/ready", ready(e)),
		get(metricsPath, metrics()),

		post("/tags/write", forward(bus.WriteTag), 201, schemas.ErrTagExists),
		get("/tags", fromURL(bus.ListTags)),
		get("/tags/{request_id}", fromURL(bus.ReadTag), schemas.ErrTagNotFound),
		remove("/tags/{request_id}", fromURL(bus.DeleteTag)),

		post("/register/skill", conditional(register(bus.RegisterSkill)), 200),
		post("/register/agent", conditional(register(bus.RegisterAgent)), 200),
		post("/register/tool", conditional(register(bus.RegisterTool)), 200),
		post("/register/context_builder", conditional(register(bus.RegisterContextBuilder)), 200),
		post("/register/guardrail", conditional(register(bus.RegisterGuardrail)), 200),
		post("/register/template", conditional(register(bus.RegisterTemplate)), 200),
		post("/register/reindex", withMessage(withoutBody(bus.Reindex)), 200, schemas.ErrNotImplemented),
		remove("/register/{kind}/{id}", conditional(unregister(bus.Unregister))),

		post("/resolve/skill", consistent(forward(bus.ResolveSkill)), 200, schemas.ErrSkillNotFound),
		post("/resolve/agent", consistent(forward(bus.ResolveAgent)), 200, schemas.ErrAgentNotFound),
		post("/resolve/context", consistent(forward(bus.ResolveContext)), 200, schemas.ErrSkillNotFound,
			schemas.ErrContextBuilderNotFound),
		post("/resolve/context_builders", consistent(forward(bus.ResolveContextBuilders)), 200,
			schemas.ErrSkillNotFound, schemas.ErrContextBuilderNotFound),
		post("/resolve/tools", consistent(forward(bus.ResolveTools)), 200, schemas.ErrToolNotFound),
		post("/resolve/tool_class", consistent(forward(bus.ResolveToolClass)), 200, schemas.ErrToolNotFound),
		post("/resolve/template", consistent(forward(bus.ResolveTemplate)), 200, schemas.ErrSkillNotFound,
			schemas.ErrTemplateNotFound),
		post("/resolve/guardrail", consistent(forward(bus.ResolveGuardrail)), 200, schemas.ErrSkillNotFound),

		get("/skills", consistent(fromURL(bus.ListSkills))),
		get("/tools", consistent(fromURL(bus.ListTools))),

		get("/packages/{skill_id}", withETag(consistent(fromURL(bus.ResolvePackage))), schemas.ErrSkillNotFound),
		post("/records", withMessage(bulk(bus.PutRecords)), 200),
		post("/records/search", consistent(forward(bus.SearchRecords)), 200),
		get("/records/{kind}", consistent(fromURL(bus.ListRecords))),
		get("/records/{kind}/{id}", withETag(consistent(fromURL(bus.GetRecord))), schemas.ErrRecordNotFound),
		get("/records/{kind}/{id}/history", consistent(fromURL(bus.RecordHistory)), schemas.ErrRecordNotFound),
		get("/records/{kind}/{id}/aliases", consistent(fromURL(bus.ListAliases)), schemas.ErrRecordNotFound),
		put("/records/{kind}/{id}/aliases/{name}", withMessage(fromURLAndBody(bus.PutAlias, "target")), 200,
			schemas.ErrRecordNotFound),
		remove("/records/{kind}/{id}/aliases/{name}", withMessage(fromURL(bus.DeleteAlias))),
		get("/records/{kind}/{id}/referrers", consistent(fromURL(bus.Referrers))),
		get("/records/{kind}/{id}/usage", consistent(fromURL(bus.RecordUsage)), schemas.ErrRecordNotFound),
		put("/records/{kind}/{id}", conditional(fromURLAndBody(bus.PutRecord, "record")), 200),
		remove("/records/{kind}/{id}", conditional(unregister(bus.DeleteRecord)), schemas.ErrRecordReferenced),

		get("/agents/{id}/card", withETag(consistent(agentCard())), schemas.ErrRecordNotFound),

		get(registryPath, consistent(registryAction("List MCP servers in the MCP registry format", registry.Servers))),
		get(registryPath+"/{serverName}/versions",
			consistent(registryAction("The versions of an MCP server", registry.Versions)),
			schemas.ErrToolNotFound),
		get(registryPath+"/{serverName}/versions/{version}",
			consistent(registryAction("A version of an MCP server", registry.Version)),
			schemas.ErrToolNotFound),

		get("/tenants", fromURL(bus.ListTenants)),
		get("/quota/records", fromURL(bus.RecordQuota)),
		get("/quota/tags", fromURL(bus.TagQuota)),
		get(catalogPath, discovery("The catalog of published records (Agentic Resource Discovery); 404 without a publisher",
			catalog(e)),
			schemas.ErrUnknownPath),
		get(ardPath, discovery("Alias of "+catalogPath, catalog(e)), schemas.ErrUnknownPath),
		get(skillPath, discovery("The SKILL.md of a published global skill", skillFile()), schemas.ErrUnknownPath,
			schemas.ErrRecordNotFound),
		get(tenantSkillPath, discovery("The SKILL.md of a published skill of a tenant", tenantSkillFile()),
			schemas.ErrUnknownPath,
			schemas.ErrRecordNotFound),
		post("/search", consistent(discovery("Published records that match a query, best first", searchEntries())), 200,
			schemas.ErrUnknownPath),
		get("/agents", consistent(discovery("Published records, in pages", listEntries())), schemas.ErrUnknownPath),
		post("/explore", discovery("Not implemented", explore()), 501, schemas.ErrUnknownPath),

		get("/watch", watchCatalog(bus.Watch)),
		get("/audit", fromURL(bus.Audit)),

		post("/search/playbooks", notImplemented(), 501),
		post("/answer/knowledge", notImplemented(), 501),
		post("/resolve/domain_knowledge", notImplemented(), 501),

		post("/api/v1/analyze", events(analysis), 200),
		get("/api/v1/analyze/{run}",
			resume(analysis).summarized("Resume an analysis: its events after Last-Event-ID; 204 if that was the last"),
			schemas.ErrRunNotFound),
		remove("/api/v1/analyze/{run}", cancelRun(analysis).summarized("Cancel an analysis; succeeds if it has ended")),
		get("/runs", fromURL(bus.ListRuns)),

		post(mcp.Path, modelContext(analysis), 200),
		get(resourceMetadata, protectedResource(""), schemas.ErrUnknownPath),
		get(resourceMetadata+mcp.Path, protectedResource(mcp.Path), schemas.ErrUnknownPath),

		get("/asyncapi.json", document("The AsyncAPI 3.0 description of the NATS subjects", "application/json",
			func(d describe.Description) []byte { return d.AsyncAPI })),
		get("/openapi.json", document("The OpenAPI 3.1 description of this interface", "application/json",
			func(d describe.Description) []byte { return d.OpenAPI })),
		get("/docs", document("Table of contents of the manual and error codes, as HTML", mediaHTML,
			func(d describe.Description) []byte { return d.Index })),
		get("/docs/reference", document("The HTTP reference as HTML", mediaHTML,
			func(d describe.Description) []byte { return d.Reference })),
		get("/docs/search", searchManual()),
		get("/docs/images/{image}", manualImage(), schemas.ErrUnknownPath),
		get("/docs/{page}", readManual(), schemas.ErrUnknownPath),

		get(agentCardPath, publicAgentCard(), schemas.ErrMalformed),
		post(a2a.Path, agentRPC(analysis), 200),
	}
}
