package test

import "testing"

func TestListings(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.b","extra":{"x":1}}`}, {"skill", `{"skill_id":"$.a","status":"active"}`},
			{"skill", `{"skill_id":"$.off","status":"draft"}`},
			{"skill", `{"skill_id":"$x.c"}`},
			{"tool", `{"tool_id":"$.s.b","tool_class":"k","provider":"$p","domain":"$"}`},
			{"tool", `{"tool_id":"$.s.a","tool_class":"l","provider":"$p","domain":"$"}`},
			{"tool", `{"tool_id":"$.s.c","tool_class":"k","provider":"$q","domain":"$"}`},
			{"tool", `{"tool_id":"$.s.off","provider":"$p","domain":"$","status":"retired"}`},
		}...)
		c.rows(t, []row{
			{"active skills of a domain by id, with all fields", "GET /skills?domain=$", "", 200,
				`{"skills":[{"skill_id":"$.a","status":"active","domain":"$"},{"skill_id":"$.b","extra":{"x":1},"domain":"$"}],"next_cursor":null}`,
				""},
			{"global skills for a tenant without skills", "GET /skills?domain=$&tenant_id=$", "", 200, "",
				`{"skills":[{"skill_id":"$.a"},{"skill_id":"$.b"}]}`},
			{"none", "GET /skills?domain=$none", "", 200, `{"skills":[],"next_cursor":null}`, ""},
			{"active tools of a domain", "GET /tools?domain=$", "", 200, "",
				`{"tools":[{"tool_id":"$.s.a"},{"tool_id":"$.s.b"},{"tool_id":"$.s.c"}],"next_cursor":null}`},
			{"active tools of a provider", "GET /tools?provider=$p", "", 200, "",
				`{"tools":[{"tool_id":"$.s.a"},{"tool_id":"$.s.b"}]}`},
			{"active tools of a provider and a class", "GET /tools?provider=$p&tool_class=k", "", 200, "",
				`{"tools":[{"tool_id":"$.s.b"}]}`},
			{"an unknown cursor is refused", "GET /skills?cursor=x", "", 400, "CE-001 cursor", ""},
			{"a modified cursor is refused", "GET /tools?cursor=!!", "", 400, "CE-001 cursor", ""},
			{"a limit is at least 1", "GET /skills?limit=0", "", 400, "CE-001 limit", ""},
			{"at most 1000", "GET /tools?limit=1001", "", 400, "CE-001 limit", ""},
			{"a number", "GET /skills?limit=many", "", 400, "CE-001 limit", ""},
			{"given once", "GET /skills?limit=1&limit=2", "", 400, "CE-001 limit", ""},
			{"other parameters are refused", "GET /skills?offset=3", "", 400, "CE-001 offset", ""},
			{"the tenant _global too", "GET /skills?tenant_id=_global", "", 400, "CE-001 tenant_id", ""},
		})
	})
}
