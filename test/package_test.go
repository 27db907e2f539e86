package test

import "testing"

// put registers records, each as kind and JSON.
func (c *client) put(t testing.TB, records ...[2]string) {
	t.Helper()
	wrappers := map[string]string{"skill": "record", "agent": "agent_data", "tool": "tool_data",
		"context_builder": "cb_data", "guardrail": "guardrail_data", "template": "template_data"}
	for _, r := range records {
		c.do(t, "POST /register/"+r[0], `{"`+wrappers[r[0]]+`":`+r[1]+`}`)
	}
}

func TestSkillPackage(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.full","context_builder_ids":["$b2","$b1"],"tool_ids":["$.s.own","$.s.both"],"guardrail_ids":["$g"],"template_id":"$t"}`},
			{"skill", `{"skill_id":"$.bare"}`},
			{"skill", `{"skill_id":"$x.else"}`},
			{"context_builder", `{"context_builder_id":"$b1","context_type":"inventory","tool_ids":["$.s.both"],"instructions":"i"}`},
			{"context_builder", `{"context_builder_id":"$b2","tool_ids":["$.s.built"]}`},
			{"context_builder", `{"context_builder_id":"$of-domain","domain":"$","context_type":"topology"}`},
			{"context_builder", `{"context_builder_id":"$names","skill_ids":["$.bare"]}`},
			{"tool", `{"tool_id":"$.s.own","tool_class":"c"}`}, {"tool", `{"tool_id":"$.s.both","tool_class":"c"}`},
			{"tool", `{"tool_id":"$.s.built","tool_class":"c"}`},
			{"guardrail", `{"guardrail_id":"$g","skill_ids":["$.none"]}`},
			{"guardrail", `{"guardrail_id":"$g-domain","domain":"$"}`},
			{"guardrail", `{"guardrail_id":"$g-skill","skill_ids":["$.bare"]}`},
			{"guardrail", `{"guardrail_id":"$g-other","domain":"$x"}`},
			{"template", `{"template_id":"$t","blocks":[1]}`}, {"template", `{"template_id":"$t-names","skill_ids":["$.bare"]}`},
		}...)
		const resolve = "POST /resolve/skill"
		c.rows(t, []row{
			{"a package contains all linked records, without duplicate tools", resolve,
				`{"skill_id":"$.full","tenant_id":"$nobody"}`, 200, "",
				`{"skill_id":"$.full","manifest":{"skill_id":"$.full","domain":"$"},
				"context_builders":[{"context_builder_id":"$b2","context_type":"","tool_ids":["$.s.built"],"instructions":""},
					{"context_builder_id":"$b1","context_type":"inventory","tool_ids":["$.s.both"],"instructions":"i"},
					{"context_builder_id":"$of-domain"}],
				"guardrails":[{"guardrail_id":"$g"},{"guardrail_id":"$g-domain"}],
				"template":{"template_id":"$t","blocks":[1]},
				"tools":[{"tool_id":"$.s.built","tool_class":"c"},{"tool_id":"$.s.both","tool_class":"c"},{"tool_id":"$.s.own","tool_class":"c"}]}`},
			{"records that link to the skill or serve its domain are included", resolve, `{"skill_id":"$.bare"}`, 200, "",
				`{"context_builders":[{"context_builder_id":"$names"},{"context_builder_id":"$of-domain"}],
				"guardrails":[{"guardrail_id":"$g-skill"},{"guardrail_id":"$g-domain"}],"template":{"template_id":"$t-names"},"tools":[]}`},
			{"a skill of another domain has none of them", resolve, `{"skill_id":"$x.else"}`, 200,
				`{"skill_id":"$x.else","manifest":{"skill_id":"$x.else","domain":"$x"},"context_builders":[],
				"guardrails":[{"guardrail_id":"$g-other","domain":"$x"}],"template":{},"tools":[]}`, ""},
			{"explain states the link or rule of each part", resolve, `{"skill_id":"$.full","explain":true}`, 200, "",
				`{"explain":[{"kind":"skill","id":"$.full","scope":"global","via":"skill_id"},
				{"kind":"context_builder","id":"$b2","scope":"global","via":"context_builder_ids"},
				{"kind":"context_builder","id":"$b1","scope":"global","via":"context_builder_ids"},
				{"kind":"context_builder","id":"$of-domain","scope":"global","via":"builds_domain"},
				{"kind":"guardrail","id":"$g","scope":"global","via":"guardrail_ids"},
				{"kind":"guardrail","id":"$g-domain","scope":"global","via":"guards_domain"},
				{"kind":"tool","id":"$.s.built","scope":"global","via":"tool_ids"},{"kind":"tool","id":"$.s.both","scope":"global","via":"tool_ids"},
				{"kind":"tool","id":"$.s.own","scope":"global","via":"tool_ids"},{"kind":"template","id":"$t","scope":"global","via":"template_id"}]}`},
			{"an unknown skill is not found", resolve, `{"skill_id":"$.nothing","tenant_id":"$"}`, 404, "CE-031", ""},
		})
	})
}

func TestSkillParts(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.a","context_builder_ids":["$one","$two","$plain"],"template_id":"$t","guardrail_ids":["$g"]}`},
			{"skill", `{"skill_id":"$.bare"}`},
			{"context_builder", `{"context_builder_id":"$one","context_type":"inventory","description":"d"}`},
			{"context_builder", `{"context_builder_id":"$two","context_type":"topology","tool_ids":null}`},
			{"context_builder", `{"context_builder_id":"$plain"}`},
			{"template", `{"template_id":"$t"}`}, {"guardrail", `{"guardrail_id":"$g","skill_ids":["$.a"]}`},
		}...)
		var rows []row
		for _, path := range []string{"POST /resolve/context", "POST /resolve/context_builders"} {
			rows = append(rows, []row{
				{"context builders of a skill", path, `{"skill_id":"$.a","tenant_id":"$x","context_types":[]}`, 200,
					`{"context_builders":[{"context_builder_id":"$one","context_type":"inventory","description":"d","tool_ids":[],"instructions":""},
					{"context_builder_id":"$two","context_type":"topology","tool_ids":[],"instructions":""},
					{"context_builder_id":"$plain","context_type":"","tool_ids":[],"instructions":""}]}`, ""},
				{"context builders of some types", path, `{"skill_id":"$.a","context_types":["topology","none"]}`, 200, "",
					`{"context_builders":[{"context_builder_id":"$two"}]}`},
				{"context builders of unused types", path, `{"skill_id":"$.a","context_types":["none"]}`, 404, "CE-051", ""},
				{"context builders of a skill without any", path, `{"skill_id":"$.bare"}`, 404, "CE-051", ""},
				{"an unknown skill", path, `{"skill_id":"$.none"}`, 404, "CE-031", ""},
				{"explained", path, `{"skill_id":"$.a","context_types":["inventory"],"explain":true}`, 200, "",
					`{"explain":[{"kind":"context_builder","id":"$one","scope":"global","via":"context_builder_ids"}]}`},
				{"no skill_id", path, `{"context_types":["inventory"]}`, 400, "CE-001 skill_id", ""},
				{"context_types that is a string", path, `{"skill_id":"$.a","context_types":"inventory"}`, 400,
					"CE-001 context_types", ""},
			}...)
		}
		c.rows(t, append(rows, []row{
			{"the template of a skill", "POST /resolve/template", `{"skill_id":"$.a"}`, 200, `{"template":{"template_id":"$t"}}`,
				""},
			{"explained", "POST /resolve/template", `{"skill_id":"$.a","explain":true}`, 200, "",
				`{"explain":[{"kind":"template","id":"$t","scope":"global","via":"template_id"}]}`},
			{"the template of a skill without one", "POST /resolve/template", `{"skill_id":"$.bare"}`, 404, "CE-032", ""},
			{"an unknown skill", "POST /resolve/template", `{"skill_id":"$.none"}`, 404, "CE-031", ""},
			{"no skill_id", "POST /resolve/template", `{}`, 400, "CE-001 skill_id", ""},
			{"the guardrails of a skill", "POST /resolve/guardrail", `{"skill_id":"$.a"}`, 200,
				`{"guardrails":[{"guardrail_id":"$g","skill_ids":["$.a"]}]}`, ""},
			{"a skill without guardrails", "POST /resolve/guardrail", `{"skill_id":"$.bare"}`, 200, `{"guardrails":[]}`, ""},
			{"an unknown skill", "POST /resolve/guardrail", `{"skill_id":"$.none"}`, 404, "CE-031", ""},
			{"guardrails of an invalid skill_id", "POST /resolve/guardrail", `{"skill_id":"$"}`, 400, "CE-001 skill_id", ""},
			{"guardrails of the tenant _global", "POST /resolve/guardrail", `{"skill_id":"$.a","tenant_id":"_global"}`, 400,
				"CE-001 tenant_id", ""},
		}...))
	})
}

// TestGlobalGuardrails uses the scripted system, since guardrails without a domain
// apply to the packages of all other tests.
func TestGlobalGuardrails(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.a"}`}, {"skill", `{"skill_id":"$x.b","tenant_id":"$"}`},
			{"guardrail", `{"guardrail_id":"$all"}`}, {"guardrail", `{"guardrail_id":"$mine","tenant_id":"$"}`},
			{"guardrail", `{"guardrail_id":"$same","domain":"$","of":"global"}`},
			{"guardrail", `{"guardrail_id":"$same","domain":"$","of":"tenant","tenant_id":"$"}`},
			{"guardrail", `{"guardrail_id":"$theirs","tenant_id":"$other"}`},
		}...)
		c.rows(t, []row{
			{"one with neither domain nor skill_ids applies to every skill", "POST /resolve/guardrail", `{"skill_id":"$.a"}`,
				200, "",
				`{"guardrails":[{"guardrail_id":"$same","of":"global"},{"guardrail_id":"$all"}]}`},
			{"guardrails of a tenant are added to the global ones", "POST /resolve/guardrail",
				`{"skill_id":"$.a","tenant_id":"$","explain":true}`, 200, "",
				`{"guardrails":[{"guardrail_id":"$same","of":"global"},{"guardrail_id":"$same","of":"tenant"},{"guardrail_id":"$all"},{"guardrail_id":"$mine"}],
				"explain":[{"id":"$same","scope":"global","via":"guards_domain"},{"id":"$same","scope":"tenant","via":"guards_domain"},
				{"id":"$all","scope":"global","via":"guards_all"},{"id":"$mine","scope":"tenant","via":"guards_all"}]}`},
			{"global guardrails apply to a tenant's skill", "POST /resolve/skill", `{"skill_id":"$x.b","tenant_id":"$"}`, 200,
				"",
				`{"guardrails":[{"guardrail_id":"$all"},{"guardrail_id":"$mine"}]}`},
			{"a removal without the tenant does not affect the tenant's guardrail", "DELETE /register/guardrail/$mine", "", 204,
				"", ""},
			{"the tenant's guardrail is removed", "DELETE /register/guardrail/$mine?tenant_id=$", "", 204, "", ""},
			{"the global guardrail is removed", "DELETE /register/guardrail/$all", "", 204, "", ""},
			{"no removed guardrail applies", "POST /resolve/guardrail", `{"skill_id":"$x.b","tenant_id":"$"}`, 200,
				`{"guardrails":[]}`, ""},
		})
	})
}
