package test

import (
	"fmt"
	"testing"
)

// TestPublishedRecords: a record is published only if it is public, and active or
// deprecated, and an agent or tool also describes its protocol.
func TestPublishedRecords(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const common = `,"tenant_id":"$","purpose":"Vulcanize rubber tyres"`
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.default"` + common + `}`},
			{"skill", `{"skill_id":"$.false","public":false` + common + `}`},
			{"skill", `{"skill_id":"$.draft","public":true,"status":"draft"` + common + `}`},
			{"skill", `{"skill_id":"$.retired","public":true,"status":"retired"` + common + `}`},
			{"skill", `{"skill_id":"$.yes","public":true` + common + `}`},
			{"skill", `{"skill_id":"$.zold","public":true,"status":"deprecated"` + common + `}`},
			{"agent", `{"agent_id":"$.card","public":true,"agent_card":{"name":"n","description":"d","version":"1","url":"https://a","skills":[]}` + common + `}`},
			{"agent", `{"agent_id":"$.none","public":true` + common + `}`},
			{"agent", `{"agent_id":"$.not","agent_card":{"name":"n","description":"d","version":"1","url":"https://a","skills":[]}` + common + `}`},
			{"tool", `{"tool_id":"$.s.server","public":true,"server_json":{"name":"x"}` + common + `}`},
			{"tool", `{"tool_id":"$.s.text","public":true,"server_json":"x"` + common + `}`},
			{"tool", `{"tool_id":"$.s.tool","public":true` + common + `}`},
		}...)
		const query = `{"query":"vulcanize rubber tyres","tenant_id":"$","filter":{"public":true}}`
		c.rows(t, []row{
			{"published skills are listed", "GET /records/skill?public=true&tenant_id=$", "", 200, "",
				`{"records":[{"skill_id":"$.yes"},{"skill_id":"$.zold"}],"next_cursor":null}`},
			{"agents", "GET /records/agent?public=true&tenant_id=$", "", 200, "",
				`{"records":[{"agent_id":"$.card"}],"next_cursor":null}`},
			{"tools", "GET /records/tool?public=true&tenant_id=$", "", 200, "",
				`{"records":[{"tool_id":"$.s.server"}],"next_cursor":null}`},
			{"skills are found", "POST /resolve/skill", query, 200, "",
				`{"skills":[{"skill_id":"$.yes"},{"skill_id":"$.zold"}]}`},
			{"an agent is found", "POST /resolve/agent", query, 200, "", `{"agent_id":"$.card"}`},
			{"public is a boolean of a skill", "PUT /records/skill/$.a", `{"public":"yes"}`, 400, "CE-061 record.public", ""},
			{"of an agent", "PUT /records/agent/$", `{"public":1}`, 400, "CE-061 record.public", ""},
			{"of a tool", "POST /register/tool", `{"tool_data":{"tool_id":"$.s.a","public":{}}}`, 400, "CE-061 tool_data.public",
				""},
			{"null is the default", "PUT /records/skill/$.n?tenant_id=$", `{"public":null}`, 200, `{"kind":"skill","id":"$.n"}`,
				""},
			{"a guardrail has no such field", "PUT /records/guardrail/$?tenant_id=$", `{"public":"yes"}`, 200,
				`{"kind":"guardrail","id":"$"}`, ""},
			{"an agent without a card gives a warning", "PUT /records/agent/$.none?tenant_id=$", `{"public":true}`, 200, "",
				`{"warnings":[{"field":"record.public"}]}`},
			{"a tool without a server too", "PUT /records/tool/$.s.tool?tenant_id=$&strict=true", `{"public":true}`, 400,
				"CE-061 record.public", ""},
			{"the filter is a boolean", "POST /resolve/skill", `{"query":"q","filter":{"public":"yes"}}`, 400,
				"CE-001 filter.public", ""},
			{"of a listing", "GET /records/skill?public=1", "", 400, "CE-001 public", ""},
		})
	})
}

// TestRecordSearch searches several kinds at once.
func TestRecordSearch(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$a.press","tenant_id":"$","display_name":"Press $","purpose":"Emboss the vellum sheets","version":"1.2.0",` +
				`"capabilities":["emboss"],"labels":{"team":"north","tier":"gold"}}`},
			{"agent", `{"agent_id":"$.agent","tenant_id":"$","purpose":"Emboss the vellum sheets","labels":{"team":"south"},"domain":"$"}`},
			{"tool", `{"tool_id":"$.s.tool","purpose":"Emboss the vellum sheets","status":"deprecated","domain":"$g"}`},
			{"guardrail", `{"guardrail_id":"$.guard","tenant_id":"$","description":"Emboss the vellum sheets","domain":"$"}`},
			{"guardrail", `{"guardrail_id":"$.rule","rule":"Never crease the papyrus scrolls","public":true,"domain":"$g"}`},
			{"guardrail", `{"guardrail_id":"$.draft","tenant_id":"$","rule":"Never crease the papyrus scrolls","status":"draft"}`},
			{"template", `{"template_id":"$.letter","tenant_id":"$","body":"Emboss the {{name}} vellum sheets","labels":{"team":"south"}}`},
			{"context_builder", `{"context_builder_id":"$.cb","tenant_id":"$","description":"Emboss the vellum sheets"}`},
		}...)
		const search = "POST /records/search"
		body := func(members string) string {
			return `{"query":"emboss the vellum sheets","tenant_id":"$"` + members + `}`
		}
		const skill, agent, tool = `{"kind":"skill","record":{"skill_id":"$a.press"}}`,
			`{"kind":"agent","record":{"agent_id":"$.agent"}}`,
			`{"kind":"tool","record":{"tool_id":"$.s.tool"}}`
		const guardrail, template = `{"kind":"guardrail","record":{"guardrail_id":"$.guard"}}`,
			`{"kind":"template","record":{"template_id":"$.letter"}}`
		only := func(hit string) string { return `{"hits":[` + hit + `],"next_offset":null}` }
		c.rows(t, []row{
			{"by kind", search, body(`,"kinds":["skill"],"scope":"tenant"`), 200, "", only(skill)},
			{"by scope", search, body(`,"scope":"global","any":{"domains":["$g","x"]}`), 200, "", only(tool)},
			{"a scope does not fall back", search, body(`,"scope":"tenant","any":{"domains":["$g"]}`), 200,
				`{"hits":[],"next_offset":null}`, ""},
			{"both scopes", search, body(`,"any":{"domains":["$","$g"]}`), 200, "", only(agent + `,` + tool)},
			{"by id", search, body(`,"any":{"ids":["$.agent","$a.press"]}`), 200, "", only(agent + `,` + skill)},
			{"by display name, without case", search, body(`,"any":{"display_names":["pRESS $"]}`), 200, "", only(skill)},
			{"by version", search, body(`,"any":{"versions":["1.2.0"],"ids":["$a.press"]}`), 200, "", only(skill)},
			{"by status", search, body(`,"any":{"statuses":["deprecated"],"domains":["$g"]}`), 200, "", only(tool)},
			{"by capability", search, body(`,"scope":"tenant","any":{"capabilities":["fold","emboss"]}`), 200, "", only(skill)},
			{"by labels", search, body(`,"scope":"tenant","any":{"labels":[["team=north","team=west"],["tier=gold"]]}`), 200, "",
				only(skill)},
			{"by a filter", search, body(`,"filter":{"labels":{"team":"south"}},"scope":"tenant"`), 200, "", only(agent)},
			{"nothing", search, body(`,"any":{"ids":["$.none"]}`), 200, `{"hits":[],"next_offset":null}`, ""},
			{"a page", search, body(`,"limit":1,"any":{"domains":["$","$g"]}`), 200, "",
				`{"hits":[` + agent + `],"next_offset":1}`},
			{"the last page", search, body(`,"limit":1,"offset":1,"any":{"domains":["$","$g"]}`), 200, "", only(tool)},
			{"beyond the last", search, body(`,"offset":2,"any":{"domains":["$","$g"]}`), 200, `{"hits":[],"next_offset":null}`,
				""},
			{"no query", search, `{}`, 400, "CE-001 query", ""},
			{"tools", search, body(`,"kinds":["tool"],"any":{"domains":["$g"]}`), 200, "", only(tool)},
			{"guardrails", search, body(`,"kinds":["guardrail"],"scope":"tenant"`), 200, "", only(guardrail)},
			{"templates, by their body", search, body(`,"kinds":["template"],"scope":"tenant"`), 200, "", only(template)},
			{"guardrails and templates", search,
				body(`,"kinds":["template","guardrail"],"scope":"tenant","filter":{"labels":{"team":"south"}}`), 200, "", only(template)},
			{"a guardrail by a text that Cairn does not interpret", search,
				`{"query":"crease papyrus scrolls","tenant_id":"$","kinds":["guardrail"],"any":{"ids":["$.rule","$.draft"]}}`, 200, "",
				only(`{"kind":"guardrail","record":{"guardrail_id":"$.rule"}}`)},
			{"a guardrail is never published", search, body(`,"kinds":["guardrail"],"filter":{"public":true}`), 200,
				`{"hits":[],"next_offset":null}`, ""},
			{"with the source of each hit", search, body(`,"kinds":["guardrail"],"scope":"tenant","explain":true`), 200, "",
				`{"hits":[` + guardrail + `],"explain":[{"kind":"guardrail","id":"$.guard","scope":"tenant","via":"search"}]}`},
			{"another kind", search, body(`,"kinds":["skill","context_builder"]`), 400, "CE-001 kinds[1]", ""},
			{"another scope", search, body(`,"scope":"all"`), 400, "CE-001 scope", ""},
			{"another method", search, body(`,"search":"magic"`), 400, "CE-001 search", ""},
			{"a limit of 101", search, body(`,"limit":101`), 400, "CE-001 limit", ""},
			{"a negative offset", search, body(`,"offset":-1`), 400, "CE-001 offset", ""},
			{"an empty value", search, body(`,"any":{"versions":[""]}`), 400, "CE-001 any.versions[0]", ""},
			{"an empty label", search, body(`,"any":{"labels":[["a=b"],[""]]}`), 400, "CE-001 any.labels[1][0]", ""},
			{"values are lists", search, body(`,"any":{"ids":"x"}`), 400, "CE-001 any.ids", ""},
			{"a misspelt condition is refused", search, body(`,"any":{"domain":["$g"]}`), 400, "CE-001 any.domain", ""},
			{"no further conditions", search, body(`,"any":null,"limit":1,"filter":{"domain":"$a"}`), 200, "", only(skill)},
		})
	})
}

// TestRecordSearchPages reads all pages of a search: each hit is on one of them, in the order of one page.
func TestRecordSearchPages(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const records = 25
		for i := range records {
			c.put(t, [2]string{"skill",
				fmt.Sprintf(`{"skill_id":"$.s%d","tenant_id":"$","purpose":"Etch the pewter plate number %d"}`, i, i)})
		}
		page := func(limit, offset int) (ids []string, next *int) {
			var got struct {
				Hits []struct {
					Record struct {
						ID string `json:"skill_id"`
					}
				}
				Next *int `json:"next_offset"`
			}
			body := fmt.Sprintf(`{"query":"etch the pewter plate","tenant_id":"$","scope":"tenant","limit":%d,"offset":%d}`,
				limit, offset)
			c.do(t, "POST /records/search", body).decode(t, &got)
			for _, h := range got.Hits {
				ids = append(ids, h.Record.ID)
			}
			return ids, got.Next
		}
		all, next := page(100, 0)
		if len(all) != records || next != nil {
			t.Fatalf("got %d hits and the next offset %v, want %d and none", len(all), next, records)
		}
		var paged []string
		for offset := 0; ; {
			ids, next := page(7, offset)
			paged = append(paged, ids...)
			if next == nil {
				break
			}
			offset = *next
		}
		if fmt.Sprint(paged) != fmt.Sprint(all) {
			t.Errorf("pages have %v, want %v", paged, all)
		}
	})
}
