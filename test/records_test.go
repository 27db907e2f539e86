package test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/schemas"
	"cairn/test/wait"
)

func TestRecords(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		var rows []row
		for _, k := range kinds {
			id := strings.Trim(idOf(k.record), `"`)
			rows = append(rows,
				row{"a " + k.kind + " is stored", "PUT /records/" + k.kind + "/" + id, k.record, 200,
					`{"kind":"` + k.kind + `","id":"` + id + `"}`, ""},
				row{"and read as it was stored", "GET /records/" + k.kind + "/" + id, "", 200, "", k.record},
				row{"listed", "GET /records/" + k.kind + "?prefix=" + id, "", 200, "",
					`{"records":[` + k.record + `],"next_cursor":null}`},
				row{"and resolved", k.read, k.question, 200, "", strings.ReplaceAll(k.part, "RECORD", k.record)})
		}
		for _, k := range kinds {
			id := strings.Trim(idOf(k.record), `"`)
			rows = append(rows,
				row{"the " + k.kind + " is deleted", "DELETE /records/" + k.kind + "/" + id + "?force=true", "", 204, "", ""},
				row{"no longer read", "GET /records/" + k.kind + "/" + id, "", 404, "CE-081", ""},
				row{"nor listed", "GET /records/" + k.kind + "?prefix=" + id, "", 200, `{"records":[],"next_cursor":null}`, ""},
				row{"and deleted again", "DELETE /records/" + k.kind + "/" + id, "", 204, "", ""})
		}
		c.rows(t, rows)
	})
}

func TestRecordsOfTenants(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"tool", `{"tool_id":"$.s.a","of":"global","labels":{"team":"$","tier":"gold"},"domain":"$x"}`},
			{"tool", `{"tool_id":"$.s.b","of":"global","labels":{"team":"$"}}`},
			{"tool", `{"tool_id":"$.s.a","of":"tenant","tenant_id":"$"}`},
			{"skill", `{"skill_id":"$.s","status":"draft","instructions":"Do it.","resources":[{"path":"a.txt","text":"x"}]}`},
			{"skill", `{"skill_id":"$.t","status":"retired"}`}, {"skill", `{"skill_id":"$.u"}`},
		}...)
		const list = "GET /records/tool?prefix=$."
		c.rows(t, []row{
			{"the tenant's record comes first", "GET /records/tool/$.s.a?tenant_id=$", "", 200, "", `{"of":"tenant"}`},
			{"then the global one", "GET /records/tool/$.s.b?tenant_id=$", "", 200, "", `{"of":"global"}`},
			{"the scope may be the tenant's only", "GET /records/tool/$.s.b?tenant_id=$&scope=tenant", "", 404, "CE-081", ""},
			{"or the global one", "GET /records/tool/$.s.a?tenant_id=$&scope=global", "", 200, "", `{"of":"global"}`},
			{"a tenant's records are listed", list + "&tenant_id=$", "", 200, "",
				`{"records":[{"tool_id":"$.s.a","of":"tenant"}],"next_cursor":null}`},
			{"global ones where it has none", list + "s.b&tenant_id=$", "", 200, "", `{"records":[{"tool_id":"$.s.b"}]}`},
			{"unless the scope excludes them", list + "s.b&tenant_id=$&scope=tenant", "", 200,
				`{"records":[],"next_cursor":null}`, ""},
			{"the global scope", list + "&tenant_id=$&scope=global", "", 200, "",
				`{"records":[{"tool_id":"$.s.a","of":"global"},{"tool_id":"$.s.b"}]}`},
			{"by label", "GET /records/tool?labels=team%3D$,tier%3Dgold", "", 200, "",
				`{"records":[{"tool_id":"$.s.a"}],"next_cursor":null}`},
			{"by another value of the label", "GET /records/tool?labels=team%3D$,tier%3Dgol", "", 200,
				`{"records":[],"next_cursor":null}`, ""},
			{"by domain", "GET /records/tool?domain=$x", "", 200, "", `{"records":[{"tool_id":"$.s.a"}],"next_cursor":null}`},
			{"drafts", "GET /records/skill?domain=$&status=draft", "", 200, "",
				`{"records":[{"skill_id":"$.s","resources":[{"path":"a.txt","size":1}]}],"next_cursor":null}`},
			{"active records include those without a status", "GET /records/skill?domain=$&status=active", "", 200, "",
				`{"records":[{"skill_id":"$.u"}],"next_cursor":null}`},
			{"any status", "GET /records/skill?domain=$", "", 200, "",
				`{"records":[{"skill_id":"$.s"},{"skill_id":"$.t"},{"skill_id":"$.u"}]}`},
			{"a record has the content of its resources", "GET /records/skill/$.s", "", 200, "",
				`{"instructions":"Do it.","resources":[{"path":"a.txt","text":"x"}]}`},
			{"an unknown kind", "GET /records/playbook", "", 400, "CE-001 kind", ""},
			{"an unknown kind of a record", "GET /records/playbook/$", "", 400, "CE-001 kind", ""},
			{"an id of another shape", "GET /records/skill/$", "", 400, "CE-001 id", ""},
			{"an unknown scope", "GET /records/skill/$.s?scope=all", "", 400, "CE-001 scope", ""},
			{"a listing of an unknown scope", "GET /records/skill?scope=all", "", 400, "CE-001 scope", ""},
			{"a label without a value", "GET /records/skill?labels=team", "", 400, "CE-001 labels", ""},
			{"with two values", "GET /records/skill?labels=team%3Da,team%3Db", "", 400, "CE-001 labels", ""},
			{"an unknown cursor", "GET /records/skill?cursor=!", "", 400, "CE-001 cursor", ""},
			{"a limit of 0", "GET /records/skill?limit=0", "", 400, "CE-001 limit", ""},
		})
		if got := c.do(t, "GET /records/skill?domain=$", ""); strings.Contains(got.body, "Do it") ||
			strings.Contains(got.body, `"text"`) {
			t.Errorf("a listing has instructions or content: %s", truncated(got.body))
		}
	})
}

func TestRecordWarnings(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{{"tool", `{"tool_id":"$.s.global"}`}, {"tool", `{"tool_id":"$.s.own","tenant_id":"$"}`},
			{"tool", `{"tool_id":"$.s.foreign","tenant_id":"$2"}`}}...)
		const a = "PUT /records/skill/$.a?tenant_id=$"
		const purpos = `{"field":"record.purpos","message":"unknown field; did you mean purpose?"}`
		c.rows(t, []row{
			{"a misspelt field gives a warning", a, `{"purpos":"p","owner":"x","purposee":"p"}`, 200,
				`{"kind":"skill","id":"$.a","warnings":[` + purpos +
					`,{"field":"record.purposee","message":"unknown field; did you mean purpose?"}]}`, ""},
			{"and is stored", "GET /records/skill/$.a?tenant_id=$", "", 200, "", `{"purpos":"p"}`},
			{"not if the record has the field as well", a, `{"purpos":"p","purpose":"p"}`, 200, `{"kind":"skill","id":"$.a"}`,
				""},
			{"a reference to an absent record gives a warning", a,
				`{"tool_ids":["$.s.own","$.s.no","$.s.global"],"template_id":"$t"}`, 200, "",
				`{"warnings":[{"field":"record.tool_ids[1]"},{"field":"record.template_id"}]}`},
			{"also to one of another tenant", a, `{"tool_ids":["$.s.foreign"]}`, 200, "",
				`{"warnings":[{"field":"record.tool_ids[0]"}]}`},
			{"and a replacement", a, `{"status":"retired","replaced_by":"$.b"}`, 200, "",
				`{"warnings":[{"field":"record.replaced_by"}]}`},
			{"an id of another kind is not a link", "PUT /records/tool/$.s.own?tenant_id=$", `{"skill_ids":["$.no"]}`, 200,
				`{"kind":"tool","id":"$.s.own"}`, ""},
			{"strict rejects a misspelt field", a + "&strict=true", `{"purpos":"p"}`, 400, "CE-061 record.purpos", ""},
			{"and an absent record", a + "&strict=true", `{"tool_ids":["$.s.no"]}`, 400, "CE-061 record.tool_ids[0]", ""},
			{"strict is a boolean", a + "&strict=1", `{}`, 400, "CE-061 strict", ""},
			{"null is no value", a + "&strict=true",
				`{"purpose":null,"tool_ids":null,"labels":null,"version":null,"extra":null}`, 200,
				`{"kind":"skill","id":"$.a"}`, ""},
			{"and not stored", "GET /records/skill/$.a?tenant_id=$", "", 200,
				`{"tenant_id":"$","skill_id":"$.a","extra":null,"domain":"$"}`, ""},
			{"registrations of the contract give no warnings", "POST /register/skill",
				`{"record":{"skill_id":"$.c","purpos":"p","tool_ids":["$.s.no"]}}`, 200, `{"skill_id":"$.c"}`, ""},
			{"unless the request asks for them", "POST /register/skill",
				`{"record":{"skill_id":"$.c","purpos":"p","tool_ids":["$.s.globl"]},"return_warnings":true}`, 200,
				`{"skill_id":"$.c","warnings":[` + purpos + `,
					{"field":"record.tool_ids[0]","message":"no tool \"$.s.globl\" is registered; register it, or correct the reference"}]}`, ""},
			{"the skills of an agent are beside its record", "POST /register/agent",
				`{"agent_data":{"agent_id":"$"},"skill_ids":["$.c","$.no"],"return_warnings":true}`, 200,
				`{"agent_id":"$","warnings":[
					{"field":"skill_ids[1]","message":"no skill \"$.no\" is registered; register it, or correct the reference"}]}`, ""},
			{"or in it", "POST /register/agent",
				`{"agent_data":{"agent_id":"$","skill_ids":["$.no"],"vesrion":"1.0.0"},"return_warnings":true}`, 200, "",
				`{"warnings":[{"field":"agent_data.vesrion"},{"field":"agent_data.skill_ids[0]"}]}`},
			{"strict rejects them", "POST /register/skill?strict=true", `{"record":{"skill_id":"$.d","tools":[]}}`, 400,
				"CE-061 record.tools", ""},
			{"in the body too", "POST /register/skill", `{"record":{"skill_id":"$.d","tools":[]},"strict":true}`, 400,
				"CE-061 record.tools", ""},
			{"and stores nothing", "GET /records/skill/$.d", "", 404, "CE-081", ""},
			{"strict has two values", "POST /register/skill?strict=1", `{"record":{"skill_id":"$.d"}}`, 400, "CE-061 strict",
				""},
			{"and is no excuse for other errors", "POST /register/skill?strict=true", `{"record":`, 400, "CE-061 record", ""},
			{"a misspelt status hides a record", "POST /register/tool?strict=true",
				`{"tool_data":{"tool_id":"$.s.t","status":"actve"}}`, 400,
				"CE-061 tool_data.status", ""},
			{"fields of resources are known", "POST /register/skill?strict=true",
				`{"record":{"skill_id":"$.d","resources":[{"path":"a","text":"b","mediatype":"text/plain"}]}}`, 400,
				"CE-061 record.resources[0].mediatype", ""},
		})
	})
}

// TestNulls registers nulls through every route. A null in an interpreted field counts as absent;
// in an array or a map it is rejected.
func TestNulls(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const fields = `"purpose":null,"capabilities":null,"labels":null,"resources":[{"path":"a","text":"b","media_type":null}],"extra":null`
		const stored = `{"skill_id":"$.a","resources":[{"path":"a","text":"b","sha256":"` +
			`3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d","size":1}],"extra":null,"domain":"$"}`
		var rows []row
		for _, route := range []struct{ name, request, record string }{
			{"a registration", "POST /register/skill", `{"record":{"skill_id":"$.a",%s}}`},
			{"a record in the URL", "PUT /records/skill/$.a", `{"skill_id":null,%s}`},
		} {
			rows = append(rows,
				row{route.name + " removes nulls", route.request, fmt.Sprintf(route.record, fields), 200, "", ""},
				row{"and they are not stored", "GET /records/skill/$.a", "", 200, "", stored})
			for field, where := range map[string]string{
				`"capabilities":["a",null]`: "capabilities[1]", `"labels":{"a":null}`: "labels.a",
				`"resources":[null]`: "resources[0]",
			} {
				rows = append(rows, row{"null in " + where, route.request, fmt.Sprintf(route.record, field), 400,
					"CE-061 record." + where, ""})
			}
		}
		c.rows(t, rows)
		s := c.modelContext(t)
		c.tool(t, s, "register_skill", `{"record":{"skill_id":"$.a",`+fields+`}}`)
		c.rows(t, []row{{"a tool of the Model Context Protocol too", "GET /records/skill/$.a", "", 200, "", stored}})
		if text, result := c.tool(t, s, "register_skill",
			`{"record":{"skill_id":"$.a","tools":[]},"strict":true}`); !result.IsError ||
			!strings.Contains(text, "did you mean tool_ids?") {
			t.Errorf("a strict tool: %s", text)
		}
		bulk := c.do(t, "POST /records", `{"kind":"skill","record":{"skill_id":"$.b","purpose":null,"labels":{"a":null}}}`)
		if !strings.Contains(bulk.body, "record.labels.a") {
			t.Errorf("null in a map of a bulk request: %s", bulk.body)
		}
	})
}

func TestPutRecord(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const a = "PUT /records/skill/$.a"
		c.rows(t, []row{
			{"the id and the tenant may be in the URL alone", a + "?tenant_id=$", `{"purpose":"p"}`, 200,
				`{"kind":"skill","id":"$.a"}`, ""},
			{"and are added to the record", "GET /records/skill/$.a?tenant_id=$", "", 200,
				`{"skill_id":"$.a","tenant_id":"$","purpose":"p","domain":"$"}`, ""},
			{"the tenant may be in the record", "PUT /records/skill/$.b", `{"tenant_id":"$","skill_id":"$.b"}`, 200,
				`{"kind":"skill","id":"$.b"}`, ""},
			{"and is its scope", "GET /records/skill/$.b", "", 404, "CE-081", ""},
			{"another id is refused", a, `{"skill_id":"$.b"}`, 400, "CE-061 record.skill_id", ""},
			{"an id of another type too", a, `{"skill_id":{}}`, 400, "CE-061 record.skill_id", ""},
			{"another tenant", a + "?tenant_id=$", `{"tenant_id":"$2"}`, 400, "CE-061 record.tenant_id", ""},
			{"no tenant", a + "?tenant_id=$", `{"tenant_id":null}`, 400, "CE-061 record.tenant_id", ""},
			{"a reserved tenant", a, `{"tenant_id":"_global"}`, 400, "CE-061 record.tenant_id", ""},
			{"a tenant that is no text", a, `{"tenant_id":7}`, 400, "CE-061 record.tenant_id", ""},
			{"an invalid field", a, `{"version":"1"}`, 400, "CE-061 record.version", ""},
			{"an invalid field of another kind", "PUT /records/agent/$", `{"labels":{"a":1}}`, 400, "CE-061 record.labels.a",
				""},
			{"an unknown kind", "PUT /records/playbook/$.a", `{}`, 400, "CE-061 kind", ""},
			{"an id of another shape", "PUT /records/tool/$.a", `{}`, 400, "CE-061 id", ""},
			{"a record is an object", a, `[]`, 400, "CE-061 record", ""},
			{"not a text", a, `"x"`, 400, "CE-061 record", ""},
			{"a duplicate field", a, `{"purpose":"a","purpose":"b"}`, 400, "CE-061", ""},
			{"no JSON", a, `{`, 400, "CE-061", ""},
			{"no body", a, ``, 400, "CE-061 record", ""},
			{"members beside the record", a, `{},"tenant_id":"$"`, 400, "CE-061", ""},
			{"an unknown parameter", a + "?kind=tool", `{}`, 400, "CE-061 kind", ""},
		})
	})
}

func TestRecordHistory(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		put := func(record string) string {
			t.Helper()
			return c.do(t, "PUT /records/tool/$.s.a", record).header.Get("Cairn-Revision")
		}
		history := func() (list []string) {
			t.Helper()
			var h struct{ Revisions []struct{ Revision string } }
			c.do(t, "GET /records/tool/$.s.a/history", "").decode(t, &h)
			for _, r := range h.Revisions {
				list = append(list, r.Revision)
			}
			return list
		}
		first := put(`{"version":"1.0.0"}`)
		c.retained(t, first)
		second := put(`{"version":"1.1.0","status":"draft"}`)
		if got := history(); len(got) != 2 || got[0] != second || got[1] != first {
			t.Fatalf("got %v, want %s and %s", got, second, first)
		}
		c.rows(t, []row{
			{"the history has version and status", "GET /records/tool/$.s.a/history", "", 200, "",
				`{"revisions":[{"version":"1.1.0","status":"draft"},{"version":"1.0.0"}]}`},
			{"an earlier revision", "GET /records/tool/$.s.a?revision=" + first, "", 200,
				`{"tool_id":"$.s.a","version":"1.0.0"}`, ""},
			{"the newest one", "GET /records/tool/$.s.a?revision=" + second, "", 200, "", `{"version":"1.1.0"}`},
			{"of another record", "GET /records/tool/$.s.b?revision=" + first, "", 404, "CE-081", ""},
			{"of another catalog", "GET /records/tool/$.s.a?revision=other-1", "", 404, "CE-081", ""},
			{"that is not a revision", "GET /records/tool/$.s.a?revision=x", "", 400, "CE-001 revision", ""},
			{"before the first one", "GET /records/tool/$.s.a?revision=0", "", 404, "CE-081", ""},
			{"the history of no record", "GET /records/tool/$.s.b/history", "", 404, "CE-081", ""},
			{"of an unknown kind", "GET /records/playbook/$.s.b/history", "", 400, "CE-001 kind", ""},
			{"of a tenant without the record", "GET /records/tool/$.s.a/history?tenant_id=$&scope=tenant", "", 404, "CE-081",
				""},
			{"of the global record", "GET /records/tool/$.s.a/history?tenant_id=$", "", 200, "",
				`{"revisions":[{"version":"1.1.0"},{"version":"1.0.0"}]}`},
			{"an unknown parameter", "GET /records/tool/$.s.a/history?revision=1", "", 400, "CE-001 revision", ""},
		})
		c.retained(t, second)
		c.do(t, "DELETE /records/tool/$.s.a", "")
		c.rows(t, []row{
			{"a deleted record has a history", "GET /records/tool/$.s.a/history", "", 200, "",
				`{"revisions":[{"removed":true},{"version":"1.1.0"},{"version":"1.0.0"}]}`},
			{"its deletion is no record", "GET /records/tool/$.s.a?revision=" + history()[0], "", 404, "CE-081", ""},
			{"its last revision is", "GET /records/tool/$.s.a?revision=" + second, "", 200, "", `{"version":"1.1.0"}`},
		})
	})
}

func TestSkillVersions(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		put := func(tenant, record string) {
			t.Helper()
			c.retained(t, c.do(t, "PUT /records/skill/$.s.v"+tenant, record).header.Get("Cairn-Revision"))
		}
		c.do(t, "PUT /records/tool/$.s.old", `{}`)
		c.do(t, "PUT /records/tool/$.s.new", `{}`)
		put("", `{"name":"V","purpose":"first","version":"1.0.0","tool_ids":["$.s.old"]}`)
		put("", `{"name":"V","purpose":"corrected","version":"1.0.0","tool_ids":["$.s.old"]}`)
		put("", `{"name":"V","purpose":"second","version":"2.0.0-rc.1+5","tool_ids":["$.s.new"]}`)
		c.do(t, "PUT /records/guardrail/$.s.g", `{"skill_ids":["$.s.v"]}`)
		c.rows(t, []row{
			{"the newest version by id", "POST /resolve/skill", `{"skill_id":"$.s.v"}`, 200, "",
				`{"manifest":{"purpose":"second"},"tools":[{"tool_id":"$.s.new"}]}`},
			{"the newest version by its name", "POST /resolve/skill", `{"skill_id":"$.s.v@2.0.0-rc.1+5"}`, 200, "",
				`{"skill_id":"$.s.v","manifest":{"purpose":"second"},"tools":[{"tool_id":"$.s.new"}]}`},
			{"the newest revision with a version, with the links of that revision and those to the skill",
				"POST /resolve/skill", `{"skill_id":"$.s.v@1.0.0"}`, 200, "",
				`{"skill_id":"$.s.v","manifest":{"purpose":"corrected"},"tools":[{"tool_id":"$.s.old"}],"guardrails":[{"guardrail_id":"$.s.g"}]}`},
			{"the guardrails of a version", "POST /resolve/guardrail", `{"skill_id":"$.s.v@1.0.0"}`, 200, "",
				`{"guardrails":[{"guardrail_id":"$.s.g"}]}`},
			{"a tenant has the global versions", "POST /resolve/skill", `{"skill_id":"$.s.v@1.0.0","tenant_id":"$"}`, 200, "",
				`{"manifest":{"purpose":"corrected"}}`},
			{"an unknown version", "POST /resolve/skill", `{"skill_id":"$.s.v@3.0.0"}`, 404, "CE-031", ""},
			{"a version of no skill", "POST /resolve/skill", `{"skill_id":"$.s.none@1.0.0"}`, 404, "CE-031", ""},
			{"no version", "POST /resolve/skill", `{"skill_id":"$.s.v@"}`, 404, "CE-031", ""},
		})
		put("?tenant_id=$", `{"name":"V","purpose":"planned","version":"4.0.0","status":"draft"}`)
		c.rows(t, []row{
			{"a draft of the tenant hides no version", "POST /resolve/skill", `{"skill_id":"$.s.v@1.0.0","tenant_id":"$"}`, 200,
				"",
				`{"manifest":{"purpose":"corrected"}}`},
			{"and is not reached by its version", "POST /resolve/skill", `{"skill_id":"$.s.v@4.0.0","tenant_id":"$"}`, 404,
				"CE-031", ""},
		})
		put("?tenant_id=$", `{"name":"V","purpose":"own","version":"3.0.0"}`)
		c.rows(t, []row{
			{"the version of the tenant", "POST /resolve/skill", `{"skill_id":"$.s.v@3.0.0","tenant_id":"$"}`, 200, "",
				`{"manifest":{"purpose":"own"}}`},
			{"which shadows the global versions", "POST /resolve/skill", `{"skill_id":"$.s.v@1.0.0","tenant_id":"$"}`, 404,
				"CE-031", ""},
			{"and is not global", "POST /resolve/skill", `{"skill_id":"$.s.v@3.0.0"}`, 404, "CE-031", ""},
		})
		c.retained(t, c.do(t, "DELETE /records/skill/$.s.v?tenant_id=$&force=true", "").header.Get("Cairn-Revision"))
		put("", `{"name":"V","purpose":"named","version":"1.0.0"}`)
		c.do(t, "PUT /records/skill/$.s.v@1.0.0", `{"name":"V","purpose":"exact"}`)
		c.rows(t, []row{
			{"a deleted skill of the tenant hides nothing", "POST /resolve/skill",
				`{"skill_id":"$.s.v@2.0.0-rc.1+5","tenant_id":"$"}`, 200, "",
				`{"manifest":{"purpose":"second"}}`},
			{"a skill with that id comes first", "POST /resolve/skill", `{"skill_id":"$.s.v@1.0.0"}`, 200, "",
				`{"skill_id":"$.s.v@1.0.0","manifest":{"purpose":"exact"}}`},
		})
	})
}

func TestServers(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const server = `{"name":"$/weather","description":"d","version":"1.0.2"}`
		c.do(t, "PUT /records/tool/$.weather.@server?tenant_id=$",
			`{"tool_class":"mcp_server","provider":"$/weather","server_json":`+server+`}`)
		const entry = `{"server":` + server +
			`,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","isLatest":true}}}`
		c.do(t, "PUT /records/tool/$.tickets.open?tenant_id=$",
			`{"tool_class":"mcp","provider":"$/tickets","version":"1.0.0"}`)
		const tickets = `{"server":{"name":"$/tickets","version":"1.0.0"}}`
		c.rows(t, []row{
			{"a page of servers", "GET /v0.1/servers?tenant_id=$&version=latest&limit=10&include_deleted=true", "", 200,
				"", `{"servers":[` + entry + `,` + tickets + `],"metadata":{"count":2}}`},
			{"by name", "GET /v0.1/servers?tenant_id=$&search=/TICK&updated_since=2026-01-01T00:00:00Z", "", 200, "",
				`{"servers":[` + tickets + `],"metadata":{"count":1}}`},
			{"none since", "GET /v0.1/servers?tenant_id=$&updated_since=2099-01-01T00:00:00Z", "", 200,
				`{"servers":[],"metadata":{"count":0}}`, ""},
			{"a server of tools", "GET /v0.1/servers/$%2Ftickets/versions/1.0.0?tenant_id=$", "", 200, "", tickets},
			{"the versions of one", "GET /v0.1/servers/$%2Fweather/versions?tenant_id=$", "", 200,
				"", `{"servers":[` + entry + `],"metadata":{"count":1}}`},
			{"the latest version", "GET /v0.1/servers/$%2Fweather/versions/latest?tenant_id=$", "", 200, "", entry},
			{"a version", "GET /v0.1/servers/$%2Fweather/versions/1.0.2?tenant_id=$", "", 200, "", entry},
			{"another version", "GET /v0.1/servers/$%2Fweather/versions/1.0.3?tenant_id=$", "", 404, "CE-071", ""},
			{"no server", "GET /v0.1/servers/$%2Fnone/versions?tenant_id=$", "", 404, "CE-071", ""},
			{"another version of all", "GET /v0.1/servers?version=1.0.2", "", 400, "CE-001 version", ""},
			{"a limit of 0", "GET /v0.1/servers?limit=0", "", 400, "CE-001 limit", ""},
			{"a malformed cursor", "GET /v0.1/servers?cursor=x", "", 400, "CE-001 cursor", ""},
			{"an invalid time", "GET /v0.1/servers?updated_since=x", "", 400, "CE-001 updated_since", ""},
		})
	})
}

func TestRecordUsage(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.do(t, "PUT /records/skill/$.s.u", `{"name":"U","purpose":"$word","tool_ids":["$.s.ut"]}`)
		c.do(t, "PUT /records/tool/$.s.ut", `{}`)
		c.rows(t, []row{
			{"an unused record", "GET /records/skill/$.s.u/usage", "", 200, `{"resolved":{"count":0},"found":{"count":0}}`, ""},
			{"no record", "GET /records/skill/$.s.none/usage", "", 404, "CE-081", ""},
			{"an unknown kind", "GET /records/playbook/$.s.u/usage", "", 400, "CE-001 kind", ""},
			{"no global record of a tenant", "GET /records/skill/$.s.u/usage?tenant_id=$&scope=tenant", "", 404, "CE-081", ""},
		})
		for range 2 { // the second package is cached
			c.do(t, "POST /resolve/skill", `{"skill_id":"$.s.u"}`)
		}
		c.do(t, "POST /resolve/skill", `{"query":"$word"}`)
		c.do(t, "POST /resolve/tools", `{"tool_ids":["$.s.ut"],"tenant_id":"$"}`)
		// Searches of other tests may find the global record too.
		for path, want := range map[string]string{
			"GET /records/skill/$.s.u/usage":              `\{"resolved":\{"count":2,"last_at":"`,
			"GET /records/skill/$.s.u/usage?scope=global": `"found":\{"count":[1-9]\d*,"last_at":"`,
			"GET /records/tool/$.s.ut/usage":              `\{"resolved":\{"count":2,`,
			"GET /records/tool/$.s.ut/usage?tenant_id=$":  `\{"resolved":\{"count":1,`,
			"GET /records/skill/$.s.u/usage?tenant_id=$":  `\{"resolved":\{"count":0},"found":\{"count":0}}`,
		} {
			wait.Until(t, path+" returns "+want, func() bool {
				return regexp.MustCompile(want).MatchString(c.do(t, path, "").body)
			})
		}
	})
}

// retained returns when the history has the revision, which NATS copies asynchronously.
func (c *client) retained(t *testing.T, revision string) {
	t.Helper()
	put, err := schemas.ParseConsistencyToken(revision)
	must(t, err)
	js, err := jetstream.New(c.dial(t))
	must(t, err)
	wait.Until(t, "the history has revision "+revision, func() bool {
		s, err := js.Stream(t.Context(), "cairn_history")
		return err == nil && s.CachedInfo().State.LastSeq >= put.Revision
	})
}
