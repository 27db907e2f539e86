package test

import "testing"

func TestTenants(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.both","of":"global","tool_ids":["$.s.both","$.s.global","$.s.mine"],"template_id":"$t"}`},
			{"skill", `{"skill_id":"$.both","of":"tenant","tenant_id":"$","tool_ids":["$.s.both","$.s.global","$.s.theirs"],"template_id":"$t"}`},
			{"skill", `{"skill_id":"$.theirs","tenant_id":"$2"}`}, {"skill", `{"skill_id":"$.global"}`},
			{"tool", `{"tool_id":"$.s.both","of":"global","tool_class":"$"}`},
			{"tool", `{"tool_id":"$.s.both","of":"tenant","tenant_id":"$","tool_class":"$"}`},
			{"tool", `{"tool_id":"$.s.global","tool_class":"$"}`}, {"tool", `{"tool_id":"$.s.mine","tenant_id":"$"}`},
			{"tool", `{"tool_id":"$.s.theirs","tenant_id":"$2"}`},
			{"template", `{"template_id":"$t","of":"global"}`},
			{"template", `{"template_id":"$t","of":"tenant","tenant_id":"$"}`},
			{"context_builder", `{"context_builder_id":"$b","domain":"$","of":"global"}`},
			{"context_builder", `{"context_builder_id":"$b","domain":"$","of":"tenant","tenant_id":"$"}`},
		}...)
		const skill, tools, class = "POST /resolve/skill", "POST /resolve/tools", "POST /resolve/tool_class"
		c.rows(t, []row{
			{"the tenant's skill takes precedence, with its links in the tenant's scope", skill,
				`{"skill_id":"$.both","tenant_id":"$"}`, 200, "",
				`{"manifest":{"of":"tenant"},"tools":[{"of":"tenant"},{"tool_id":"$.s.global"}],"template":{"of":"tenant"},"context_builders":[{"of":"tenant"}]}`},
			{"explain states the scopes", skill, `{"skill_id":"$.both","tenant_id":"$","explain":true}`, 200, "",
				`{"explain":[{"kind":"skill","scope":"tenant"},{"kind":"context_builder","scope":"tenant"},{"kind":"tool","scope":"tenant"},
				{"kind":"tool","scope":"global"},{"kind":"template","scope":"tenant"}]}`},
			{"a tenant without the skill gets the global one", skill, `{"skill_id":"$.both","tenant_id":"$2"}`, 200, "",
				`{"manifest":{"of":"global"},"tools":[{"of":"global"},{"tool_id":"$.s.global"}],"template":{"of":"global"},"context_builders":[{"of":"global"}]}`},
			{"without a tenant the global collection applies", skill, `{"skill_id":"$.both"}`, 200, "",
				`{"manifest":{"of":"global"},"tools":[{"of":"global"},{"tool_id":"$.s.global"}]}`},
			{"a null tenant_id is the global collection", skill, `{"skill_id":"$.both","tenant_id":null}`, 200, "",
				`{"manifest":{"of":"global"}}`},
			{"the global record is the fallback", skill, `{"skill_id":"$.global","tenant_id":"$"}`, 200, "",
				`{"manifest":{"skill_id":"$.global"}}`},
			{"a tenant's record is found by the tenant", skill, `{"skill_id":"$.theirs","tenant_id":"$2"}`, 200, "",
				`{"manifest":{"tenant_id":"$2"}}`},
			{"a tenant's record is not found by another tenant", skill, `{"skill_id":"$.theirs","tenant_id":"$"}`, 404, "CE-031",
				""},
			{"a tenant's record is not found without a tenant", skill, `{"skill_id":"$.theirs"}`, 404, "CE-031", ""},
			{"an empty tenant_id is refused", skill, `{"skill_id":"$.both","tenant_id":""}`, 400, "CE-001 tenant_id", ""},
			{"the tenant _global is refused", skill, `{"skill_id":"$.both","tenant_id":"_global"}`, 400, "CE-001 tenant_id", ""},
			{"tools by id are the tenant's, then global", tools,
				`{"tool_ids":["$.s.mine","$.s.theirs","$.s.both","$.s.global"],"tenant_id":"$"}`, 200, "",
				`{"tools":[{"tool_id":"$.s.mine"},{"of":"tenant"},{"tool_id":"$.s.global"}],"missing":["$.s.theirs"]}`},
			{"tools of a class are the tenant's if it has any", class, `{"tool_class":"$","tenant_id":"$"}`, 200, "",
				`{"tools":[{"of":"tenant"}]}`},
			{"tools of a class are the global ones otherwise", class, `{"tool_class":"$","tenant_id":"$2"}`, 200, "",
				`{"tools":[{"of":"global"},{"tool_id":"$.s.global"}]}`},
			{"a listing has the tenant's records", "GET /skills?domain=$&tenant_id=$", "", 200, "",
				`{"skills":[{"skill_id":"$.both","of":"tenant"}]}`},
			{"a listing of another tenant has its records", "GET /skills?domain=$&tenant_id=$2", "", 200, "",
				`{"skills":[{"skill_id":"$.theirs"}]}`},
			{"a listing of a tenant without records has the global ones", "GET /skills?domain=$&tenant_id=$3", "", 200, "",
				`{"skills":[{"of":"global"},{"skill_id":"$.global"}]}`},
			{"the tenant's skill is removed", "DELETE /register/skill/$.both?tenant_id=$", "", 204, "", ""},
			{"the global skill is found after the removal", skill, `{"skill_id":"$.both","tenant_id":"$"}`, 200, "",
				`{"manifest":{"of":"global"}}`},
		})
	})
}

func TestTools(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"tool", `{"tool_id":"$.s.b","tool_class":"$c","provider":"$p","schema":{"x":1}}`},
			{"tool", `{"tool_id":"$.s.a","tool_class":"$c","provider":"$q"}`},
			{"tool", `{"tool_id":"$.s.off","tool_class":"$c","provider":"$p","status":"retired"}`},
		}...)
		const tools, class = "POST /resolve/tools", "POST /resolve/tool_class"
		c.rows(t, []row{
			{"tools are in the order of the request, and missing ids are listed", tools,
				`{"tool_ids":["$.s.b","$.s.no","$.s.a","$.s.b"]}`, 200,
				`{"tools":[{"tool_id":"$.s.b","tool_class":"$c","provider":"$p","schema":{"x":1}},{"tool_id":"$.s.a","tool_class":"$c","provider":"$q"}],"missing":["$.s.no"]}`, ""},
			{"explained", tools, `{"tool_ids":["$.s.a"],"explain":true}`, 200, "",
				`{"missing":[],"explain":[{"kind":"tool","id":"$.s.a","scope":"global","via":"tool_ids"}]}`},
			{"by id any status is returned", tools, `{"tool_ids":["$.s.off"]}`, 200, "",
				`{"tools":[{"tool_id":"$.s.off"}],"missing":[]}`},
			{"none found", tools, `{"tool_ids":["$.s.no","$.s.nor"]}`, 404, "CE-071", ""},
			{"none asked", tools, `{"tool_ids":[]}`, 400, "CE-001 tool_ids", ""},
			{"not asked", tools, `{}`, 400, "CE-001 tool_ids", ""},
			{"tool_ids that is a string", tools, `{"tool_ids":"$.s.a"}`, 400, "CE-001 tool_ids", ""},
			{"an id that is not a string", tools, `{"tool_ids":["$.s.a",null]}`, 400, "CE-001 tool_ids[1]", ""},
			{"all active tools of a class, by id", class, `{"tool_class":"$c"}`, 200, "",
				`{"tools":[{"tool_id":"$.s.a"},{"tool_id":"$.s.b"}]}`},
			{"active tools of a class and a provider", class, `{"tool_class":"$c","provider":"$p"}`, 200, "",
				`{"tools":[{"tool_id":"$.s.b"}]}`},
			{"explained", class, `{"tool_class":"$c","provider":"$q","explain":true}`, 200, "",
				`{"explain":[{"kind":"tool","id":"$.s.a","scope":"global","via":"tool_class"}]}`},
			{"tools of an unknown class", class, `{"tool_class":"$d"}`, 404, "CE-071", ""},
			{"tools of an unknown provider", class, `{"tool_class":"$c","provider":"$r"}`, 404, "CE-071", ""},
			{"tools without a class", class, `{"provider":"$p"}`, 400, "CE-001 tool_class", ""},
		})
	})
}
