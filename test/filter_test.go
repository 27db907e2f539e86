package test

import "testing"

func TestSearchFilter(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$a.mill","tenant_id":"$","purpose":"Anneal the copper wire","capabilities":["anneal","draw rods"],"labels":{"team":"north","tier":"gold"}}`},
			{"skill", `{"skill_id":"$b.mill","tenant_id":"$","purpose":"Anneal the copper wire","capabilities":["anneal"],"labels":{"team":"south","tier":"gold"}}`},
			{"skill", `{"skill_id":"$c.mill","tenant_id":"$","purpose":"Anneal the copper wire","status":"deprecated","replaced_by":"$a.mill"}`},
			{"skill", `{"skill_id":"$d.mill","purpose":"Anneal the copper wire"}`},
			{"agent", `{"agent_id":"$.north","tenant_id":"$","capabilities":["anneal wire"],"labels":{"team":"north"},"skill_ids":["$b.mill"]}`},
			{"agent", `{"agent_id":"$.south","tenant_id":"$","purpose":"Own furnaces","labels":{"team":"south"},"domain":"$","skill_ids":["$a.mill"]}`},
		}...)
		const skill, agent = "POST /resolve/skill", "POST /resolve/agent"
		query := func(filter string) string {
			return `{"query":"anneal the copper wire","tenant_id":"$","filter":` + filter + `}`
		}
		c.rows(t, []row{
			{"by domain", skill, query(`{"domain":"$b"}`), 200, "", `{"skills":[{"skill_id":"$b.mill"}]}`},
			{"by status", skill, query(`{"status":"deprecated"}`), 200, "",
				`{"skills":[{"skill_id":"$c.mill","replaced_by":"$a.mill"}]}`},
			{"by label", skill, query(`{"labels":{"team":"north"}}`), 200, "", `{"skills":[{"skill_id":"$a.mill"}]}`},
			{"by several labels", skill, query(`{"labels":{"team":"south","tier":"gold"}}`), 200, "",
				`{"skills":[{"skill_id":"$b.mill"}]}`},
			{"by capabilities", skill, query(`{"capabilities":["draw rods","anneal"]}`), 200, "",
				`{"skills":[{"skill_id":"$a.mill"}]}`},
			{"global skills where the tenant has none", skill, query(`{"domain":"$d"}`), 200, "",
				`{"skills":[{"skill_id":"$d.mill"}]}`},
			{"none", skill, query(`{"domain":"$a","status":"deprecated"}`), 404, "CE-031", ""},
			{"an agent by label", agent, query(`{"labels":{"team":"north"}}`), 200, "", `{"agent_id":"$.north"}`},
			{"an agent by its skills and label", agent, query(`{"labels":{"team":"south"}}`), 200, "", `{"agent_id":"$.south"}`},
			{"an agent by capability", agent, query(`{"capabilities":["anneal wire"]}`), 200, "", `{"agent_id":"$.north"}`},
			{"an agent by domain", agent, query(`{"domain":"$"}`), 200, "", `{"agent_id":"$.south"}`},
			{"no agent", agent, query(`{"domain":"$no"}`), 404, "CE-041", ""},
			{"an empty filter", skill,
				`{"query":"anneal the copper wire","tenant_id":"$","top_k":1,"filter":{"domain":"","labels":{}}}`, 200, "", `{}`},
			{"null", skill, `{"query":"anneal the copper wire","tenant_id":"$","top_k":1,"filter":null}`, 200, "", `{}`},
			{"a misspelt field is refused", skill, query(`{"domian":"$a"}`), 400, "CE-001 filter.domian", ""},
			{"also for an agent", agent, query(`{"label":{}}`), 400, "CE-001 filter.label", ""},
			{"a filter is an object", skill, query(`["$a"]`), 400, "CE-001 filter", ""},
			{"a status is found by searches", skill, query(`{"status":"draft"}`), 400, "CE-001 filter.status", ""},
			{"labels are text", skill, query(`{"labels":{"a":1}}`), 400, "CE-001 filter.labels.a", ""},
			{"capabilities are a list", skill, query(`{"capabilities":"anneal"}`), 400, "CE-001 filter.capabilities", ""},
			{"of text", agent, query(`{"capabilities":[""]}`), 400, "CE-001 filter.capabilities[0]", ""},
			{"a field is given once", skill, query(`{"domain":"a","domain":"b"}`), 400, "CE-001 filter.domain", ""},
		})
	})
}
