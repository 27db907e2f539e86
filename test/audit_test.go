package test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"cairn/schemas"
)

// TestAudit makes changes with the keys of two tenants and of all: each sees its own, and the key for all tenants sees
// every change.
func TestAudit(t *testing.T) {
	isolated(t, *authenticated, func(t *testing.T, c *client) {
		acme, globex := c.withRole(t, schemas.RoleRegistrar, "$"), c.withRole(t, schemas.RoleRegistrar, "$2")
		put := func(caller *client, body, message string) string {
			t.Helper()
			a := caller.call(t, "PUT /records/tool/$.s.a", body, "Cairn-Message: "+message, "X-Request-Id: r-1")
			a.expect(t, 200, "", "")
			return a.header.Get("Cairn-Revision")
		}
		first := put(acme, `{"version":"1.0.0"}`, "größere Platten")
		put(globex, `{}`, "of two")
		acme.call(t, "DELETE /records/tool/$.s.a", "").expect(t, 204, "", "")
		put(c, `{}`, "of all")
		acme.rows(t, []row{
			{"a tenant sees its changes, the latest first", "GET /audit", "", 200, "",
				`{"entries":[{"action":"delete","kind":"tool","id":"$.s.a","tenant_id":"$","route":"cairn.records.delete"},` +
					`{"action":"register","kind":"tool","id":"$.s.a","tenant_id":"$","revision":"` + first + `",` +
					`"message":"größere Platten","request_id":"r-1","route":"cairn.records.put"},` +
					`{"action":"create_key","kind":"key","tenant_id":"$"}],"next_cursor":null}`},
			{"in pages", "GET /audit?limit=1&action=register", "", 200, "", `{"entries":[{"action":"register"}]}`},
			{"over a year", "GET /audit?since=2025-01-01T00:00:00Z&until=2027-12-31T00:00:00Z&kind=key", "", 200, "",
				`{"entries":[{"kind":"key"}]}`},
			{"before the first change", "GET /audit?until=2025-01-01T00:00:00Z", "", 200,
				`{"entries":[],"next_cursor":null}`, ""},
			{"with its tenant", "GET /audit?tenant_id=$&action=delete", "", 200, "", `{"entries":[{"action":"delete"}]}`},
			{"but not with another one", "GET /audit?tenant_id=$2", "", 403, "CE-007 tenant_id", ""},
			{"an unknown filter", "GET /audit?user=x", "", 400, "CE-001 user", ""},
			{"a wrong time", "GET /audit?since=yesterday", "", 400, "CE-001 since", ""},
			{"a wrong cursor", "GET /audit?cursor=x", "", 400, "CE-001 cursor", ""},
			{"an unknown action", "GET /audit?action=drop", "", 400, "CE-001 action", ""},
			{"an unknown kind", "GET /audit?kind=tag", "", 400, "CE-001 kind", ""},
			{"a page that is too long", "GET /audit?limit=1001", "", 400, "CE-001 limit", ""},
			{"the history has the author of each revision", "GET /records/tool/$.s.a/history?scope=tenant", "", 200, "",
				`{"revisions":[{"removed":true},{"message":"größere Platten"}]}`},
		})
		if list := audited(t, globex, ""); strings.Contains(list, c.named(`"$"`)) || strings.Contains(list, "Platten") {
			t.Errorf("another tenant sees %s", list)
		}
		all := audited(t, c, "?limit=1000")
		for _, message := range []string{"größere Platten", "of two", "of all"} {
			if !strings.Contains(all, `"`+message+`"`) {
				t.Errorf("without tenants, %q is missing: %s", message, all)
			}
		}
		c.withRole(t, schemas.RoleRegistrar).call(t, "GET /audit", "").expect(t, 403, "CE-007 tenant_id", "")
		c.withRole(t, schemas.RoleRegistrar, "$", "$2").call(t, "GET /audit", "").expect(t, 400, "CE-001 tenant_id", "")
		c.withRole(t, schemas.RoleReader, "$").call(t, "GET /audit", "").expect(t, 403, "CE-007", "")
		c.plain().with("").call(t, "GET /audit", "").expect(t, 401, "CE-006", "")
	})
}

// TestMessageOfChange sends messages that are no text of one line, or two of them, over HTTP.
func TestMessageOfChange(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		long := "Cairn-Message: " + strings.Repeat("x", schemas.MaxMessage+1)
		for _, row := range []struct{ name, request, body, header, want string }{
			{"a long message", "PUT /records/tool/$.s.m", `{}`, long, "CE-061 Cairn-Message"},
			{"a tabulator", "POST /register/tool", `{"tool_data":{"tool_id":"$.s.m"}}`, "Cairn-Message: a\tb",
				"CE-061 Cairn-Message"},
			{"another encoding", "DELETE /records/tool/$.s.m", "", "Cairn-Message: gr\xf6", "CE-061 Cairn-Message"},
			{"of a bulk request", "POST /records", `{"kind":"tool","record":{"tool_id":"$.s.m"}}`, long,
				"CE-061 Cairn-Message"},
		} {
			t.Run(row.name, func(t *testing.T) {
				c.call(t, row.request, row.body, row.header).expect(t, http.StatusBadRequest, row.want, "")
			})
		}
		c.call(t, "GET /records/tool/$.s.m/history", "").expect(t, 404, "CE-081", "")
	})
}

// audited returns the entries of the audit log that the caller sees.
func audited(t *testing.T, caller *client, query string) string {
	t.Helper()
	var page struct{ Entries json.RawMessage }
	caller.do(t, "GET /audit"+query, "").decode(t, &page)
	return string(page.Entries)
}
