package test

import (
	"strings"
	"testing"
)

var long = strings.Repeat("x", 257)

// refusals are registrations that violate the schema, with the error fields.
var refusals = []row{
	{"a body is required", "POST /register/skill", ``, 400, "CE-061", ""},
	{"of JSON", "POST /register/skill", `{"record":`, 400, "CE-061 record", ""},
	{"without anything behind", "POST /register/skill", `{"record":{"skill_id":"$.a"}} x`, 400, "CE-061", ""},
	{"an object", "POST /register/skill", `[]`, 400, "CE-061 body", ""},
	{"with the record", "POST /register/skill", `{}`, 400, "CE-061 record.skill_id", ""},
	{"under its name", "POST /register/skill", `{"skill_id":"$.a"}`, 400, "CE-061 record.skill_id", ""},
	{"as an object", "POST /register/skill", `{"record":"$.a"}`, 400, "CE-061 record", ""},
	{"a skill's id is required", "POST /register/skill", `{"record":{"domain":"$"}}`, 400, "CE-061 record.skill_id", ""},
	{"and a string", "POST /register/skill", `{"record":{"skill_id":["$.a"]}}`, 400, "CE-061 record.skill_id", ""},
	{"of two segments", "POST /register/skill", `{"record":{"skill_id":"$"}}`, 400, "CE-061 record.skill_id", ""},
	{"none of them empty", "POST /register/skill", `{"record":{"skill_id":"$..a"}}`, 400, "CE-061 record.skill_id", ""},
	{"not the last either", "POST /register/skill", `{"record":{"skill_id":"$.a."}}`, 400, "CE-061 record.skill_id", ""},
	{"without white space", "POST /register/skill", `{"record":{"skill_id":"$.a b"}}`, 400, "CE-061 record.skill_id", ""},
	{"without control characters", "POST /register/skill", `{"record":{"skill_id":"$.a\u0007"}}`, 400, "CE-061 record.skill_id", ""},
	{"of at most 256 characters", "POST /register/skill", `{"record":{"skill_id":"$.` + long + `"}}`, 400, "CE-061 record.skill_id", ""},
	{"the domain equals the id's first segment", "POST /register/skill", `{"record":{"skill_id":"$.a","domain":"other"}}`, 400,
		"CE-061 record.domain", ""},
	{"and is a string", "POST /register/skill", `{"record":{"skill_id":"$.a","domain":1}}`, 400, "CE-061 record.domain", ""},
	{"capabilities are an array", "POST /register/skill", `{"record":{"skill_id":"$.a","capabilities":"all"}}`, 400,
		"CE-061 record.capabilities", ""},
	{"of strings", "POST /register/skill", `{"record":{"skill_id":"$.a","capabilities":["a",2]}}`, 400, "CE-061 record.capabilities[1]", ""},
	{"a description is a string", "POST /register/skill", `{"record":{"skill_id":"$.a","description":{}}}`, 400,
		"CE-061 record.description", ""},
	{"links are ids", "POST /register/skill", `{"record":{"skill_id":"$.a","tool_ids":["a b",""]}}`, 400,
		"CE-061 record.tool_ids[0] record.tool_ids[1]", ""},
	{"the template too", "POST /register/skill", `{"record":{"skill_id":"$.a","template_id":"a b"}}`, 400, "CE-061 record.template_id", ""},
	{"all that is wrong is named", "POST /register/skill", `{"record":{"skill_id":"$","domain":"x","tenant_id":"_global"}}`, 400,
		"CE-061 record.domain record.skill_id record.tenant_id", ""},
	{"a member may come once", "POST /register/skill", `{"record":{"skill_id":"$.a","skill_id":"$.b"}}`, 400, "CE-061 record.skill_id", ""},
	{"a tenant has a name", "POST /register/skill", `{"record":{"skill_id":"$.a","tenant_id":""}}`, 400, "CE-061 record.tenant_id", ""},
	{"which is not _global", "POST /register/tool", `{"tool_data":{"tool_id":"$.a.b","tenant_id":"_global"}}`, 400,
		"CE-061 tool_data.tenant_id", ""},
	{"an agent's id is required", "POST /register/agent", `{"agent_data":{},"skill_ids":[]}`, 400, "CE-061 agent_data.agent_id", ""},
	{"its skills are an array", "POST /register/agent", `{"agent_data":{"agent_id":"$.a"},"skill_ids":"$.b"}`, 400, "CE-061 skill_ids", ""},
	{"of ids", "POST /register/agent", `{"agent_data":{"agent_id":"$.a"},"skill_ids":["$ b"]}`, 400, "CE-061 skill_ids[0]", ""},
	{"a tool's id is required", "POST /register/tool", `{"tool_data":{"tool_class":"c"}}`, 400, "CE-061 tool_data.tool_id", ""},
	{"and has three segments", "POST /register/tool", `{"tool_data":{"tool_id":"$.list"}}`, 400, "CE-061 tool_data.tool_id", ""},
	{"a context builder's id is required", "POST /register/context_builder", `{"cb_data":{"domain":"$"}}`, 400,
		"CE-061 cb_data.context_builder_id", ""},
	{"its tools are ids", "POST /register/context_builder", `{"cb_data":{"context_builder_id":"$","tool_ids":[1]}}`, 400,
		"CE-061 cb_data.tool_ids[0]", ""},
	{"a guardrail's id is required", "POST /register/guardrail", `{"guardrail_data":{}}`, 400, "CE-061 guardrail_data.guardrail_id", ""},
	{"a template's id is required", "POST /register/template", `{"template_data":{"skill_ids":[]}}`, 400,
		"CE-061 template_data.template_id", ""},
}

func TestInvalidRegistrations(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.rows(t, refusals)
		c.rows(t, []row{
			{"nothing of it was registered", "POST /resolve/skill", `{"skill_id":"$.a"}`, 404, "CE-031", ""},
			{"nor listed", "GET /skills?domain=$", "", 200, `{"skills":[],"next_cursor":null}`, ""},
		})
	})
}

func TestValidRegistrations(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const register, resolve = "POST /register/skill", "POST /resolve/skill"
		c.rows(t, []row{
			{"an id is enough", register, `{"record":{"skill_id":"$.min"}}`, 200, `{"skill_id":"$.min"}`, ""},
			{"the domain is then the id's first segment", resolve, `{"skill_id":"$.min"}`, 200, "",
				`{"manifest":{"skill_id":"$.min","domain":"$"}}`},
			{"a tenant of null is global", register, `{"record":{"skill_id":"$.null","tenant_id":null}}`, 200, `{"skill_id":"$.null"}`, ""},
			{"and found so", resolve, `{"skill_id":"$.null"}`, 200, "", `{"skill_id":"$.null","manifest":{"tenant_id":null}}`},
			{"an id may have more segments, and any letters", register, `{"record":{"skill_id":"$.a.b.*>é漢/%2F"}}`, 200,
				`{"skill_id":"$.a.b.*>é漢/%2F"}`, ""},
			{"and is found", resolve, `{"skill_id":"$.a.b.*>é漢/%2F"}`, 200, "", `{"skill_id":"$.a.b.*>é漢/%2F"}`},
			{"and removed", "DELETE /register/skill/$.a.b.*%3E%C3%A9%E6%BC%A2%2F%252F", "", 204, "", ""},
			{"and gone", resolve, `{"skill_id":"$.a.b.*>é漢/%2F"}`, 404, "CE-031", ""},
			{"an id may have 256 characters", register, `{"record":{"skill_id":"$.` + long[:243] + `"}}`, 200,
				`{"skill_id":"$.` + long[:243] + `"}`, ""},
			{"and is found by them", resolve, `{"skill_id":"$.` + long[:243] + `"}`, 200, "", `{"skill_id":"$.` + long[:243] + `"}`},
			{"of any letters", register, `{"record":{"skill_id":"$.` + strings.Repeat("漢", 243) + `"}}`, 200,
				`{"skill_id":"$.` + strings.Repeat("漢", 243) + `"}`, ""},
			{"and is found by those", resolve, `{"skill_id":"$.` + strings.Repeat("漢", 243) + `"}`, 200, "",
				`{"skill_id":"$.` + strings.Repeat("漢", 243) + `"}`},
			{"links may lead to what is not there yet", register, `{"record":{"skill_id":"$.early","tool_ids":["$.s.later"]}}`, 200,
				`{"skill_id":"$.early"}`, ""},
			{"which are passed over", resolve, `{"skill_id":"$.early"}`, 200, "", `{"tools":[]}`},
			{"until it is", "POST /register/tool", `{"tool_data":{"tool_id":"$.s.later"}}`, 200, `{"tool_id":"$.s.later"}`, ""},
			{"and then lead there", resolve, `{"skill_id":"$.early"}`, 200, "", `{"tools":[{"tool_id":"$.s.later"}]}`},
		})
	})
}
