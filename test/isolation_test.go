package test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
	"cairn/test/wait"
)

// probe is a request of another tenant ($2) for data of the owner ($). The owner's
// data contain a secret word, #.
type probe struct {
	request, body string
	onNATS        string // NATS body, if the HTTP request has its parameters in the URL
	status        int    // expected for the other tenant
	shown         bool   // the same request of the owner returns the secret
}

// probes has at least one probe for every route of the edge, in the order of the
// route names.
var probes = map[string][]probe{
	"GET /health":              {{request: "GET /health", status: 200}},
	"GET /":                    {{request: "GET /", status: 404}},
	"GET /identity":            {{request: "GET /identity", status: 200}},
	"GET /asyncapi.json":       {{request: "GET /asyncapi.json", status: 200}},
	"GET /openapi.json":        {{request: "GET /openapi.json", status: 200}},
	"GET /docs":                {{request: "GET /docs", status: 200}},
	"GET /docs/reference":      {{request: "GET /docs/reference", status: 200}},
	"GET /docs/search":         {{request: "GET /docs/search?q=$", status: 200}},
	"GET /docs/images/{image}": {{request: "GET /docs/images/console-search.png", status: 200}},
	"GET /docs/{page}":         {{request: "GET /docs/concepts", status: 200}},
	"GET /health/live":         {{request: "GET /health/live", status: 200}},
	"GET /health/ready":        {{request: "GET /health/ready", status: 200}},
	"GET /metrics":             {{request: "GET /metrics", status: 403}},

	"GET /console/{build}/{file}": {{request: "GET /console/$/app.js", status: 200}},

	"GET /.well-known/oauth-protected-resource": {{request: "GET /.well-known/oauth-protected-resource", status: 404}},
	"GET /.well-known/oauth-protected-resource/mcp": {{request: "GET /.well-known/oauth-protected-resource/mcp",
		status: 404}},

	// The catalog has global records only.
	"GET /.well-known/ai-catalog.json":    {{request: "GET /.well-known/ai-catalog.json", status: 200}},
	"GET /.well-known/ard.json":           {{request: "GET /.well-known/ard.json", status: 200}},
	"GET /ard/skills/{skill_id}/SKILL.md": {{request: "GET /ard/skills/$.s.r2/SKILL.md", status: 404}},
	"GET /ard/tenants/{tenant_id}/skills/{skill_id}/SKILL.md": {
		{request: "GET /ard/tenants/$/skills/$.s.r2/SKILL.md", status: 403, shown: true},
		{request: "GET /ard/tenants/$2/skills/$.s.r2/SKILL.md", status: 404}},
	"POST /search": {{request: "POST /search", body: `{"query":{"text":"#"}}`, status: 200, shown: true},
		{request: "POST /search",
			body:   `{"query":{"text":"#","filter":{"identifier":["urn:air:example.com:tenant:$:skill:$.s.r2"]}}}`,
			status: 200, shown: true},
		{request: "POST /search?tenant_id=$", body: `{"query":{"text":"#"}}`, status: 403, shown: true}},
	"GET /agents": {{request: "GET /agents", status: 200, shown: true},
		{request: "GET /agents?pageToken=skill.tenant.", status: 200, shown: true},
		{request: "GET /agents?tenant_id=$", status: 403, shown: true}},
	"POST /explore": {{request: "POST /explore", body: "{}", status: 501}},

	"GET /tags/{request_id}": {{request: "GET /tags/$", onNATS: `{"request_id":"$"}`, status: 404, shown: true},
		{request: "GET /tags/$?tenant_id=$", onNATS: `{"request_id":"$","tenant_id":"$"}`, status: 403, shown: true}},
	"GET /tags": {{request: "GET /tags", onNATS: "{}", status: 200, shown: true},
		{request: "GET /tags?tenant_id=$", onNATS: `{"tenant_id":"$"}`, status: 403, shown: true}},
	"DELETE /tags/{request_id}": {{request: "DELETE /tags/$", onNATS: `{"request_id":"$"}`, status: 204}},
	"POST /tags/write": {{request: "POST /tags/write", body: `{"request_id":"$","flow":"f","tags":{}}`, status: 201},
		{request: "POST /tags/write", body: `{"request_id":"$","flow":"f","tags":{},"tenant_id":"$"}`, status: 403}},

	"POST /register/skill":           registers("skill_id", "record"),
	"POST /register/agent":           registers("agent_id", "agent_data"),
	"POST /register/tool":            registers("tool_id", "tool_data"),
	"POST /register/context_builder": registers("context_builder_id", "cb_data"),
	"POST /register/guardrail":       registers("guardrail_id", "guardrail_data"),
	"POST /register/template":        registers("template_id", "template_data"),
	"POST /register/reindex":         {{request: "POST /register/reindex", body: "{}", status: 403}},
	"DELETE /register/{kind}/{id}": {{request: "DELETE /register/skill/$.s.r", onNATS: `{"kind":"skill","id":"$.s.r"}`,
		status: 204},
		{request: "DELETE /register/skill/$.s.r?tenant_id=$", onNATS: `{"kind":"skill","id":"$.s.r","tenant_id":"$"}`,
			status: 403}},

	"POST /resolve/skill": {{request: "POST /resolve/skill", body: `{"skill_id":"$.s.r","explain":true}`, status: 404,
		shown: true},
		{request: "POST /resolve/skill", body: `{"skill_id":"$.s.r@1.0.0"}`, status: 404, shown: true},
		{request: "POST /resolve/skill", body: `{"query":"#","explain":true}`, status: 404, shown: true},
		{request: "POST /resolve/skill", body: `{"query":"#","filter":{"labels":{"of":"$"}}}`, status: 404, shown: true},
		{request: "POST /resolve/skill", body: `{"query":"#","tenant_id":"$"}`, status: 403, shown: true}},
	"GET /packages/{skill_id}": {
		{request: "GET /packages/$.s.r?explain=true", onNATS: `{"skill_id":"$.s.r","explain":true}`, status: 404,
			shown: true},
		{request: "GET /packages/$.s.r?tenant_id=$", onNATS: `{"skill_id":"$.s.r","tenant_id":"$"}`, status: 403,
			shown: true}},
	"POST /resolve/agent": {{request: "POST /resolve/agent", body: `{"query":"#","explain":true}`, status: 404,
		shown: true}},
	"POST /resolve/context": {{request: "POST /resolve/context", body: `{"skill_id":"$.s.r"}`, status: 404,
		shown: true}},
	"POST /resolve/context_builders": {{request: "POST /resolve/context_builders", body: `{"skill_id":"$.s.r"}`,
		status: 404, shown: true}},
	"POST /resolve/tools": {{request: "POST /resolve/tools", body: `{"tool_ids":["$.s.r"]}`, status: 404,
		shown: true}},
	"POST /resolve/tool_class": {{request: "POST /resolve/tool_class", body: `{"tool_class":"$"}`, status: 404,
		shown: true}},
	"POST /resolve/template": {{request: "POST /resolve/template", body: `{"skill_id":"$.s.r"}`, status: 404,
		shown: true}, {request: "POST /resolve/template", body: `{"template_id":"$.s.r"}`, status: 404, shown: true}},
	"POST /resolve/guardrail": {{request: "POST /resolve/guardrail", body: `{"skill_id":"$.s.r"}`, status: 404,
		shown: true}},
	"POST /mcp":   mcpProbes,
	"GET /skills": lists("/skills"),
	"GET /tools":  lists("/tools"),

	"POST /records": {
		{request: "POST /records", body: `{"kind":"skill","record":{"skill_id":"$.s.r","of":"2"}}`,
			onNATS: `{"records":[{"kind":"skill","record":{"skill_id":"$.s.r","of":"2"}}]}`, status: 200},
		{request: "POST /records", body: `{"kind":"skill","record":{"skill_id":"$.s.r","tenant_id":"$"}}`,
			onNATS: `{"records":[{"kind":"skill","record":{"skill_id":"$.s.r","tenant_id":"$"}}]}`, status: 200},
		{request: "POST /records?tenant_id=$", body: `{"kind":"skill","record":{"skill_id":"$.s.r"}}`,
			onNATS: `{"tenant_id":"$","records":[{"kind":"skill","record":{"skill_id":"$.s.r"}}]}`, status: 200},
		{request: "POST /records", body: `{"kind":"skill","record":{"skill_id":"$.s.r","tenant_id":null}}`,
			onNATS: `{"records":[{"kind":"skill","record":{"skill_id":"$.s.r","tenant_id":null}}]}`, status: 200},
		{request: "POST /records", body: `{"kind":"skill","record":{"skill_id":"$.s.x","tool_ids":["$.s.r2"]}}`,
			onNATS: `{"records":[{"kind":"skill","record":{"skill_id":"$.s.x","tool_ids":["$.s.r2"]}}]}`, status: 200},
		{request: "DELETE /records/skill/$.s.x", onNATS: `{"kind":"skill","id":"$.s.x"}`, status: 204},
		{request: "DELETE /records/skill/$.s.r", onNATS: `{"kind":"skill","id":"$.s.r"}`, status: 204},
	},
	"POST /records/search": {
		{request: "POST /records/search", body: `{"query":"#","limit":100}`, status: 200, shown: true},
		{request: "POST /records/search", body: `{"query":"#","kinds":["tool"],"any":{"ids":["$.s.r"]}}`, status: 200,
			shown: true},
		{request: "POST /records/search", body: `{"query":"#","kinds":["guardrail"]}`, status: 200, shown: true},
		{request: "POST /records/search", body: `{"query":"#","kinds":["template"],"explain":true}`, status: 200,
			shown: true},
		{request: "POST /records/search", body: `{"query":"#","scope":"tenant","filter":{"public":true}}`, status: 200,
			shown: true},
		{request: "POST /records/search", body: `{"query":"#","tenant_id":"$"}`, status: 403, shown: true},
	},
	"GET /records/{kind}": {
		{request: "GET /records/tool?domain=$", onNATS: `{"kind":"tool","domain":"$"}`, status: 200, shown: true},
		{request: "GET /records/tool?domain=$&scope=tenant", onNATS: `{"kind":"tool","domain":"$","scope":"tenant"}`,
			status: 200, shown: true},
		{request: "GET /records/skill?prefix=$&status=active", onNATS: `{"kind":"skill","prefix":"$","status":"active"}`,
			status: 200, shown: true},
		{request: "GET /records/skill?public=true", onNATS: `{"kind":"skill","public":true}`, status: 200, shown: true},
		{request: "GET /records/skill?labels=of%3D$", onNATS: `{"kind":"skill","labels":"of=$"}`, status: 200, shown: true},
		{request: "GET /records/tool?cursor=~", onNATS: `{"kind":"tool","cursor":"~"}`, status: 200, shown: true},
		{request: "GET /records/tool?tenant_id=$", onNATS: `{"kind":"tool","tenant_id":"$"}`, status: 403, shown: true},
	},
	"GET /records/{kind}/{id}": reads("skill", "agent", "tool", "context_builder", "guardrail", "template"),
	"GET /v0.1/servers": {
		{request: "GET /v0.1/servers", status: 200, shown: true},
		{request: "GET /v0.1/servers?tenant_id=$", status: 403, shown: true},
	},
	"GET /v0.1/servers/{serverName}/versions": {
		{request: "GET /v0.1/servers/$%2Fs/versions", status: 404, shown: true},
		{request: "GET /v0.1/servers/$%2Fs/versions?tenant_id=$", status: 403, shown: true},
	},
	"GET /v0.1/servers/{serverName}/versions/{version}": {
		{request: "GET /v0.1/servers/$%2Fs/versions/latest", status: 404, shown: true},
	},
	"GET /agents/{id}/card": {
		{request: "GET /agents/$.s.r/card", status: 404, shown: true},
		{request: "GET /agents/$.s.r/card?scope=tenant", status: 404, shown: true},
		{request: "GET /agents/$.s.r/card?tenant_id=$", status: 403, shown: true},
	},
	"GET /.well-known/agent-card.json": {{request: "GET /.well-known/agent-card.json", status: 200}},
	"POST /a2a": {
		{request: "POST /a2a", body: agentCall("GetTask", `{"id":"¤"}`), status: 200, shown: true},
		{request: "POST /a2a", body: agentCall("GetTask", `{"id":"¤","tenant":"$"}`), status: 200, shown: true},
		{request: "POST /a2a", body: agentCall("ListTasks", `{"includeArtifacts":true}`), status: 200, shown: true},
		{request: "POST /a2a", body: agentCall("ListTasks", `{"includeArtifacts":true,"tenant":"$"}`), status: 200,
			shown: true},
		{request: "POST /a2a", body: agentCall("SubscribeToTask", `{"id":"¤"}`), status: 200},
		{request: "POST /a2a", body: agentCall("CancelTask", `{"id":"¤"}`), status: 200},
		{request: "POST /a2a", body: agentCall("SendMessage", agentMessage(`{"text":"#"},{"data":[]}`, `,"taskId":"¤"`)),
			status: 200},
		{request: "POST /a2a", body: agentCall("GetTask", `{"id":"¤"}`), status: 200, shown: true}, // it was not canceled
	},
	// TestAudit compares the entries.
	"GET /audit": {
		{request: "GET /audit", onNATS: `{}`, status: 200},
		{request: "GET /audit?id=$.s.r", onNATS: `{"id":"$.s.r"}`, status: 200},
		{request: "GET /audit?tenant_id=$", onNATS: `{"tenant_id":"$"}`, status: 403},
	},
	// TestRunsOfAnotherTenant compares the lists.
	"GET /runs": {{request: "GET /runs", onNATS: `{}`, status: 200}},
	"GET /records/{kind}/{id}/referrers": {
		{request: "GET /records/tool/$.s.r/referrers", onNATS: `{"kind":"tool","id":"$.s.r"}`, status: 200, shown: true},
		{request: "GET /records/tool/$.s.r/referrers?tenant_id=$", onNATS: `{"kind":"tool","id":"$.s.r","tenant_id":"$"}`,
			status: 403, shown: true},
	},
	"GET /records/{kind}/{id}/aliases": {
		{request: "GET /records/skill/$.s.r/aliases", onNATS: `{"kind":"skill","id":"$.s.r"}`, status: 404},
		{request: "GET /records/skill/$.s.r/aliases?tenant_id=$", onNATS: `{"kind":"skill","id":"$.s.r","tenant_id":"$"}`,
			status: 403},
	},
	"PUT /records/{kind}/{id}/aliases/{name}": {
		{request: "PUT /records/skill/$.s.r/aliases/x", onNATS: `{"kind":"skill","id":"$.s.r","name":"x"}`, status: 404},
		{request: "PUT /records/skill/$.s.r/aliases/x?tenant_id=$",
			onNATS: `{"kind":"skill","id":"$.s.r","name":"x","tenant_id":"$"}`, status: 403},
	},
	"DELETE /records/{kind}/{id}/aliases/{name}": {
		{request: "DELETE /records/skill/$.s.r/aliases/x", onNATS: `{"kind":"skill","id":"$.s.r","name":"x"}`, status: 204},
		{request: "DELETE /records/skill/$.s.r/aliases/x?tenant_id=$",
			onNATS: `{"kind":"skill","id":"$.s.r","name":"x","tenant_id":"$"}`, status: 403},
	},
	"GET /records/{kind}/{id}/usage": {
		{request: "GET /records/skill/$.s.r/usage", onNATS: `{"kind":"skill","id":"$.s.r"}`, status: 404},
		{request: "GET /records/skill/$.s.r/usage?tenant_id=$", onNATS: `{"kind":"skill","id":"$.s.r","tenant_id":"$"}`,
			status: 403},
	},
	// TestTenantList compares the lists.
	"GET /tenants": {
		{request: "GET /tenants?prefix=$", onNATS: `{"prefix":"$"}`, status: 200},
	},
	// TestQuotaOfAnotherTenant compares the figures.
	"GET /quota/records": {
		{request: "GET /quota/records", onNATS: `{}`, status: 200},
		{request: "GET /quota/records?tenant_id=$", onNATS: `{"tenant_id":"$"}`, status: 403},
	},
	"GET /quota/tags": {
		{request: "GET /quota/tags", onNATS: `{}`, status: 200},
		{request: "GET /quota/tags?tenant_id=$", onNATS: `{"tenant_id":"$"}`, status: 403},
	},
	"GET /records/{kind}/{id}/history": {
		{request: "GET /records/skill/$.s.r/history", onNATS: `{"kind":"skill","id":"$.s.r"}`, status: 404},
		{request: "GET /records/skill/$.s.r/history?tenant_id=$", onNATS: `{"kind":"skill","id":"$.s.r","tenant_id":"$"}`,
			status: 403},
	},
	// TestWatchOfAnotherTenant watches the changes of other tenants.
	"GET /watch": {{request: "GET /watch?tenant_id=$", status: 403},
		{request: "GET /watch?tenant_id=$&after=1&scope=tenant", status: 403}},
	"PUT /records/{kind}/{id}": {
		{request: "PUT /records/skill/$.s.r", body: `{"of":"2"}`, onNATS: `{"kind":"skill","id":"$.s.r","record":{"of":"2"}}`,
			status: 200},
		{request: "PUT /records/skill/$.s.r", body: `{"tenant_id":"$"}`,
			onNATS: `{"kind":"skill","id":"$.s.r","record":{"tenant_id":"$"}}`, status: 403},
		{request: "PUT /records/skill/$.s.r", body: `{"tenant_id":null}`,
			onNATS: `{"kind":"skill","id":"$.s.r","record":{"tenant_id":null}}`, status: 403},
		{request: "PUT /records/skill/$.s.r?tenant_id=$", body: `{}`,
			onNATS: `{"kind":"skill","id":"$.s.r","tenant_id":"$","record":{}}`, status: 403},
		{request: "DELETE /records/skill/$.s.r", onNATS: `{"kind":"skill","id":"$.s.r"}`, status: 204},
	},
	"DELETE /records/{kind}/{id}": {{request: "DELETE /records/skill/$.s.r", onNATS: `{"kind":"skill","id":"$.s.r"}`,
		status: 204},
		{request: "DELETE /records/skill/$.s.r?tenant_id=$", onNATS: `{"kind":"skill","id":"$.s.r","tenant_id":"$"}`,
			status: 403}},

	"POST /search/playbooks":         {{request: "POST /search/playbooks", body: "{}", status: 501}},
	"POST /answer/knowledge":         {{request: "POST /answer/knowledge", body: "{}", status: 501}},
	"POST /resolve/domain_knowledge": {{request: "POST /resolve/domain_knowledge", body: "{}", status: 501}},

	"POST /api/v1/analyze": {{request: "POST /api/v1/analyze",
		body:   question(text(script{Say: "x", Tell: true}), `[{"a":1}]`),
		status: 200}},
	"GET /api/v1/analyze/{run}":    {{request: "GET /api/v1/analyze/~", status: 404, shown: true}},
	"DELETE /api/v1/analyze/{run}": {{request: "DELETE /api/v1/analyze/~", status: 204}},
}

// registers returns the probes of a registration: the same id in the caller's own
// tenant, in the owner's, and in the global scope.
func registers(id, wrapper string) []probe {
	kind := strings.TrimSuffix(id, "_id")
	record := func(tenant string) string { return `{"` + wrapper + `":{"` + id + `":"$.s.r","of":"2"` + tenant + `}}` }
	return []probe{
		{request: "POST /register/" + kind, body: record(""), status: 200},
		{request: "POST /register/" + kind, body: record(`,"tenant_id":"$"`), status: 403},
		{request: "POST /register/" + kind, body: record(`,"tenant_id":null`), status: 403},
		{request: "DELETE /register/" + kind + "/$.s.r", onNATS: `{"kind":"` + kind + `","id":"$.s.r"}`, status: 204},
	}
}

// reads returns the probes of a read of one record of each kind.
func reads(kinds ...string) (list []probe) {
	for _, kind := range kinds {
		list = append(list,
			probe{request: "GET /records/" + kind + "/$.s.r", onNATS: `{"kind":"` + kind + `","id":"$.s.r"}`, status: 404,
				shown: true},
			probe{request: "GET /records/" + kind + "/$.s.r?tenant_id=$",
				onNATS: `{"kind":"` + kind + `","id":"$.s.r","tenant_id":"$"}`,
				status: 403, shown: true})
	}
	return append(list, probe{request: "GET /records/skill/$.s.r?revision=^",
		onNATS: `{"kind":"skill","id":"$.s.r","revision":"^"}`,
		status: 404, shown: true})
}

// lists returns the probes of a listing; ~ is a cursor of the owner.
func lists(path string) []probe {
	return []probe{
		{request: "GET " + path + "?domain=$", onNATS: `{"domain":"$"}`, status: 200, shown: true},
		{request: "GET " + path + "?cursor=~", onNATS: `{"cursor":"~"}`, status: 200, shown: true},
		{request: "GET " + path + "?tenant_id=$", onNATS: `{"tenant_id":"$"}`, status: 403, shown: true},
	}
}

// TestTenantIsolation sends one tenant's requests for another's data to every
// route over HTTP and NATS: no answer contains or changes it, or reveals whether it
// exists.
func TestTenantIsolation(t *testing.T) {
	// Random names of another test's global records may resemble the secret.
	isolated(t, *authenticated, func(t *testing.T, c *client) {
		owner := newOwner(t, c)
		other := owner.withRole(t, schemas.RoleRegistrar, "$2")
		analyst := owner.withRole(t, schemas.RoleAnalyst, "$2")
		for _, r := range routesOf(t, c) {
			if probes[r.String()] == nil {
				t.Errorf("%s has no isolation probe", r)
			}
			caller := other
			if strings.HasPrefix(r.path, "/api/") || strings.HasPrefix(r.path, "/a2a") || r.path == "/runs" {
				caller = analyst
			}
			for _, p := range probes[r.String()] {
				owner.overHTTP(t, caller, p)
				owner.overNATS(t, r, p)
				owner.unchanged(t, p)
				owner.indistinguishable(t, caller, p)
			}
		}
	})
}

// TestRunsOfAnotherTenant checks that a credential lists only the runs of its tenants, and that a
// credential for all tenants lists all runs in pages.
func TestRunsOfAnotherTenant(t *testing.T) {
	isolated(t, *authenticated, func(t *testing.T, c *client) {
		type page struct {
			Runs []schemas.RunSummary `json:"runs"`
			Next string               `json:"next_cursor"`
		}
		list := func(caller *client, query string) (p page) {
			t.Helper()
			caller.do(t, "GET /runs"+query, "").decode(t, &p)
			return p
		}
		tenants := []*client{c.withRole(t, schemas.RoleAnalyst, "$"), c.withRole(t, schemas.RoleAnalyst, "$2")}
		var runs []string
		for _, caller := range tenants {
			s := caller.follow(t, question(text(script{Say: "a "}), `[{"a":1}]`))
			s.until(t, "a ")
			runs = append(runs, s.res.Header.Get("Cairn-Run"))
		}
		for i, caller := range tenants {
			wait.Until(t, "the run has ended", func() bool { return len(list(caller, "?state=done").Runs) == 1 })
			if got := list(caller, ""); len(got.Runs) != 1 || got.Runs[0].Run != runs[i] ||
				got.Runs[0].State != schemas.RunDone || got.Next != "" {
				t.Errorf("tenant %d lists %+v, want %s", i, got, runs[i])
			}
			if got := list(caller, "?state=running"); len(got.Runs) != 0 {
				t.Errorf("tenant %d lists running %+v", i, got)
			}
		}
		all := list(c, "?limit=20")
		for p := all; p.Next != ""; {
			p = list(c, "?limit=20&cursor="+p.Next)
			all.Runs = append(all.Runs, p.Runs...)
		}
		index := func(run string) int {
			return slices.IndexFunc(all.Runs, func(r schemas.RunSummary) bool { return r.Run == run })
		}
		if first, second := index(runs[0]), index(runs[1]); first < 0 || second < 0 || first < second {
			t.Errorf("runs of all tenants, the latest first: %d and %d of %+v", first, second, all.Runs)
		}
		c.withRole(t, schemas.RoleReader, "$").call(t, "GET /runs", "").expect(t, 403, "CE-007", "")
		c.call(t, "GET /runs?state=gone", "").expect(t, 400, "CE-001 state", "")
		c.call(t, "GET /runs?cursor=x", "").expect(t, 400, "CE-001 cursor", "")
	})
}

// owner is a tenant whose data contain a secret.
type owner struct {
	*client
	secret  string
	mine    *client
	run     *stream
	task    string            // id, of A2A
	written string            // revision of the skill $.s.r
	cursors map[string]string // by listing path
}

func newOwner(t *testing.T, c *client) *owner {
	t.Helper()
	o := &owner{client: c, secret: word(), cursors: map[string]string{}}
	mine := c.withRole(t, schemas.RoleAdmin, "$")
	o.mine = mine
	secret := func(text string) string { return strings.ReplaceAll(text, "#", o.secret) }
	for _, record := range [][2]string{
		{"skill", `{"skill_id":"$.s.r","version":"1.0.0","purpose":"#","labels":{"of":"$"},"resources":[{"path":"a/b.txt","text":"#"},{"path":"#.txt","text":"x"}],"context_builder_ids":["$.s.r"],"tool_ids":["$.s.r"],"guardrail_ids":["$.s.r"],"template_id":"$.s.r"}`},
		{"skill", `{"skill_id":"$.s.r2","name":"#","purpose":"# #","public":true}`},
		{"skill", `{"skill_id":"$.s.#","tool_ids":["$.s.r"]}`},
		{"agent",
			`{"agent_id":"$.s.r","capabilities":["#"],"agent_card":{"name":"#","description":"d","version":"1","url":"https://a","skills":[]}}`},
		{"tool", `{"tool_id":"$.s.r","tool_class":"$","domain":"$","description":"#"}`},
		{"tool", `{"tool_id":"$.s.r2","tool_class":"$","domain":"$","description":"#"}`},
		{"tool", `{"tool_id":"$.s.server","public":true,"tool_class":"mcp_server","provider":"$/s",` +
			`"server_json":{"name":"$/s","version":"1.0.0","description":"#"}}`},
		{"context_builder", `{"context_builder_id":"$.s.r","instructions":"#"}`},
		{"guardrail", `{"guardrail_id":"$.s.r","description":"#"}`},
		{"template", `{"template_id":"$.s.r","description":"#","body":"#"}`},
	} {
		mine.put(t, [2]string{record[0], secret(record[1])})
	}
	mine.do(t, "POST /tags/write", secret(`{"request_id":"$","flow":"#","tags":{"a":"#"}}`))
	mine.do(t, "POST /tags/write", secret(`{"request_id":"#"}`))
	for _, path := range []string{"/skills", "/tools", "/records/tool"} {
		var page struct {
			Next string `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(mine.do(t, "GET "+path+"?limit=1", "").body), &page); err != nil || page.Next == "" {
			t.Fatalf("no cursor of %s: %v", path, err)
		}
		o.cursors[path] = page.Next
	}
	o.written = mine.do(t, "GET /records/skill/$.s.r", "").header.Get("Cairn-Revision")
	o.run = mine.follow(t, question(text(script{Say: o.secret + " ", Await: o.secret}), `[{"a":"`+o.secret+`"}]`,
		`"on_disconnect":"continue"`))
	o.run.until(t, o.secret+" ")
	o.task = mine.startTask(t, text(script{Say: o.secret + " ", Await: o.secret}))
	t.Cleanup(func() {
		for _, path := range []string{o.run.run(), "/api/v1/analyze/" + o.task} {
			if _, err := mine.try(context.Background(), "DELETE "+path, ""); err != nil {
				t.Errorf("cancel the run: %v", err)
			}
		}
	})
	return o
}

// fill replaces the placeholders of a probe with the owner's values.
func (o *owner) fill(text string) string {
	for path, cursor := range o.cursors {
		if strings.Contains(text, path) {
			text = strings.ReplaceAll(text, "~", cursor)
		}
	}
	text = strings.ReplaceAll(text, "^", o.written)
	text = strings.ReplaceAll(text, "¤", o.task)
	text = strings.ReplaceAll(text, "~", o.run.res.Header.Get("Cairn-Run"))
	return o.named(strings.ReplaceAll(text, "#", o.secret))
}

func (o *owner) overHTTP(t *testing.T, caller *client, p probe) {
	t.Helper()
	a := caller.call(t, o.fill(p.request), o.fill(p.body))
	if a.status != p.status {
		t.Errorf("%s %s: %d %s, want %d", p.request, p.body, a.status, truncated(a.body), p.status)
	}
	o.hidden(t, p.request, a)
}

// hidden fails the test if the answer contains the secret.
func (o *owner) hidden(t *testing.T, received string, a answer) {
	t.Helper()
	var head strings.Builder
	_ = a.header.Write(&head)
	if strings.Contains(a.body+head.String(), o.secret) && !strings.Contains(a.path, o.secret) {
		t.Errorf("%s shows another tenant %s", received, truncated(a.body))
	}
}

var statusCode = regexp.MustCompile(`"status":(\d+)`)

// overNATS sends the probe as an edge does for the other tenant, so that the
// worker authorizes it.
func (o *owner) overNATS(t *testing.T, r route, p probe) {
	t.Helper()
	if r.Subject == "" || strings.Contains(r.Subject, "analyze") || strings.Contains(r.Subject, "watch") {
		return
	}
	msg := nats.NewMsg(r.Subject)
	if strings.HasPrefix(p.request, http.MethodDelete+" /register") {
		msg.Subject = "cairn.register.delete"
	}
	if strings.HasPrefix(p.request, http.MethodDelete+" /records") {
		msg.Subject = "cairn.records.delete"
	}
	body := p.body
	if p.onNATS != "" {
		body = p.onNATS
	}
	msg.Data = []byte(o.fill(strings.ReplaceAll(body, "~", o.cursors[strings.ReplaceAll(r.path, "{kind}", "tool")])))
	role := schemas.RoleRegistrar
	if r.path == "/runs" {
		role = schemas.RoleAnalyst
	}
	msg.Header.Set("Cairn-Identity", o.named(fmt.Sprintf(`{"id":"x","role":%q,"tenants":["$3"]}`, role)))
	reply, err := o.dial(t).RequestMsg(msg, 10*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", msg.Subject, err)
	}
	status := 200
	if code := reply.Header.Get("Nats-Service-Error-Code"); code != "" {
		if match := statusCode.FindSubmatch(reply.Data); match == nil || string(match[1]) != code {
			t.Errorf("%s: %s in the header, and %s", msg.Subject, code, reply.Data)
		}
		status = map[string]int{"404": 404, "403": 403}[code]
	}
	if want := p.status; status != want && (want >= 300 || status != 200) {
		t.Errorf("%s %s: %d %s, want %d", msg.Subject, msg.Data, status, truncated(string(reply.Data)), want)
	}
	if strings.Contains(string(reply.Data), o.secret) {
		t.Errorf("%s %s shows another tenant %s", msg.Subject, msg.Data, truncated(string(reply.Data)))
	}
}

// unchanged checks that the owner still reads its data.
func (o *owner) unchanged(t *testing.T, p probe) {
	t.Helper()
	if !p.shown {
		p = probe{request: "POST /resolve/skill", body: `{"skill_id":"$.s.r"}`}
	}
	if strings.HasPrefix(p.request, "GET /api/") {
		s := o.mine.stream(t, o.fill(p.request), "")
		s.until(t, o.secret+" ")
		s.stop()
		return
	}
	a := o.mine.call(t, o.fill(p.request), o.fill(p.body))
	if a.status != 200 || !strings.Contains(a.body, o.secret) {
		t.Errorf("%s %s: the owner gets %d %s", p.request, p.body, a.status, truncated(a.body))
	}
}

// indistinguishable compares the answer for the owner's data with the answer for
// data that do not exist.
func (o *owner) indistinguishable(t *testing.T, caller *client, p probe) {
	t.Helper()
	// the status is 200
	refusedInside := p.shown && (strings.HasPrefix(p.request, "POST /mcp") || p.request == "POST /a2a")
	if p.status != 404 && p.status != 403 && !refusedInside {
		return
	}
	var there, absent string
	for range 3 { // a random word may resemble a global record
		there, absent = o.answers(t, caller, p)
		if there == absent {
			return
		}
	}
	t.Errorf("%s %s: existing and absent data are distinguishable:\n%s\n%s", p.request, p.body, there, absent)
}

// answers returns the responses to the probe for existing and for absent data, without
// their random words.
func (o *owner) answers(t *testing.T, caller *client, p probe) (there, absent string) {
	t.Helper()
	id, secret := word(), word()
	absentTenant := strings.NewReplacer("$2", o.word+"2", "tenant_id=$", "tenant_id="+id, `"tenant_id":"$`,
		`"tenant_id":"`+id, "$", id, "#",
		secret, "^", o.written, "~", id+"-"+o.word, "¤", o.task[:22]+o.task[:22]+o.task[44:])
	plain := func(a answer, words ...string) string {
		for i := 0; i < len(words); i += 2 {
			a.body = strings.ReplaceAll(a.body, words[i], words[i+1])
		}
		return fmt.Sprint(a.status, " ", a.header.Get("Content-Type"), requestID.ReplaceAllString(a.body, ""))
	}
	run := o.run.res.Header.Get("Cairn-Run")
	there = plain(caller.call(t, o.fill(p.request), o.fill(p.body)), o.task, "¤", run, "~", o.word, "$", o.secret, "#")
	absent = plain(caller.call(t, absentTenant.Replace(p.request), absentTenant.Replace(p.body)),
		o.task[:22]+o.task[:22]+o.task[44:], "¤", id+"-"+o.word, "~", id, "$", o.word, "$", secret, "#")
	return there, absent
}

var requestID = regexp.MustCompile(`(request_id|requestId|timestamp)[\\": ]*[-:A-Za-z0-9]+`)

// TestExistenceTiming compares the latency of requests for another tenant's
// records and for absent ones, alternately; they must not be distinguishable. It does not run in
// parallel, because other tests add noise, for which it repeats the measurement.
func TestExistenceTiming(t *testing.T) {
	const samples = 240 // of both
	c := newClient(t, open(t, topologies[0], authenticated))
	owner := newOwner(t, c)
	other := c.withRole(t, schemas.RoleRegistrar, "$2")
	for _, send := range []func(word string) (string, string){
		func(word string) (string, string) { return "GET /tags/" + word, "" },
		func(word string) (string, string) { return "POST /resolve/skill", `{"skill_id":"` + word + `.s.r"}` },
	} {
		same := func() bool {
			var took [2][]time.Duration
			for i := range samples {
				word := []string{owner.word, strings.Repeat("x", len(owner.word))}[i%2]
				request, body := send(word)
				began := time.Now()
				other.call(t, request, body)
				took[i%2] = append(took[i%2], time.Since(began))
			}
			slices.Sort(took[0])
			slices.Sort(took[1])
			there, absent := took[0][samples/8], took[1][samples/8] // the lower quartiles
			return (there - absent).Abs() < max(there, absent)/10
		}
		distinguishable := true
		for range 20 { // other load on the machine adds noise
			if distinguishable = !same(); !distinguishable {
				break
			}
		}
		if distinguishable {
			request, _ := send("…")
			t.Errorf("%s: the latency reveals whether the record exists", request)
		}
	}
}
