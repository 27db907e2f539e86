package test

import (
	"strings"
	"testing"
)

var long = strings.Repeat("x", 257)

// refusals are registrations that violate the schema, with the error fields.
var refusals = []row{
	{"a body is required", "POST /register/skill", ``, 400, "CE-061", ""},
	{"malformed JSON is refused", "POST /register/skill", `{"record":`, 400, "CE-061 record", ""},
	{"data after the object is refused", "POST /register/skill", `{"record":{"skill_id":"$.a"}} x`, 400, "CE-061", ""},
	{"an object", "POST /register/skill", `[]`, 400, "CE-061 body", ""},
	{"a record is required", "POST /register/skill", `{}`, 400, "CE-061 record.skill_id", ""},
	{"the record has the member name record", "POST /register/skill", `{"skill_id":"$.a"}`, 400, "CE-061 record.skill_id",
		""},
	{"the record is an object", "POST /register/skill", `{"record":"$.a"}`, 400, "CE-061 record", ""},
	{"a skill's id is required", "POST /register/skill", `{"record":{"domain":"$"}}`, 400, "CE-061 record.skill_id", ""},
	{"a skill's id is a string", "POST /register/skill", `{"record":{"skill_id":["$.a"]}}`, 400, "CE-061 record.skill_id",
		""},
	{"a skill's id has two segments", "POST /register/skill", `{"record":{"skill_id":"$"}}`, 400, "CE-061 record.skill_id",
		""},
	{"no segment is empty", "POST /register/skill", `{"record":{"skill_id":"$..a"}}`, 400, "CE-061 record.skill_id", ""},
	{"the last segment is not empty", "POST /register/skill", `{"record":{"skill_id":"$.a."}}`, 400,
		"CE-061 record.skill_id", ""},
	{"an id has no white space", "POST /register/skill", `{"record":{"skill_id":"$.a b"}}`, 400, "CE-061 record.skill_id",
		""},
	{"an id has no control characters", "POST /register/skill", `{"record":{"skill_id":"$.a\u0007"}}`, 400,
		"CE-061 record.skill_id", ""},
	{"an id has at most 256 characters", "POST /register/skill", `{"record":{"skill_id":"$.` + long + `"}}`, 400,
		"CE-061 record.skill_id",
		""},
	{"the domain equals the id's first segment", "POST /register/skill", `{"record":{"skill_id":"$.a","domain":"other"}}`,
		400,
		"CE-061 record.domain", ""},
	{"the domain is a string", "POST /register/skill", `{"record":{"skill_id":"$.a","domain":1}}`, 400,
		"CE-061 record.domain", ""},
	{"capabilities are an array", "POST /register/skill", `{"record":{"skill_id":"$.a","capabilities":"all"}}`, 400,
		"CE-061 record.capabilities", ""},
	{"capabilities are strings", "POST /register/skill", `{"record":{"skill_id":"$.a","capabilities":["a",2]}}`, 400,
		"CE-061 record.capabilities[1]", ""},
	{"a description is a string", "POST /register/skill", `{"record":{"skill_id":"$.a","description":{}}}`, 400,
		"CE-061 record.description", ""},
	{"links are ids", "POST /register/skill", `{"record":{"skill_id":"$.a","tool_ids":["a b",""]}}`, 400,
		"CE-061 record.tool_ids[0] record.tool_ids[1]", ""},
	{"template_id is an id", "POST /register/skill", `{"record":{"skill_id":"$.a","template_id":"a b"}}`, 400,
		"CE-061 record.template_id",
		""},
	{"all invalid fields are listed", "POST /register/skill",
		`{"record":{"skill_id":"$","domain":"x","tenant_id":"_global"}}`, 400,
		"CE-061 record.domain record.skill_id record.tenant_id", ""},
	{"duplicate members are refused", "POST /register/skill", `{"record":{"skill_id":"$.a","skill_id":"$.b"}}`, 400,
		"CE-061 record.skill_id", ""},
	{"a tenant is not empty", "POST /register/skill", `{"record":{"skill_id":"$.a","tenant_id":""}}`, 400,
		"CE-061 record.tenant_id", ""},
	{"a tenant is not _global", "POST /register/tool", `{"tool_data":{"tool_id":"$.a.b","tenant_id":"_global"}}`, 400,
		"CE-061 tool_data.tenant_id", ""},
	{"an agent's id is required", "POST /register/agent", `{"agent_data":{},"skill_ids":[]}`, 400,
		"CE-061 agent_data.agent_id", ""},
	{"an agent's skills are an array", "POST /register/agent", `{"agent_data":{"agent_id":"$.a"},"skill_ids":"$.b"}`, 400,
		"CE-061 skill_ids", ""},
	{"an agent's skills are ids", "POST /register/agent", `{"agent_data":{"agent_id":"$.a"},"skill_ids":["$ b"]}`, 400,
		"CE-061 skill_ids[0]", ""},
	{"a tool's id is required", "POST /register/tool", `{"tool_data":{"tool_class":"c"}}`, 400, "CE-061 tool_data.tool_id",
		""},
	{"a tool's id has three segments", "POST /register/tool", `{"tool_data":{"tool_id":"$.list"}}`, 400,
		"CE-061 tool_data.tool_id", ""},
	{"a context builder's id is required", "POST /register/context_builder", `{"cb_data":{"domain":"$"}}`, 400,
		"CE-061 cb_data.context_builder_id", ""},
	{"a context builder's tools are ids", "POST /register/context_builder",
		`{"cb_data":{"context_builder_id":"$","tool_ids":[1]}}`, 400,
		"CE-061 cb_data.tool_ids[0]", ""},
	{"a guardrail's id is required", "POST /register/guardrail", `{"guardrail_data":{}}`, 400,
		"CE-061 guardrail_data.guardrail_id", ""},
	{"a template's id is required", "POST /register/template", `{"template_data":{"skill_ids":[]}}`, 400,
		"CE-061 template_data.template_id", ""},
}

func TestInvalidRegistrations(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.rows(t, refusals)
		c.rows(t, []row{
			{"no invalid record was registered", "POST /resolve/skill", `{"skill_id":"$.a"}`, 404, "CE-031", ""},
			{"no invalid record is listed", "GET /skills?domain=$", "", 200, `{"skills":[],"next_cursor":null}`, ""},
		})
	})
}

func TestValidRegistrations(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const register, resolve = "POST /register/skill", "POST /resolve/skill"
		c.rows(t, []row{
			{"a skill with an id only", register, `{"record":{"skill_id":"$.min"}}`, 200, `{"skill_id":"$.min"}`, ""},
			{"the default domain is the id's first segment", resolve, `{"skill_id":"$.min"}`, 200, "",
				`{"manifest":{"skill_id":"$.min","domain":"$"}}`},
			{"a tenant of null is global", register, `{"record":{"skill_id":"$.null","tenant_id":null}}`, 200,
				`{"skill_id":"$.null"}`, ""},
			{"a global record is found", resolve, `{"skill_id":"$.null"}`, 200, "",
				`{"skill_id":"$.null","manifest":{"tenant_id":null}}`},
			{"an id may have more segments, and any letters", register, `{"record":{"skill_id":"$.a.b.*>é漢/%2F"}}`, 200,
				`{"skill_id":"$.a.b.*>é漢/%2F"}`, ""},
			{"an id with several segments is found", resolve, `{"skill_id":"$.a.b.*>é漢/%2F"}`, 200, "",
				`{"skill_id":"$.a.b.*>é漢/%2F"}`},
			{"an id with any letters is removed", "DELETE /register/skill/$.a.b.*%3E%C3%A9%E6%BC%A2%2F%252F", "", 204, "", ""},
			{"the removed id is not found", resolve, `{"skill_id":"$.a.b.*>é漢/%2F"}`, 404, "CE-031", ""},
			{"an id may have 256 characters", register, `{"record":{"skill_id":"$.` + long[:243] + `"}}`, 200,
				`{"skill_id":"$.` + long[:243] + `"}`, ""},
			{"an id of 256 characters is found", resolve, `{"skill_id":"$.` + long[:243] + `"}`, 200, "",
				`{"skill_id":"$.` + long[:243] + `"}`},
			{"an id may have any letters", register, `{"record":{"skill_id":"$.` + strings.Repeat("漢", 243) + `"}}`, 200,
				`{"skill_id":"$.` + strings.Repeat("漢", 243) + `"}`, ""},
			{"an id with any letters is found", resolve, `{"skill_id":"$.` + strings.Repeat("漢", 243) + `"}`, 200, "",
				`{"skill_id":"$.` + strings.Repeat("漢", 243) + `"}`},
			{"records that do not exist yet may be linked", register,
				`{"record":{"skill_id":"$.early","tool_ids":["$.s.later"]}}`, 200,
				`{"skill_id":"$.early"}`, ""},
			{"links to missing records are skipped", resolve, `{"skill_id":"$.early"}`, 200, "", `{"tools":[]}`},
			{"the linked record is registered", "POST /register/tool", `{"tool_data":{"tool_id":"$.s.later"}}`, 200,
				`{"tool_id":"$.s.later"}`, ""},
			{"links to registered records are resolved", resolve, `{"skill_id":"$.early"}`, 200, "",
				`{"tools":[{"tool_id":"$.s.later"}]}`},
		})
	})
}
