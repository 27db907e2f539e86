package describe

// requestExamples are example bodies by path.
var requestExamples = map[string]string{
	"/tags/write": `{"request_id": "req-42", "flow": "analysis", "tags": {"phase": "routing", "domain": "network"}, "ttl_seconds": 600}`,

	"/register/skill": `{"record": {"skill_id": "network.find_vlans", "display_name": "Find VLANs", "purpose": "Locate VLANs by site or number",
  "capabilities": ["vlan lookup"], "example_queries": ["which vlans does Oslo have"], "status": "active",
  "context_builder_ids": ["network.inventory"], "tool_ids": ["netbox.vlans.list"]}}`,
	"/register/agent":           `{"agent_data": {"agent_id": "network.operator", "capabilities": ["answer questions about networks"]}, "skill_ids": ["network.find_vlans"]}`,
	"/register/tool":            `{"tool_data": {"tool_id": "netbox.vlans.list", "tool_class": "inventory", "provider": "netbox", "description": "Lists VLANs"}}`,
	"/register/context_builder": `{"cb_data": {"context_builder_id": "network.inventory", "domain": "network", "context_type": "inventory", "tool_ids": ["netbox.vlans.list"]}}`,
	"/register/guardrail":       `{"guardrail_data": {"guardrail_id": "read_only", "domain": "network", "description": "Never change a device"}}`,
	"/register/template": `{"template_data": {"template_id": "vlan_table", "skill_ids": ["network.find_vlans"], "body": "A table of the VLANs in {{site}}.",
  "variables": [{"name": "site", "required": true}]}}`,

	"/records":             `{"kind": "skill", "record": {"skill_id": "network.find_vlans", "tool_ids": ["netbox.vlans.list"]}}`,
	"/records/search":      `{"query": "which vlans are in Oslo", "kinds": ["skill", "tool"], "filter": {"labels": {"team": "network"}}, "limit": 5}`,
	"/records/{kind}/{id}": `{"display_name": "Find VLANs", "version": "1.2.0", "labels": {"team": "network"}, "status": "draft"}`,

	"/records/{kind}/{id}/aliases/{name}": `{"version": "1.2.0"}`,

	"/resolve/skill":            `{"query": "which vlans are in Oslo", "tenant_id": "acme", "top_k": 3}`,
	"/resolve/agent":            `{"query": "network operations"}`,
	"/resolve/context":          `{"skill_id": "network.find_vlans", "context_types": ["inventory"]}`,
	"/resolve/context_builders": `{"skill_id": "network.find_vlans"}`,
	"/resolve/tools":            `{"tool_ids": ["netbox.vlans.list"]}`,
	"/resolve/tool_class":       `{"tool_class": "inventory", "provider": "netbox"}`,
	"/resolve/template":         `{"skill_id": "network.find_vlans", "variables": {"site": "Oslo"}}`,
	"/resolve/guardrail":        `{"skill_id": "network.find_vlans", "tenant_id": "acme", "explain": true}`,

	"/search": `{"query": {"text": "which vlans are in Oslo", "filter": {"type": ["application/ai-skill+md"], "tags": ["network"]}}, "pageSize": 5}`,

	"/mcp": `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_skills", "arguments": {"query": "which vlans are in Oslo"}}}`,

	"/a2a": `{"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
  "params": ` + agentMessageExample + `}`,

	"/api/v1/analyze": `{"query": "How many devices are in each site?", "context": "{\"devices\": [{\"name\": \"sw1\", \"site\": \"Oslo\"}]}", "target": "H"}`,
}

// agentMessageExample is a message to the analysis agent (A2A).
const agentMessageExample = `{"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "How many devices are in each site?"}, {"data": {"devices": [{"name": "sw1", "site": "Oslo"}]}}]}}`

// analysisExample is the event stream of an analysis.
const analysisExample = `id: 1
event: tool_use
data: {"tool_call_id":"1","name":"compute_stats","input":{"data_key":"devices","group_by":"site","metrics":["count"]}}

id: 2
event: tool_result
data: {"tool_call_id":"1","result":{"groups":{"Oslo":1},"total":1,"group_count":1,"matched":1,"records":1}}

id: 3
event: text_delta
data: {"text":"Oslo has 1 device."}

id: 4
event: done
data: {}

`

// watchExample is the event stream of a watch.
const watchExample = `id: ID-41
event: watching
data: {"revision":"ID-41"}

id: ID-42
event: replaced
data: {"revision":"ID-42","kind":"skill","id":"network.find_vlans","tenant_id":"acme","stored_at":"2026-11-23T12:00:00Z","version":"1.2.0"}

`

// replyExamples are example replies by the name of their type.
var replyExamples = map[string]string{
	"Caller": `{"id": "k1", "role": "registrar", "tenants": ["acme"], "permissions": ["read", "tag", "register"]}`,
	"Health": `{"service": "cairn", "status": "ok", "version": "1.4.0", "services": [
  {"service": "resolve", "status": "ok", "version": "1.4.0", "catalog": "ID", "revision": 42}]}`,

	"TagWritten": `{"request_id": "req-42", "flow": "analysis"}`,
	"TagFound":   `{"tags": {"request_id": "req-42", "flow": "analysis", "tags": {"phase": "routing", "domain": "network"}}}`,
	"TagList": `{"tags": [{"request_id": "req-42", "created_at": "2026-11-23T12:00:00Z", "expires_at": "2026-11-23T12:10:00Z", "size": 92}],
  "next_cursor": null}`,

	"SkillRegistered":          `{"skill_id": "network.find_vlans"}`,
	"AgentRegistered":          `{"agent_id": "network.operator"}`,
	"ToolRegistered":           `{"tool_id": "netbox.vlans.list"}`,
	"ContextBuilderRegistered": `{"context_builder_id": "network.inventory"}`,
	"GuardrailRegistered":      `{"guardrail_id": "read_only"}`,
	"TemplateRegistered":       `{"template_id": "vlan_table"}`,
	"Reindexed":                `{"generation": "cairn-20261123T120000", "records": 1042}`,

	"SkillAnswer": `{"skills": [{"skill_id": "network.find_vlans", "display_name": "Find VLANs", "purpose": "Locate VLANs by site or number", "score": 0.83}]}`,
	"AgentAnswer": `{"agent_id": "network.operator", "capabilities": ["answer questions about networks"],
  "owned_skill_ids": ["network.find_vlans"], "score": 0.71, "record": {"agent_id": "network.operator"}}`,
	"ContextAnswer": `{"context_builders": [{"context_builder_id": "network.inventory", "domain": "network", "context_type": "inventory",
  "tool_ids": ["netbox.vlans.list"]}]}`,
	"ToolsAnswer": `{"tools": [{"tool_id": "netbox.vlans.list", "tool_class": "inventory", "provider": "netbox"}],
  "missing": ["netbox.devices.list"]}`,
	"ToolClassAnswer": `{"tools": [{"tool_id": "netbox.vlans.list", "tool_class": "inventory", "provider": "netbox"}]}`,
	"TemplateAnswer": `{"template": {"template_id": "vlan_table", "skill_ids": ["network.find_vlans"],
  "body": "A table of the VLANs in {{site}}.", "variables": [{"name": "site", "required": true}]}, "text": "A table of the VLANs in Oslo."}`,
	"GuardrailAnswer": `{"guardrails": [{"guardrail_id": "read_only", "domain": "network", "description": "Never change a device"}],
  "explain": [{"kind": "guardrail", "id": "read_only", "scope": "global", "via": "domain"}]}`,
	"SkillList": `{"skills": [{"skill_id": "network.find_vlans", "display_name": "Find VLANs"}], "next_cursor": null}`,
	"ToolList":  `{"tools": [{"tool_id": "netbox.vlans.list", "tool_class": "inventory", "provider": "netbox"}], "next_cursor": null}`,
	"EncodedPackage": `{"skill_id": "network.find_vlans", "manifest": {"skill_id": "network.find_vlans", "tool_ids": ["netbox.vlans.list"]}, "context_builders": [],
  "tools": [{"tool_id": "netbox.vlans.list"}], "guardrails": [{"guardrail_id": "read_only", "domain": "network"}], "template": {}}`,

	"RecordResults": `{"kind": "skill", "id": "network.find_vlans", "revision": "ID-42"}`, // a line
	"RecordList":    `{"records": [{"skill_id": "network.find_vlans", "display_name": "Find VLANs"}], "stored_at": ["2026-11-23T12:00:00Z"], "next_cursor": null}`,
	"RecordFound":   `{"skill_id": "network.find_vlans", "display_name": "Find VLANs", "version": "1.2.0"}`,
	"AliasList":     `{"aliases": [{"name": "production", "revision": "ID-42", "version": "1.2.0", "stored_at": "2026-11-23T12:00:00Z"}]}`,
	"AliasStored": `{"kind": "skill", "id": "network.find_vlans", "name": "production", "revision": "ID-42",
		"version": "1.2.0"}`,
	"RecordHistory": `{"revisions": [{"revision": "ID-42", "stored_at": "2026-11-23T12:00:00Z", "version": "1.2.0", "status": "active"}]}`,
	"ReferrerList":  `{"referrers": [{"kind": "skill", "id": "network.find_vlans", "tenant_id": "acme", "field": "tool_ids", "status": "active"}], "next_cursor": null, "count": 1}`,
	"RecordUsage":   `{"resolved": {"count": 12, "last_at": "2026-11-23T12:00:00Z"}, "found": {"count": 0}}`,
	"RecordStored": `{"kind": "skill", "id": "network.find_vlans",
  "warnings": [{"field": "tool_ids[0]", "message": "no tool has the id netbox.vlans.list"}]}`,

	"AuditList": `{"entries": [{"time": "2026-11-23T12:00:00.25Z", "action": "replace", "tenant_id": "acme", "kind": "skill", "id": "storage.volume_capacity",
  "revision": "V1StGXR8Z5jdHi6BmyT0aB-42", "actor": "4pwq6kzv2n7x", "actor_type": "key", "message": "thresholds of the new arrays", "request_id": "r-17",
  "route": "cairn.records.put"}], "next_cursor": null}`,
	"RunList": `{"runs": [{"run": "V1StGXR8Z5jdHi6BmyT0aB", "state": "done", "started_at": "2026-11-23T12:00:00Z", "updated_at": "2026-11-23T12:00:02Z",
  "query": "How many devices are in each site?", "user": "k1", "model": "offline:", "duration_ms": 2000, "usage": {"prompt_tokens": 812, "answer_tokens": 65, "tool_calls": 1}}],
  "next_cursor": null}`,

	"RecordHits": `{"hits": [{"kind": "skill", "score": 0.83, "record": {"skill_id": "network.find_vlans"}}], "next_offset": null}`,
	"TenantList": `{"tenants": [{"tenant_id": "acme", "count": 46}], "next_cursor": null}`,
	"Quota":      `{"count": 46, "bytes": 18230, "max_count": 1000000, "max_bytes": 1717986880}`,

	"ARDManifest": `{"specVersion": "1.0", "host": {"displayName": "example.com", "identifier": "example.com",
  "documentationUrl": "https://example.com/docs"}, "entries": [` + entryExample + `}]}`,
	"ARDResults": `{"results": [` + entryExample + `, "score": 83, "source": "https://example.com"}]}`,
	"ARDList":    `{"items": [` + entryExample + `}]}`,

	"AgentCard": cardExample,

	"ServerList":  `{"servers": [` + serverExample + `], "metadata": {"count": 1}}`,
	"ServerEntry": serverExample,

	"RPCResponse": `{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "network.find_vlans 0.83"}]}}`,
	"ProtectedResource": `{"resource": "https://cairn.example.com", "resource_name": "Cairn",
  "authorization_servers": ["https://login.example.com"], "bearer_methods_supported": ["header"]}`,
}

// cardExample is the card of an agent (A2A).
const cardExample = `{"name": "Network agent", "description": "Answers questions about networks", "version": "1.0.0",
  "supportedInterfaces": [{"url": "https://agents.example.com/network", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
  "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": []}`

// entryExample is an entry of Agentic Resource Discovery, without its closing brace.
const entryExample = `{"identifier": "urn:air:example.com:skill:network.find_vlans", "displayName": "Find VLANs",
  "type": "application/ai-skill+md", "url": "https://example.com/ard/skills/network.find_vlans/SKILL.md"`

// serverExample is an MCP server in the API of registries.
const serverExample = `{"server": {"name": "io.github.user/weather", "description": "Weather forecasts", "version": "1.0.0"},
  "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}}}`

// errorExample is an error response.
const errorExample = `{"type": "/docs#CE-031", "title": "skill not found", "status": 404, "detail": "no skill has the id \"network.find_vlan\"",
  "instance": "/resolve/skill", "code": "CE-031", "request_id": "6jelf0zJDdRb9AUtgVcO0h"}`

// messageExample is the event stream of a message of the Model Context Protocol.
const messageExample = `event: message
data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"network.find_vlans 0.83"}]}}

`
