package test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// library has skills and agents of several domains, in a tenant of the test.
var library = [][2]string{
	{"skill", `{"skill_id":"$s.capacity","tenant_id":"$","display_name":"Volume capacity","purpose":"Find storage volumes that are nearly full",
		"capabilities":["volume usage","thin provisioning"],"example_queries":["which volumes are running out of space"]}`},
	{"skill", `{"skill_id":"$s.snapshots","tenant_id":"$","display_name":"Snapshot age","purpose":"List storage snapshots that are older than their policy allows"}`},
	{"skill", `{"skill_id":"$n.vlans","tenant_id":"$","display_name":"Find VLANs","purpose":"Locate VLANs by site or number","status":"active"}`},
	{"skill", `{"skill_id":"$n.firewall","tenant_id":"$","display_name":"Firewall rules","purpose":"Explain which firewall rule lets a packet through"}`},
	{"skill", `{"skill_id":"$n.retired","tenant_id":"$","display_name":"Locate VLANs the old way","purpose":"Locate VLANs by site or number","status":"retired"}`},
	{"skill", `{"skill_id":"$b.invoices","tenant_id":"$","display_name":"Open invoices","purpose":"Show customers whose invoices are overdue"}`},
	{"agent", `{"agent_id":"$.storage","tenant_id":"$","display_name":"Storage","capabilities":["answer questions about storage volumes and snapshots"],"skill_ids":["$s.capacity"]}`},
	{"agent", `{"agent_id":"$.billing","tenant_id":"$","display_name":"Billing","capabilities":["answer questions about invoices and payments"]}`},
	{"agent", `{"agent_id":"$.gone","tenant_id":"$","display_name":"Former billing","capabilities":["answer questions about overdue payments and invoices and money"],"status":"retired"}`},
}

func TestSearch(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, library...)
		const skill, agent = "POST /resolve/skill", "POST /resolve/agent"
		c.rows(t, []row{
			{"the matching skill is first, with all its fields", skill,
				`{"query":"locate a VLAN by its number","tenant_id":"$","top_k":1}`, 200, "",
				`{"skills":[{"skill_id":"$n.vlans","domain":"$n","tenant_id":"$","display_name":"Find VLANs","purpose":"Locate VLANs by site or number","status":"active"}]}`},
			{"a paraphrase finds the skill", skill, `{"query":"volumes running out of space","tenant_id":"$","top_k":1}`, 200,
				"",
				`{"skills":[{"skill_id":"$s.capacity"}]}`},
			{"explain contains the ranks", skill, `{"query":"firewall rules","tenant_id":"$","top_k":1,"explain":true}`, 200, "",
				`{"explain":[{"kind":"skill","id":"$n.firewall","scope":"tenant","via":"search","text_rank":1,"vector_rank":1}]}`},
			{"an off-topic query finds nothing", skill,
				`{"query":"sourdough bread recipe","tenant_id":"$","filter":{"domain":"$s"}}`, 404, "CE-031", ""},
			{"a query is required without a skill_id", skill, `{"tenant_id":"$"}`, 400, "CE-001 query", ""},
			{"a query must not be empty", skill, `{"query":"","tenant_id":"$"}`, 400, "CE-001 query", ""},
			{"a query must be a string", skill, `{"query":["x"],"tenant_id":"$"}`, 400, "CE-001 query", ""},
			{"an empty body is malformed", skill, `{}`, 400, "CE-001 query", ""},
			{"top_k is at least 1", skill, `{"query":"x","top_k":0}`, 400, "CE-001 top_k", ""},
			{"not negative", skill, `{"query":"x","top_k":-5}`, 400, "CE-001 top_k", ""},
			{"at most 100", skill, `{"query":"x","top_k":101}`, 400, "CE-001 top_k", ""},
			{"an integer", skill, `{"query":"x","top_k":1.5}`, 400, "CE-001 top_k", ""},
			{"no text", skill, `{"query":"x","top_k":"x"}`, 400, "CE-001 top_k", ""},
			{"an invalid skill_id is malformed", skill, `{"skill_id":"$"}`, 400, "CE-001 skill_id", ""},
			{"the matching agent", agent, `{"query":"who knows about snapshots of volumes?","tenant_id":"$"}`, 200, "",
				`{"agent_id":"$.storage","capabilities":["answer questions about storage volumes and snapshots"],"owned_skill_ids":["$s.capacity"]}`},
			{"inactive agents are not found", agent, `{"query":"overdue payments of invoices","tenant_id":"$","explain":true}`,
				200, "",
				`{"agent_id":"$.billing","owned_skill_ids":[],"explain":[{"kind":"agent","id":"$.billing","scope":"tenant","via":"search"}]}`},
			{"no agent matches", agent, `{"query":"sourdough bread recipe","tenant_id":"$","filter":{"domain":"$"}}`, 404,
				"CE-041", ""},
			{"a query for an agent is required", agent, `{"tenant_id":"$"}`, 400, "CE-001 query", ""},
			{"an inactive skill is found by id", skill, `{"skill_id":"$n.retired","tenant_id":"$"}`, 200, "",
				`{"manifest":{"status":"retired"}}`},
			{"records of a tenant are not found by another", skill,
				`{"query":"invoices of customers that are overdue","tenant_id":"$other"}`, 404,
				"CE-031", ""},
		})
		hits := c.search(t, `{"query":"locate VLANs by site","tenant_id":"$","top_k":100}`)
		if slices.ContainsFunc(hits, func(h hit) bool { return h.ID == c.named("$n.retired") }) {
			t.Errorf("a skill that is not active was found: %v", hits)
		}
	})
}

// hit is one result of a search.
type hit struct {
	ID    string  `json:"skill_id"`
	Score float64 `json:"score"`
}

func (c *client) search(t testing.TB, body string) []hit {
	t.Helper()
	var answer struct{ Skills []hit }
	c.do(t, "POST /resolve/skill", body).decode(t, &answer)
	return answer.Skills
}

func TestSearchScores(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		for _, i := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			c.put(t, [2]string{"skill",
				`{"skill_id":"$.` + i + `","tenant_id":"$","purpose":"patch servers in rack ` + i + `"}`})
		}
		for body, want := range map[string]int{
			`{"query":"patch servers in rack c","tenant_id":"$"}`:             5,
			`{"query":"patch servers in rack c","tenant_id":"$","top_k":2}`:   2,
			`{"query":"patch servers in rack c","tenant_id":"$","top_k":100}`: 7,
		} {
			hits := c.search(t, body)
			if len(hits) != want {
				t.Errorf("%s: %d hits, want %d", body, len(hits), want)
			}
			if !slices.IsSortedFunc(hits, func(a, b hit) int { return int((b.Score - a.Score) * 1e9) }) {
				t.Errorf("%s: not best first: %v", body, hits)
			}
			for _, h := range hits {
				if h.Score <= 0 || h.Score > 1 {
					t.Errorf("%s: score %v, want it above 0 and at most 1", body, h)
				}
			}
		}
	})
}

func TestSearchTenants(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.global","purpose":"$ everything"}`},
			{"skill", `{"skill_id":"$.mine","tenant_id":"$","purpose":"unrelated matters"}`},
			{"agent", `{"agent_id":"$.global","purpose":"$ everything"}`},
		}...)
		const skill = "POST /resolve/skill"
		c.rows(t, []row{
			{"the global collection is the fallback of the tenant's", skill,
				`{"query":"$","top_k":1,"tenant_id":"$","explain":true}`, 200, "",
				`{"skills":[{"skill_id":"$.global"}],"explain":[{"id":"$.global","scope":"global"}]}`},
			{"a skill of the tenant is registered", "POST /register/skill",
				`{"record":{"skill_id":"$.mine","tenant_id":"$","purpose":"$ as well"}}`, 200,
				`{"skill_id":"$.mine"}`, ""},
			{"a record of the tenant shadows the global collection", skill,
				`{"query":"$","top_k":1,"tenant_id":"$","explain":true}`, 200, "",
				`{"skills":[{"skill_id":"$.mine"}],"explain":[{"id":"$.mine","scope":"tenant"}]}`},
			{"both scopes are ranked together", skill,
				`{"query":"$ everything","top_k":1,"tenant_id":"$","scope":"both","explain":true}`, 200, "",
				`{"skills":[{"skill_id":"$.global"}],"explain":[{"id":"$.global","scope":"global"}]}`},
			{"an unknown scope is malformed", skill, `{"query":"$","tenant_id":"$","scope":"tenant"}`, 400, "CE-001 scope", ""},
			{"other tenants find the global collection", skill, `{"query":"$","top_k":1,"tenant_id":"$2"}`, 200, "",
				`{"skills":[{"skill_id":"$.global"}]}`},
			{"a tenant's record is not found without the tenant", skill, `{"query":"$","top_k":1}`, 200, "",
				`{"skills":[{"skill_id":"$.global"}]}`},
			{"agents have the same fallback", "POST /resolve/agent", `{"query":"$","tenant_id":"$"}`, 200, "",
				`{"agent_id":"$.global"}`},
		})
	})
}

// TestToolsDoNotAffectSkillSearch compares ids and scores of skill searches before and after tools
// with the same words are registered.
func TestToolsDoNotAffectSkillSearch(t *testing.T) {
	isolated(t, setup{}, func(t *testing.T, c *client) {
		c.put(t, library...)
		search := func() (hits [][]hit) {
			for _, query := range []string{"locate VLANs by site", "snapshots older than their policy"} {
				hits = append(hits, c.search(t, `{"query":"`+query+`","tenant_id":"$","top_k":10}`))
			}
			return hits
		}
		before := search()
		for i := range 100 {
			c.put(t, [2]string{"tool", fmt.Sprintf(`{"tool_id":"a.b.c%d","tenant_id":"$",
				"purpose":"Locate snapshots of VLANs by site or policy %d"}`, i, i)})
		}
		if diff := cmp.Diff(before, search()); diff != "" {
			t.Errorf("-without +with tools\n%s", diff)
		}
	})
}
