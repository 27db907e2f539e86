package test

import (
	"strings"
	"testing"
)

// kinds has a record of each kind, its registration and the request that reads it.
var kinds = []struct {
	kind, wrapper, record string
	around                string // further members of the registration
	read, question        string
	part                  string // in the answer; RECORD stands for the record
}{
	{"skill", "record", `{"skill_id":"$.audit","domain":"$","display_name":"Audit","purpose":"p","description":"d","capabilities":["a","b"],
		"context_descriptions":["c"],"output_type":"table","status":"active","owner":{"team":["x",null],"cost":1.50}}`, "",
		"POST /resolve/skill", `{"skill_id":"$.audit"}`, `{"skill_id":"$.audit","manifest":RECORD}`},
	{"agent", "agent_data", `{"agent_id":"$.operator","capabilities":["$"],"shift":{"from":7},"skill_ids":["$.audit"]}`,
		`,"skill_ids":["$.audit"]`,
		"POST /resolve/agent", `{"query":"$"}`,
		`{"agent_id":"$.operator","capabilities":["$"],"owned_skill_ids":["$.audit"],"record":RECORD}`},
	{"tool", "tool_data", `{"tool_id":"$.vms.list","tool_class":"$class","provider":"$","description":"d","input_schema":{"type":"object"}}`,
		"",
		"POST /resolve/tools", `{"tool_ids":["$.vms.list"]}`, `{"tools":[RECORD],"missing":[]}`},
	{"context_builder", "cb_data",
		`{"context_builder_id":"$builder","domain":"$","description":"d","context_type":"inventory","tool_ids":["$.vms.list"],"instructions":"look","further":[1]}`, "",
		"POST /resolve/context", `{"skill_id":"$.audit"}`, `{"context_builders":[RECORD]}`},
	{"guardrail", "guardrail_data", `{"guardrail_id":"$rail","domain":"$","rule":{"never":"delete"}}`, "",
		"POST /resolve/guardrail", `{"skill_id":"$.audit"}`, `{"guardrails":[RECORD]}`},
	{"template", "template_data", `{"template_id":"$template","skill_ids":["$.audit"],"blocks":[{"kind":"table"}]}`, "",
		"POST /resolve/template", `{"skill_id":"$.audit"}`, `{"template":RECORD}`},
}

func TestRegisterAllKinds(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		var rows []row
		for _, k := range kinds {
			rows = append(rows, row{"a " + k.kind + " is registered", "POST /register/" + k.kind,
				`{"` + k.wrapper + `":` + k.record + k.around + `}`,
				200, `{"` + k.kind + `_id":` + idOf(k.record) + `}`, ""})
		}
		for _, k := range kinds {
			rows = append(rows, row{"the " + k.kind + " is read with all its fields, unknown ones too", k.read, k.question,
				200, "", strings.ReplaceAll(k.part, "RECORD", k.record)})
		}
		c.rows(t, rows)
	})
}

// idOf returns the value of the record's first member.
func idOf(record string) string {
	_, rest, _ := strings.Cut(record, ":")
	id, _, _ := strings.Cut(rest, ",")
	return id
}

// TestUnregister uses a separate system: some embedders consider all unknown
// words similar, so agents of other tests would match instead of a deleted one.
func TestUnregister(t *testing.T) {
	isolated(t, setup{}, func(t *testing.T, c *client) {
		for _, k := range kinds {
			c.do(t, "POST /register/"+k.kind, `{"`+k.wrapper+`":`+k.record+k.around+`}`)
		}
		c.rows(t, []row{
			{"another tenant's removal leaves the global record", "DELETE /register/template/$template?tenant_id=$other", "",
				204, "", ""},
			{"the global record exists", "POST /resolve/template", `{"skill_id":"$.audit"}`, 200, "",
				`{"template":{"template_id":"$template"}}`},
			{"a template is removed", "DELETE /register/template/$template", "", 204, "", ""},
			{"the removed template is not found", "POST /resolve/template", `{"skill_id":"$.audit"}`, 404, "CE-032", ""},
			{"removing it again succeeds", "DELETE /register/template/$template", "", 204, "", ""},
			{"a guardrail is removed", "DELETE /register/guardrail/$rail", "", 204, "", ""},
			{"the removed guardrail is not found", "POST /resolve/guardrail", `{"skill_id":"$.audit"}`, 200, `{"guardrails":[]}`,
				""},
			{"a context builder is removed", "DELETE /register/context_builder/$builder", "", 204, "", ""},
			{"the removed context builder is not found", "POST /resolve/context", `{"skill_id":"$.audit"}`, 404, "CE-051", ""},
			{"a tool is removed", "DELETE /register/tool/$.vms.list", "", 204, "", ""},
			{"the removed tool is not found", "POST /resolve/tools", `{"tool_ids":["$.vms.list"]}`, 404, "CE-071", ""},
			{"an agent is removed", "DELETE /register/agent/$.operator", "", 204, "", ""},
			{"the removed agent is not found", "POST /resolve/agent", `{"query":"$"}`, 404, "CE-041", ""},
			{"a skill is removed", "DELETE /register/skill/$.audit", "", 204, "", ""},
			{"the removed skill is not found", "POST /resolve/skill", `{"skill_id":"$.audit"}`, 404, "CE-031", ""},
			{"its context builders are not found", "POST /resolve/context", `{"skill_id":"$.audit"}`, 404, "CE-031", ""},
			{"a removed skill is not listed", "GET /skills?domain=$", "", 200, `{"skills":[],"next_cursor":null}`, ""},
			{"removing an unknown record succeeds", "DELETE /register/skill/$.never", "", 204, "", ""},
			{"removing an unknown kind fails", "DELETE /register/playbook/$.audit", "", 400, "CE-061 kind", ""},
			{"removing an invalid id fails", "DELETE /register/skill/$audit", "", 400, "CE-061 id", ""},
			{"removing from the tenant _global fails", "DELETE /register/skill/$.audit?tenant_id=_global", "", 400,
				"CE-061 tenant_id", ""},
			{"removing with an unknown parameter fails", "DELETE /register/skill/$.audit?tenant=x", "", 400, "CE-061 tenant",
				""},
		})
	})
}

func TestReregister(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.do(t, "POST /register/tool", `{"tool_data":{"tool_id":"$.s.one"}}`)
		c.do(t, "POST /register/tool", `{"tool_data":{"tool_id":"$.s.two"}}`)
		const resolve = "POST /resolve/skill"
		c.rows(t, []row{
			{"a skill with links", "POST /register/skill", `{"record":{"skill_id":"$.a","tool_ids":["$.s.one"],"old":1}}`, 200,
				`{"skill_id":"$.a"}`, ""},
			{"its links are resolved", resolve, `{"skill_id":"$.a"}`, 200, "",
				`{"manifest":{"old":1},"tools":[{"tool_id":"$.s.one"}]}`},
			{"another registration replaces the links", "POST /register/skill",
				`{"record":{"skill_id":"$.a","tool_ids":["$.s.two"]}}`, 200,
				`{"skill_id":"$.a"}`, ""},
			{"only the new links are resolved", resolve, `{"skill_id":"$.a"}`, 200, "",
				`{"manifest":{"skill_id":"$.a"},"tools":[{"tool_id":"$.s.two"}]}`},
			{"no old field remains", resolve, `{"skill_id":"$.a"}`, 200,
				`{"skill_id":"$.a","manifest":{"skill_id":"$.a","domain":"$","tool_ids":["$.s.two"]},"context_builders":[],"guardrails":[],"template":{},"tools":[{"tool_id":"$.s.two"}]}`, ""},
			{"registered without links", "POST /register/skill", `{"record":{"skill_id":"$.a"}}`, 200, `{"skill_id":"$.a"}`, ""},
			{"no links are resolved", resolve, `{"skill_id":"$.a"}`, 200, "", `{"tools":[]}`},
			{"an agent's skills", "POST /register/agent",
				`{"agent_data":{"agent_id":"$.g","purpose":"$"},"skill_ids":["$.a","$.b"]}`, 200,
				`{"agent_id":"$.g"}`, ""},
			{"skill_ids are those of the registration", "POST /resolve/agent", `{"query":"$"}`, 200, "",
				`{"owned_skill_ids":["$.a","$.b"]}`},
			{"skill_ids are replaced by another registration", "POST /register/agent",
				`{"agent_data":{"agent_id":"$.g","purpose":"$"},"skill_ids":[]}`, 200,
				`{"agent_id":"$.g"}`, ""},
			{"by none", "POST /resolve/agent", `{"query":"$"}`, 200, "", `{"owned_skill_ids":[],"capabilities":[]}`},
		})
	})
}
