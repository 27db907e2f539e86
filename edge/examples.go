package edge

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
	"/register/template":        `{"template_data": {"template_id": "vlan_table", "skill_ids": ["network.find_vlans"]}}`,

	"/records":             `{"kind": "skill", "record": {"skill_id": "network.find_vlans", "tool_ids": ["netbox.vlans.list"]}}`,
	"/records/{kind}/{id}": `{"display_name": "Find VLANs", "version": "1.2.0", "labels": {"team": "network"}, "status": "draft"}`,

	"/resolve/skill":            `{"query": "which vlans are in Oslo", "tenant_id": "acme", "top_k": 3}`,
	"/resolve/agent":            `{"query": "network operations"}`,
	"/resolve/context":          `{"skill_id": "network.find_vlans", "context_types": ["inventory"]}`,
	"/resolve/context_builders": `{"skill_id": "network.find_vlans"}`,
	"/resolve/tools":            `{"tool_ids": ["netbox.vlans.list"]}`,
	"/resolve/tool_class":       `{"tool_class": "inventory", "provider": "netbox"}`,
	"/resolve/template":         `{"skill_id": "network.find_vlans"}`,
	"/resolve/guardrail":        `{"skill_id": "network.find_vlans", "tenant_id": "acme", "explain": true}`,

	"/mcp": `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_skills", "arguments": {"query": "which vlans are in Oslo"}}}`,

	"/a2a":                                       `{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": ` + messageExample + `}`,
	"/a2a/v1/message:send":                       messageExample,
	"/a2a/v1/message:stream":                     messageExample,
	"/a2a/v1/tasks/{id}:cancel":                  `{}`,
	"/a2a/v1/tasks/{id}:subscribe":               `{}`,
	"/a2a/v1/tasks/{id}/pushNotificationConfigs": `{}`,

	"/api/v1/analyze": `{"query": "How many devices are in each site?", "context": "{\"devices\": [{\"name\": \"sw1\", \"site\": \"Oslo\"}]}", "target": "H"}`,
}

// messageExample is a message to the analysis agent (A2A).
const messageExample = `{"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "How many devices are in each site?"}, {"data": {"devices": [{"name": "sw1", "site": "Oslo"}]}}]}}`

// streamExample is the event stream of an analysis.
const streamExample = `id: 1
event: tool_use
data: {"tool_call_id":"1","name":"compute_stats","input":{"data_key":"devices","group_by":"site","metrics":["count"]}}

id: 2
event: tool_result
data: {"tool_call_id":"1","result":{"groups":{"Oslo":1},"total":1}}

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
