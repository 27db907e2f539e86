package test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn/test/wait"
)

// The publisher of the catalog of every edge.
const (
	publisherDomain = "example.com"
	publisherURL    = "https://cairn.example.com"
)

// entries are members of entries of the catalog.
type entries []struct{ Identifier, DisplayName, Type, URL string }

func (e entries) has(identifier string) bool {
	for _, entry := range e {
		if entry.Identifier == identifier {
			return true
		}
	}
	return false
}

// awaitCatalog reads the catalog without a credential until the condition holds, and returns it.
func (c *client) awaitCatalog(t testing.TB, sentence string, holds func(entries) bool) entries {
	t.Helper()
	var got struct{ Entries entries }
	wait.Until(t, sentence, func() bool {
		a := c.with("").call(t, "GET /.well-known/ai-catalog.json", "")
		if a.status == 429 { // of the requests from this address
			return false
		}
		got.Entries = nil
		if err := json.Unmarshal([]byte(a.body), &got); a.status != 200 || err != nil {
			t.Fatalf("the catalog: %d %v", a.status, err)
		}
		return holds(got.Entries)
	})
	return got.Entries
}

func TestCatalog(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.yes","public":true,"purpose":"p"}`},
			{"skill", `{"skill_id":"$.default"}`},
			{"skill", `{"skill_id":"$.draft","public":true,"status":"draft"}`},
			{"skill", `{"skill_id":"$.of_a_tenant","public":true,"tenant_id":"$"}`},
			{"guardrail", `{"guardrail_id":"$.rail","public":true}`},
			{"agent", `{"agent_id":"$.agent","public":true,"agent_card":{"name":"$","description":"d","version":"1","url":"https://a","skills":[]}}`},
			{"tool", `{"tool_id":"$.s.server","public":true,"server_json":{"name":"$/s"}}`},
		}...)
		const begin = "urn:air:example.com:"
		yes := c.named(begin + "skill:$.yes")
		listed := c.awaitCatalog(t, "the record is in the catalog", func(e entries) bool { return e.has(yes) })
		for _, want := range []string{"registry:cairn", "agent:$.agent", "server:$.s.server"} {
			if !listed.has(c.named(begin + want)) {
				t.Errorf("the catalog has no %s", want)
			}
		}
		for _, e := range listed {
			if own := strings.Contains(e.Identifier, c.word); own && e.Type == "application/ai-skill+md" && e.Identifier != yes {
				t.Errorf("the catalog has %s", e.Identifier)
			}
		}
		anonymous := c.with("")
		if a := anonymous.do(t, "GET /ard/skills/$.yes/SKILL.md", ""); !strings.HasPrefix(a.body, "---\nname: ") ||
			a.header.Get("Content-Type") != "text/markdown; charset=utf-8" {
			t.Errorf("SKILL.md: %s %s", a.header.Get("Content-Type"), truncated(a.body))
		}
		c.do(t, "PUT /records/skill/$.yes", `{"purpose":"p"}`)
		c.awaitCatalog(t, "the record leaves the catalog", func(e entries) bool { return !e.has(yes) })
		for _, id := range []string{"yes", "default", "draft", "of_a_tenant", "absent"} {
			a := anonymous.call(t, "GET /ard/skills/$."+id+"/SKILL.md", "")
			a.expect(t, 404, "CE-081", `{"errorCode":"NOT_FOUND"}`)
		}
		for _, request := range []string{"POST /search", "GET /agents", "GET /ard/tenants/$/skills/$.of_a_tenant/SKILL.md"} {
			anonymous.call(t, request, `{}`).expect(t, 401, "CE-006", `{"errorCode":"UNAUTHENTICATED"}`)
		}
	})
}

func TestDiscoverySearch(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const common = `"public":true,"tenant_id":"$","purpose":"Glaze the ceramic tiles"`
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$a.b_c",` + common +
				`,"display_name":"Glaze $","version":"1.2.0","capabilities":["glaze"],` +
				`"labels":{"team":"$"},"example_queries":["glaze tiles","tile glazing","c","d","e","f"]}`},
			{"agent", `{"agent_id":"$.agent",` + common +
				`,"agent_card":{"name":"x","description":"d","version":"1","url":"https://a","skills":[]},"domain":"$","example_queries":["only one"]}`},
			{"tool", `{"tool_id":"$.s.server",` + common + `,"server_json":{"name":"$/s"},"status":"deprecated"}`},
			{"skill", `{"skill_id":"$g.one","public":true,"purpose":"Glaze the ceramic tiles","domain":"$g"}`},
			{"skill", `{"skill_id":"$a.hidden","tenant_id":"$","purpose":"Glaze the ceramic tiles","labels":{"team":"$"}}`},
		}...)
		const search, source, begin = "POST /search?tenant_id=$", `"source":"https://cairn.example.com/"`,
			`"identifier":"urn:air:example.com:`
		find := func(filter, members string) string {
			return `{"query":{"text":"glaze the ceramic tiles","filter":` + filter + `}` + members + `}`
		}
		const skill, agent, server, global = begin + `tenant:$:skill:$a.b_c"`, begin + `tenant:$:agent:$.agent"`,
			begin + `tenant:$:server:$.s.server"`, begin + `skill:$g.one"`
		only := func(entry string) string { return `{"results":[{` + entry + `}]}` }
		c.rows(t, []row{
			{"a skill", search, find(`{"displayName":"glaze $"}`, ``), 200, "",
				only(skill + `,` + source + `,"displayName":"Glaze $",` +
					`"type":"application/ai-skill+md","url":"https://cairn.example.com/ard/tenants/$/skills/$a.b_c/SKILL.md","version":"1.2.0",` +
					`"capabilities":["glaze"],"tags":["$a"],"metadata":{"team":"$"},"description":"Glaze the ceramic tiles",` +
					`"representativeQueries":["glaze tiles","tile glazing","c","d","e"]`)},
			{"an agent", search, find(`{"tags":["x","$"]}`, ``), 200, "",
				only(agent + `,"displayName":"$.agent","type":"application/a2a-agent-card+json","data":{"name":"x"}`)},
			{"an MCP server", search, find(`{"identifier":["urn:air:example.com:tenant:$:server:$.s.server"]}`, ``), 200, "",
				only(server + `,"type":"application/mcp-server-card+json","data":{"name":"$/s"},"status":"deprecated"`)},
			{"a global skill", search, find(`{"tags":["$g"]}`, ``), 200, "",
				only(global + `,"url":"https://cairn.example.com/ard/skills/$g.one/SKILL.md"`)},
			{"without the tenant", "POST /search", find(`{"tags":["$g","$"]}`, ``), 200, "", only(global)},
			{"records that are not public are not found", search, find(`{"metadata.team":["$"]}`, ``), 200, "", only(skill)},
			{"by type", search, find(`{"type":["application/a2a-agent-card+json","text/plain"],"tags":"$"}`, ``), 200, "",
				only(agent)},
			{"by version", search, find(`{"version":["1.2.0"],"metadata.team":"$"}`, ``), 200, "", only(skill)},
			{"by capability", search, find(`{"capabilities":["glaze","x"],"metadata.team":"$"}`, ``), 200, "", only(skill)},
			{"by status", search, find(
				`{"status":["deprecated"],"identifier":["urn:air:example.com:tenant:$:server:$.s.server"]}`, ``), 200, "",
				only(server)},
			{"by publisher", search, find(`{"publisher":["Example.com"],"metadata.team":"$"}`, ``), 200, "", only(skill)},
			{"another publisher", search, find(`{"publisher":["example.org"]}`, ``), 200, `{"results":[]}`, ""},
			{"another type", search, find(`{"type":["text/plain"]}`, ``), 200, `{"results":[]}`, ""},
			{"an identifier of another publisher", search, find(`{"identifier":["urn:air:example.org:skill:$g.one"]}`, ``), 200,
				`{"results":[]}`, ""},
			{"an identifier of another scope", search, find(`{"identifier":["urn:air:example.com:skill:$a.b_c"]}`, ``), 200,
				`{"results":[]}`, ""},
			{"two conditions", search, find(`{"version":["1.2.0"],"tags":["$"]}`, ``), 200, `{"results":[]}`, ""},
			{"referrals", search, find(`{"type":"x"}`, `,"federation":"referrals"`), 200, `{"results":[],"referrals":[]}`, ""},
			{"its own index", search, find(`{"type":"x"}`, `,"federation":"none"`), 200, `{"results":[]}`, ""},

			{"no query", search, `{}`, 400, "CE-001 query.text", `{"errorCode":"INVALID_ARGUMENT"}`},
			{"no text", search, `{"query":{"filter":{}}}`, 400, "CE-001 query.text", ""},
			{"an invalid text", search, `{"query":{"text":1}}`, 400, "CE-001 query.text", ""},
			{"an invalid query", search, `{"query":"q"}`, 400, "CE-001 query", ""},
			{"an unknown path", search, find(`{"host.displayName":"x"}`, ``), 400, "CE-001 query.filter.host.displayName", ""},
			{"a label without a name", search, find(`{"metadata.":"x"}`, ``), 400, "CE-001 query.filter.metadata.", ""},
			{"an invalid filter", search, find(`["x"]`, ``), 400, "CE-001 query.filter", ""},
			{"a value that is no text", search, find(`{"tags":1}`, ``), 400, "CE-001 query.filter.tags", ""},
			{"values that are no texts", search, find(`{"tags":[1]}`, ``), 400, "CE-001 query.filter.tags[0]", ""},
			{"no values", search, find(`{"tags":[]}`, ``), 400, "CE-001 query.filter.tags", ""},
			{"an empty value", search, find(`{"tags":[""]}`, ``), 400, "CE-001 query.filter.tags[0]", ""},
			{"an unknown federation", search, find(`{}`, `,"federation":"all"`), 400, "CE-001 federation", ""},
			{"a page of 0", search, find(`{}`, `,"pageSize":0`), 400, "CE-001 pageSize", ""},
			{"a page of 101", search, find(`{}`, `,"pageSize":101`), 400, "CE-001 pageSize", ""},
			{"an invalid page token", search, find(`{}`, `,"pageToken":"x"`), 400, "CE-001 pageToken", ""},
			{"an unknown member", search, find(`{}`, `,"page":1`), 400, "CE-001 page", ""},
			{"an unknown member of the query", search, `{"query":{"text":"a","txt":"b"}}`, 400, "CE-001 query.txt", ""},
			{"a member twice", search, `{"query":{"text":"a","text":"b"}}`, 400, "CE-001 query.text", ""},
			{"no JSON", search, `{`, 400, "CE-001", `{"errorCode":"INVALID_ARGUMENT"}`},
			{"another parameter", "POST /search?tenant=$", find(`{}`, ``), 400, "CE-001 tenant", ""},
			{"exploration is optional", "POST /explore", `{}`, 501, "CE-005", `{"errorCode":"UNIMPLEMENTED"}`},
			{"the contract's route is another one", "POST /search/playbooks", `{}`, 501, "CE-005", ""},

			{"the SKILL.md of another id", "GET /ard/skills/$/SKILL.md", "", 400, "CE-001 skill_id",
				`{"errorCode":"INVALID_ARGUMENT"}`},
			{"an invalid tenant", "GET /ard/tenants/_global/skills/$g.one/SKILL.md", "", 400, "CE-001 tenant_id", ""},
			{"of a global skill in a tenant", "GET /ard/tenants/$/skills/$g.one/SKILL.md", "", 404, "CE-081", ""},
			{"of a skill that is not public", "GET /ard/tenants/$/skills/$a.hidden/SKILL.md", "", 404, "CE-081", ""},
		})
	})
}

// TestDiscoveryPages reads all pages of a search and of the listing: each entry is on one of them.
func TestDiscoveryPages(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const records = 12
		for i := range records {
			c.put(t, [2]string{"skill",
				fmt.Sprintf(`{"skill_id":"$.s%d","public":true,"tenant_id":"$","purpose":"Solder circuit number %d"}`, i, i)},
				[2]string{"agent", fmt.Sprintf(
					`{"agent_id":"$.a%d","public":true,"tenant_id":"$","purpose":"Solder circuit","agent_card":{"name":"n","description":"d","version":"1","url":"https://a","skills":[]}}`, i)})
		}
		type page struct {
			Results, Items entries
			Token          string `json:"pageToken"`
		}
		read := func(request, body string) (p page) {
			c.do(t, request, body).decode(t, &p)
			return p
		}
		seen := func(pages func(token string) page) (count map[string]int) {
			count = map[string]int{}
			for token := ""; ; {
				p := pages(token)
				for _, e := range append(p.Results, p.Items...) {
					if strings.Contains(e.Identifier, c.named(":tenant:$:")) {
						count[e.Identifier]++
					}
				}
				if token = p.Token; token == "" {
					return count
				}
			}
		}
		for name, got := range map[string]map[string]int{
			"search": seen(func(token string) page {
				return read("POST /search?tenant_id=$",
					fmt.Sprintf(`{"query":{"text":"solder circuit"},"pageSize":5,"pageToken":%q}`, token))
			}),
			"listing": seen(func(token string) page {
				return read("GET /agents?tenant_id=$&pageSize=7&pageToken="+url.QueryEscape(token), "")
			}),
		} {
			if len(got) != 2*records {
				t.Errorf("%s: got %d entries, want %d", name, len(got), 2*records)
			}
			for identifier, n := range got {
				if n != 1 {
					t.Errorf("%s: %s is on %d pages", name, identifier, n)
				}
			}
		}
		first := read("POST /search?tenant_id=$", `{"query":{"text":"solder circuit"},"pageSize":5}`)
		c.rows(t, []row{
			{"a page token belongs to its query", "POST /search?tenant_id=$",
				`{"query":{"text":"solder"},"pageToken":"` + first.Token + `"}`,
				400, "CE-001 pageToken", ""},
			{"and tenant", "POST /search", `{"query":{"text":"solder circuit"},"pageToken":"` + first.Token + `"}`, 400,
				"CE-001 pageToken", ""},
			{"an invalid page token of a listing", "GET /agents?pageToken=x", "", 400, "CE-001 pageToken",
				`{"errorCode":"INVALID_ARGUMENT"}`},
			{"with another kind", "GET /agents?pageToken=template.global.", "", 400, "CE-001 pageToken", ""},
			{"with another scope", "GET /agents?pageToken=skill.tenant.", "", 400, "CE-001 pageToken", ""},
			{"with another cursor", "GET /agents?pageToken=skill.global.!", "", 400, "CE-001 cursor", ""},
			{"a page of 0", "GET /agents?pageSize=0", "", 400, "CE-001 pageSize", ""},
			{"a filter", "GET /agents?filter=type%3Dx", "", 400, "CE-001 filter", ""},
			{"an order", "GET /agents?orderBy=displayName", "", 400, "CE-001 orderBy", ""},
			{"another parameter", "GET /agents?limit=1", "", 400, "CE-001 limit", ""},
		})
	})
}

// ardVariable is a checkout of github.com/ards-project/ard-spec.
const ardVariable = "CAIRN_TEST_ARD"

// TestRealDiscoveryConformance runs the conformance tool of the specification, which needs
// python3 and, to compare with the JSON Schema, its package jsonschema.
func TestRealDiscoveryConformance(t *testing.T) {
	checkout := os.Getenv(ardVariable)
	if checkout == "" {
		t.Skip("needs " + ardVariable + ", the directory of the conformance tool")
	}
	t.Parallel()
	c := newClient(t, open(t, topologies[0], usual))
	c.put(t, [][2]string{
		{"skill", `{"skill_id":"$.forecast","public":true,"purpose":"Report the weather forecast","example_queries":["a","b"],"labels":{"a":"b"}}`},
		{"agent", `{"agent_id":"$/_Ünï","public":true,"purpose":"Weather forecasts","agent_card":{"name":"x","description":"d","version":"1","url":"https://a","skills":[]}}`},
		{"tool", `{"tool_id":"$.s.server","public":true,"purpose":"Weather forecast tools","server_json":{"name":"$/s"}}`},
	}...)
	c.awaitCatalog(t, "the record is in the catalog", func(e entries) bool {
		return e.has(c.named("urn:air:example.com:skill:$.forecast"))
	})
	for _, args := range [][]string{{"manifest", c.base + "/.well-known/ai-catalog.json"},
		{"manifest", c.base + "/.well-known/ard.json"},
		{"registry", c.base}} {
		out, err := exec.CommandContext(t.Context(), "python3",
			append([]string{filepath.Join(checkout, "conformance/bin/conformance-test")}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
		t.Logf("%s\n%s", args[0], out)
	}
}
