package test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"cairn/schemas"
)

func TestAliases(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		put := func(record string) string {
			t.Helper()
			revision := c.do(t, "PUT /records/skill/$.s.a?tenant_id=$", record).header.Get("Cairn-Revision")
			c.retained(t, revision)
			return revision
		}
		c.do(t, "PUT /records/tool/$.s.old?tenant_id=$", `{}`)
		first := put(`{"version":"1.0.0","purpose":"first","tool_ids":["$.s.old"]}`)
		second := put(`{"version":"1.1.0","purpose":"second"}`)
		const path, tenant = "/records/skill/$.s.a/aliases", "?tenant_id=$"
		resolve := func(id string) string { return `{"skill_id":"` + id + `","tenant_id":"$"}` }
		c.rows(t, []row{
			{"no alias yet", "GET " + path + tenant, "", 200, `{"aliases":[]}`, ""},
			{"an alias of a version", "PUT " + path + "/production" + tenant, `{"version":"1.0.0"}`, 200,
				`{"kind":"skill","id":"$.s.a","name":"production","revision":"` + first + `","version":"1.0.0"}`, ""},
			{"of the newest revision", "PUT " + path + "/staging" + tenant, "", 200,
				`{"kind":"skill","id":"$.s.a","name":"staging","revision":"` + second + `","version":"1.1.0"}`, ""},
			{"of a revision", "PUT " + path + "/canary" + tenant, `{"revision":"` + first + `"}`, 200, "", `{"version":"1.0.0"}`},
			{"of another alias", "PUT " + path + "/stable" + tenant, `{"version":"production"}`, 200, "", `{"version":"1.0.0"}`},
			{"the aliases by name", "GET " + path + tenant, "", 200, "", `{"aliases":[{"name":"canary","version":"1.0.0"},
				{"name":"production","version":"1.0.0"},{"name":"stable"},{"name":"staging","version":"1.1.0"}]}`},
			{"resolves with the links of the revision", "POST /resolve/skill", resolve("$.s.a@production"), 200, "",
				`{"skill_id":"$.s.a","manifest":{"purpose":"first"},"tools":[{"tool_id":"$.s.old"}]}`},
			{"as a package", "GET /packages/$.s.a@staging" + tenant, "", 200, "", `{"manifest":{"purpose":"second"}}`},
			{"is read as a record", "GET /records/skill/$.s.a@production" + tenant, "", 200, "", `{"purpose":"first"}`},
			{"a version is read as a record, too", "GET /records/skill/$.s.a@1.0.0" + tenant, "", 200, "",
				`{"purpose":"first"}`},
			{"an unknown alias", "POST /resolve/skill", resolve("$.s.a@none"), 404, "CE-031", ""},
			{"is no record", "GET /records/skill/$.s.a@none" + tenant, "", 404, "CE-081", ""},
			{"an alias is not searched or listed", "GET /records/skill?prefix=$.&tenant_id=$", "", 200, "",
				`{"records":[{"skill_id":"$.s.a"}],"next_cursor":null}`},

			{"a name with upper-case letters", "PUT " + path + "/Production" + tenant, "", 400, "CE-061 name", ""},
			{"a version is no name", "PUT " + path + "/1.0.0" + tenant, "", 400, "CE-061 name", ""},
			{"a name of 64 letters", "PUT " + path + "/" + strings.Repeat("a", 64) + tenant, "", 400, "CE-061 name", ""},
			{"an absent version", "PUT " + path + "/x" + tenant, `{"version":"9.0.0"}`, 404, "CE-081", ""},
			{"an absent revision", "PUT " + path + "/x" + tenant, `{"revision":"1"}`, 404, "CE-081", ""},
			{"a revision of another catalog", "PUT " + path + "/x" + tenant, `{"revision":"other-1"}`, 404, "CE-081", ""},
			{"an invalid version", "PUT " + path + "/x" + tenant, `{"version":"A b"}`, 400, "CE-061 target.version", ""},
			{"version and revision", "PUT " + path + "/x" + tenant, `{"version":"1.0.0","revision":"1"}`, 400, "CE-061 target",
				""},
			{"a body that is no object", "PUT " + path + "/x" + tenant, `[]`, 400, "CE-061 target", ""},
			{"an absent record", "PUT /records/skill/$.s.none/aliases/x" + tenant, "", 404, "CE-081", ""},
			{"a record of another scope", "PUT " + path + "/x", "", 404, "CE-081", ""},
			{"an unknown kind", "PUT /records/playbook/$.s.a/aliases/x", "", 400, "CE-061 kind", ""},
			{"a misspelt member", "PUT /records/skill/$.s.a/aliases/x" + tenant, `{"revisoin":"9"}`, 400,
				"CE-061 target.revisoin", ""},
			{"aliases of no record", "GET /records/skill/$.s.none/aliases", "", 404, "CE-081", ""},
		})
		for n := range 12 { // more revisions than the history has
			put(fmt.Sprintf(`{"version":"2.0.%d","purpose":"later"}`, n))
		}
		c.rows(t, []row{
			{"a version that is no longer retained", "POST /resolve/skill", resolve("$.s.a@1.0.0"), 404, "CE-031", ""},
			{"is retained by its alias", "POST /resolve/skill", resolve("$.s.a@production"), 200, "",
				`{"manifest":{"purpose":"first","version":"1.0.0"}}`},
			{"which another one can name", "PUT " + path + "/copy" + tenant, `{"version":"production"}`, 200, "",
				`{"revision":"` + first + `"}`},
			{"an alias is moved", "PUT " + path + "/production" + tenant, `{"version":"2.0.11"}`, 200, "", `{"version":"2.0.11"}`},
			{"and resolves to the new revision", "POST /resolve/skill", resolve("$.s.a@production"), 200, "",
				`{"manifest":{"purpose":"later"}}`},
			{"an alias is deleted", "DELETE " + path + "/canary" + tenant, "", 204, "", ""},
			{"and again", "DELETE " + path + "/canary" + tenant, "", 204, "", ""},
			{"and resolves no longer", "POST /resolve/skill", resolve("$.s.a@canary"), 404, "CE-031", ""},
		})
		deleted := c.do(t, "DELETE /records/skill/$.s.a"+tenant, "").header.Get("Cairn-Aliases")
		if deleted != "copy,production,stable,staging" {
			t.Errorf("got the aliases %q of the deleted record", deleted)
		}
		put(`{"purpose":"new"}`)
		c.rows(t, []row{
			{"a deletion takes the aliases along", "GET " + path + tenant, "", 200, `{"aliases":[]}`, ""},
		})
		c.do(t, "PUT /records/skill/$.s.a", `{}`)
		c.do(t, "PUT "+path+"/production", "")
		c.rows(t, []row{
			{"a record of the tenant hides the aliases of the global one", "POST /resolve/skill", resolve("$.s.a@production"),
				404, "CE-031", ""},
			{"which resolve without a tenant", "POST /resolve/skill", `{"skill_id":"$.s.a@production"}`, 200, "",
				`{"skill_id":"$.s.a"}`},
		})
	})
}

// TestConcurrentPromotions: the last one wins, and the alias is that of one of them.
func TestConcurrentPromotions(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.do(t, "PUT /records/tool/$.s.c", `{"version":"1.0.0"}`)
		c.retained(t, c.do(t, "PUT /records/tool/$.s.c", `{"version":"2.0.0"}`).header.Get("Cairn-Revision"))
		var promoting sync.WaitGroup
		answers := make([]answer, 8)
		for i := range answers {
			promoting.Go(func() {
				answers[i] = c.do(t, "PUT /records/tool/$.s.c/aliases/production", fmt.Sprintf(`{"version":"%d.0.0"}`, i%2+1))
			})
		}
		promoting.Wait()
		last, want := schemas.ConsistencyToken{}, ""
		for i, a := range answers {
			token, err := schemas.ParseConsistencyToken(a.header.Get("Cairn-Revision"))
			if err != nil {
				t.Fatalf("%s: %v", a.body, err)
			}
			if token.Revision > last.Revision {
				last, want = token, fmt.Sprintf("%d.0.0", i%2+1)
			}
		}
		var list schemas.AliasList
		c.do(t, "GET /records/tool/$.s.c/aliases", "").decode(t, &list)
		if len(list.Aliases) != 1 || list.Aliases[0].Version != want {
			t.Errorf("got %+v, want the alias of the last promotion, %s", list.Aliases, want)
		}
	})
}

// TestAliasNamesAreBounded: names that were deleted count.
func TestAliasNamesAreBounded(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.do(t, "PUT /records/tool/$.s.b", `{}`)
		const path = "/records/tool/$.s.b/aliases/"
		for n := range schemas.MaxAliases {
			c.do(t, fmt.Sprintf("PUT %sa%d", path, n), "")
		}
		c.do(t, "DELETE "+path+"a0", "")
		c.rows(t, []row{
			{"another name", "PUT " + path + "more", "", 429, "CE-008", ""},
			{"a name of the record", "PUT " + path + "a1", "", 200, "", `{"name":"a1"}`},
			{"a deleted one", "PUT " + path + "a0", "", 200, "", `{"name":"a0"}`},
		})
	})
}
