package test

import (
	"strings"
	"testing"

	"cairn/schemas"
	"cairn/test/wait"
)

func TestQuotas(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		returns := func(request, want string) {
			t.Helper()
			wait.Until(t, request+" returns "+want, func() bool { return strings.Contains(c.do(t, request, "").body, want) })
		}
		c.rows(t, []row{
			{"no records", "GET /quota/records?tenant_id=$", "", 200,
				`{"count":0,"bytes":0,"max_count":1000000,"max_bytes":1717986880}`, ""},
			{"no tags", "GET /quota/tags?tenant_id=$", "", 200, `{"count":0,"bytes":0,"max_bytes":858993440}`, ""},
			{"an invalid tenant", "GET /quota/tags?tenant_id=a%20b", "", 400, "CE-001 tenant_id", ""},
			{"an unknown parameter", "GET /quota/records?kind=tool", "", 400, "CE-001 kind", ""},
		})
		c.do(t, "PUT /records/tool/$.s.q?tenant_id=$", `{"tenant_id":"$"}`)
		c.do(t, "PUT /records/tool/$.s.q?tenant_id=$", `{"tenant_id":"$","description":"replaced"}`)
		c.do(t, "PUT /records/tool/$.s.q2?tenant_id=$", `{"tenant_id":"$"}`)
		returns("GET /quota/records?tenant_id=$", `{"count":2,`)
		c.do(t, "PUT /records/tool/$.s.q2/aliases/production?tenant_id=$", "")
		returns("GET /quota/records?tenant_id=$", `{"count":3,`)
		c.do(t, "DELETE /records/tool/$.s.q2?tenant_id=$", "")
		returns("GET /quota/records?tenant_id=$", `{"count":1,`)
		c.do(t, "POST /tags/write", `{"request_id":"$","flow":"f","tags":{},"tenant_id":"$"}`)
		returns("GET /quota/tags?tenant_id=$", `{"count":1,`)
		c.do(t, "DELETE /tags/$?tenant_id=$", "")
		returns("GET /quota/tags?tenant_id=$", `{"count":0,"bytes":0,`)
	})
}

// TestQuotaOfAnotherTenant checks that a tenant reads its own figures only.
func TestQuotaOfAnotherTenant(t *testing.T) {
	isolated(t, *authenticated, func(t *testing.T, c *client) {
		owner, other := c.withRole(t, schemas.RoleRegistrar, "$"), c.withRole(t, schemas.RoleRegistrar, "$2")
		owner.do(t, "PUT /records/tool/$.s.q", `{}`)
		owner.do(t, "POST /tags/write", `{"request_id":"$","flow":"f","tags":{}}`)
		for _, kind := range []string{"records", "tags"} {
			wait.Until(t, "the owner sees its own "+kind, func() bool {
				return strings.Contains(owner.do(t, "GET /quota/"+kind, "").body, `"count":1,`)
			})
			if got := other.do(t, "GET /quota/"+kind, ""); !strings.HasPrefix(got.body, `{"count":0,"bytes":0,`) {
				t.Errorf("another tenant sees %s", got.body)
			}
		}
	})
}

// TestTenantList checks that a credential for some tenants lists only those.
func TestTenantList(t *testing.T) {
	isolated(t, *authenticated, func(t *testing.T, c *client) {
		owner, admin := c.withRole(t, schemas.RoleRegistrar, "$"), c.withRole(t, schemas.RoleAdmin)
		for _, tenant := range []string{"$", "$2", "$3"} {
			admin.do(t, "PUT /records/tool/$.s.q?tenant_id="+tenant, `{"tenant_id":"`+tenant+`"}`)
		}
		returns := func(c *client, request, want string) {
			t.Helper()
			wait.Until(t, request+" returns "+want, func() bool { return strings.Contains(c.do(t, request, "").body, want) })
		}
		prefix := admin.named("$")
		returns(admin, "GET /tenants?prefix=$", `{"tenants":[{"tenant_id":"`+prefix+`","count":1},{"tenant_id":"`+prefix+
			`2","count":1},{"tenant_id":"`+prefix+`3","count":1}],"next_cursor":null}`)
		returns(admin, "GET /tenants?prefix=$&limit=1", `"next_cursor":"`+prefix+`"`)
		returns(admin, "GET /tenants?prefix=$&cursor=$2", `{"tenants":[{"tenant_id":"`+prefix+`3","count":1}]`)
		returns(owner, "GET /tenants", `{"tenants":[{"tenant_id":"`+prefix+`","count":1}],"next_cursor":null}`)
		owner.rows(t, []row{
			{"a limit that is too large", "GET /tenants?limit=1001", "", 400, "CE-001 limit", ""},
			{"a long prefix", "GET /tenants?prefix=" + strings.Repeat("x", 257), "", 400, "CE-001 prefix", ""},
		})
	})
}
