package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/schemas"
)

// echo serves e with answer and passes each request as JSON to asked.
func echo[Req, Res any](t testing.TB, f *testEdge, e bus.Endpoint[Req, Res], received func(string), answer Res) {
	t.Helper()
	must(t, e.Serve(f.service, func(_ context.Context, req Req) (Res, error) {
		body, err := json.Marshal(req, json.Deterministic(true))
		received(string(body))
		return answer, err
	}))
}

// serving returns a function that serves e with answer, as echo does.
func serving[Req, Res any](e bus.Endpoint[Req, Res], answer Res) func(testing.TB, *testEdge, func(string)) {
	return func(t testing.TB, f *testEdge, received func(string)) { echo(t, f, e, received, answer) }
}

func TestRoutesReachTheirSubjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, path, body string
		serve                    func(t testing.TB, f *testEdge, received func(string))
		status                   int
		received, answer         string
	}{
		{"a tag is written", "POST", "/tags/write", `{"request_id":"r","flow":"f","tags":{"a":1}}`,
			serving(bus.WriteTag, schemas.TagWritten{RequestID: "r", Flow: "f"}),
			201, `{"request_id":"r","flow":"f","tags":{"a":1}}`, `{"request_id":"r","flow":"f"}`},
		{"a tag is read", "GET", "/tags/r", "",
			serving(bus.ReadTag, schemas.TagFound{Tags: schemas.Tag{RequestID: "r", Flow: "f"}}),
			200, `{"request_id":"r"}`, `{"tags":{"request_id":"r","flow":"f","tags":{}}}`},
		{"a tag with the id write is read", "GET", "/tags/write", "",
			serving(bus.ReadTag, schemas.TagFound{}),
			200, `{"request_id":"write"}`, `{"tags":{"request_id":"","flow":"","tags":{}}}`},
		{"a tag is removed", "DELETE", "/tags/r", "",
			serving(bus.DeleteTag, schemas.Nothing{}),
			204, `{"request_id":"r"}`, ``},

		{"a skill is registered, unknown fields kept", "POST", "/register/skill", `{"record":{"skill_id":"a.b","x":[1]}}`,
			serving(bus.RegisterSkill, schemas.SkillRegistered{SkillID: "a.b"}),
			200, `{"record":{"skill_id":"a.b","x":[1]}}`, `{"skill_id":"a.b"}`},
		{"an agent is registered", "POST", "/register/agent", `{"agent_data":{"agent_id":"a"},"skill_ids":["a.b"]}`,
			serving(bus.RegisterAgent, schemas.AgentRegistered{AgentID: "a"}),
			200, `{"agent_data":{"agent_id":"a"},"skill_ids":["a.b"]}`, `{"agent_id":"a"}`},
		{"a tool is registered", "POST", "/register/tool", `{"tool_data":{"tool_id":"a.b.c"}}`,
			serving(bus.RegisterTool, schemas.ToolRegistered{ToolID: "a.b.c"}),
			200, `{"tool_data":{"tool_id":"a.b.c"}}`, `{"tool_id":"a.b.c"}`},
		{"a context builder is registered", "POST", "/register/context_builder", `{"cb_data":{"context_builder_id":"c"}}`,
			serving(bus.RegisterContextBuilder, schemas.ContextBuilderRegistered{ContextBuilderID: "c"}),
			200, `{"cb_data":{"context_builder_id":"c"}}`, `{"context_builder_id":"c"}`},
		{"a guardrail is registered", "POST", "/register/guardrail", `{"guardrail_data":{"guardrail_id":"g"}}`,
			serving(bus.RegisterGuardrail, schemas.GuardrailRegistered{GuardrailID: "g"}),
			200, `{"guardrail_data":{"guardrail_id":"g"}}`, `{"guardrail_id":"g"}`},
		{"a template is registered", "POST", "/register/template", `{"template_data":{"template_id":"t"}}`,
			serving(bus.RegisterTemplate, schemas.TemplateRegistered{TemplateID: "t"}),
			200, `{"template_data":{"template_id":"t"}}`, `{"template_id":"t"}`},
		{"a record is removed", "DELETE", "/register/skill/a.b%2Fc?tenant_id=t", "",
			serving(bus.Unregister, schemas.Unregistered{}),
			204, `{"kind":"skill","id":"a.b/c","tenant_id":"t"}`, ``},

		{"a skill is resolved", "POST", "/resolve/skill", `{"skill_id":"a.b"}`,
			serving(bus.ResolveSkill, schemas.SkillAnswer{Hits: &schemas.SkillHits{Degraded: "<&>"}}),
			200, `{"skill_id":"a.b"}`, `{"skills":[],"degraded":"<&>"}`},
		{"an agent is resolved", "POST", "/resolve/agent", `{"query":"q"}`,
			serving(bus.ResolveAgent, schemas.AgentAnswer{AgentID: "a", Score: 0.5}),
			200, `{"query":"q"}`, `{"agent_id":"a","capabilities":[],"owned_skill_ids":[],"score":0.5}`},
		{"a context is resolved", "POST", "/resolve/context", `{"skill_id":"a.b"}`,
			serving(bus.ResolveContext, schemas.ContextAnswer{}),
			200, `{"skill_id":"a.b"}`, `{"context_builders":[]}`},
		{"context builders are resolved", "POST", "/resolve/context_builders", `{"skill_id":"a.b"}`,
			serving(bus.ResolveContextBuilders, schemas.ContextAnswer{}),
			200, `{"skill_id":"a.b"}`, `{"context_builders":[]}`},
		{"tools are resolved", "POST", "/resolve/tools", `{"tool_ids":["a.b.c"]}`,
			serving(bus.ResolveTools, schemas.ToolsAnswer{}),
			200, `{"tool_ids":["a.b.c"]}`, `{"tools":[],"missing":[]}`},
		{"a tool class is resolved", "POST", "/resolve/tool_class", `{"tool_class":"c"}`,
			serving(bus.ResolveToolClass, schemas.ToolClassAnswer{}),
			200, `{"tool_class":"c"}`, `{"tools":[]}`},
		{"a template is resolved", "POST", "/resolve/template", `{"skill_id":"a.b"}`,
			serving(bus.ResolveTemplate, schemas.TemplateAnswer{Template: []byte(`{}`)}),
			200, `{"skill_id":"a.b"}`, `{"template":{}}`},
		{"guardrails are resolved", "POST", "/resolve/guardrail", `{"skill_id":"a.b"}`,
			serving(bus.ResolveGuardrail, schemas.GuardrailAnswer{}),
			200, `{"skill_id":"a.b"}`, `{"guardrails":[]}`},

		{"skills are listed", "GET", "/skills", "",
			serving(bus.ListSkills, schemas.SkillList{}),
			200, `{}`, `{"skills":[],"next_cursor":null}`},
		{"tools are listed", "GET", "/tools?tenant_id=t&domain=d%20e&provider=p&tool_class=c&limit=7&cursor=%22x%22", "",
			serving(bus.ListTools, schemas.ToolList{}),
			200, `{"tenant_id":"t","domain":"d e","provider":"p","tool_class":"c","limit":7,"cursor":"\"x\""}`,
			`{"tools":[],"next_cursor":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			var received string
			c.serve(t, f, func(body string) { received = body })
			got := f.request(t, c.method, c.path, strings.NewReader(c.body))
			if diff := cmp.Diff([]any{c.status, c.received, c.answer}, []any{got.status, received, got.body}); diff != "" {
				t.Errorf("status, what the worker was asked, answer: -want +got\n%s", diff)
			}
			if media := got.header.Get("Content-Type"); c.status != 204 && media != "application/json" {
				t.Errorf("content type %q", media)
			}
		})
	}
}

func TestRequestIDsInPaths(t *testing.T) {
	t.Parallel()
	f := open(t)
	must(t, bus.ReadTag.Serve(f.service, func(_ context.Context, k schemas.TagKey) (schemas.TagFound, error) {
		return schemas.TagFound{Tags: schemas.Tag{RequestID: k.RequestID}}, nil
	}))
	for escaped, want := range map[string]string{
		"a%2Fb": "a/b", "%2F": "/", "..": "..", ".": ".", "%2E%2E": "..", "a%3Fb": "a?b", "a%23b": "a#b", "a%20b": "a b",
		"a+b": "a+b", "%25": "%", "%252F": "%2F", "*>.": "*>.", "%2A%3E%2E": "*>.", "a;b": "a;b", "a&b=c": "a&b=c",
		"%F0%9F%A6%8A": "🦊", "%22%5C": `"\`, "%0A%00": "\n\x00", "a:b@c": "a:b@c", "[x]": "[x]", "é": "é",
		strings.Repeat("%F0%9F%A6%8A", 256): strings.Repeat("🦊", 256),
	} {
		got := f.request(t, "GET", "/tags/"+escaped, nil)
		var reply schemas.TagFound
		if err := json.Unmarshal([]byte(got.body), &reply); err != nil || reply.Tags.RequestID != want {
			t.Errorf("/tags/%s: %d, requested %q, want %q", escaped, got.status, reply.Tags.RequestID, want)
		}
	}
	for _, bad := range []string{strings.Repeat("%F0%9F%A6%8A", 257), strings.Repeat("x", 257), "%FF", "a%C3",
		"r?request_id=s"} {
		got := f.request(t, "GET", "/tags/"+bad, nil)
		e := got.problem(t)
		if got.status != 400 || e.Code != "CE-001" || len(e.Fields) != 1 || e.Fields[0].Field != "request_id" {
			t.Errorf("/tags/%.40s: %d %s, want 400 CE-001 naming request_id", bad, got.status, got.body)
		}
	}
}

func TestHTTPErrors(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, c := range []struct {
		name, method, path string
		headers            []string
		status             int
		code, field        string
	}{
		{"a limit that is not a number", "GET", "/skills?limit=abc", nil, 400, "CE-001", "limit"},
		{"an empty limit", "GET", "/tools?limit=", nil, 400, "CE-001", "limit"},
		{"a limit that overflows an integer", "GET", "/tools?limit=99999999999999999999", nil, 400, "CE-001", "limit"},
		{"an unknown parameter", "GET", "/skills?limt=5", nil, 400, "CE-001", "limt"},
		{"a repeated parameter", "GET", "/skills?cursor=a&cursor=a", nil, 400, "CE-001", "cursor"},
		{"a malformed query", "GET", "/skills?a%zz=1", nil, 400, "CE-001", "query"},
		{"5,000 parameters", "GET", "/skills?" + manyParameters, nil, 400, "CE-001", "query"},
		{"5,000 parameters of a removal", "DELETE", "/register/skill/a.b?" + manyParameters, nil, 400, "CE-061", "query"},
		{"5,000 parameters of an analysis", "GET", "/api/v1/analyze/run-1?" + manyParameters, nil, 400, "AN-400", "query"},
		{"5,000 parameters without a credential", "GET", "/docs/search?" + manyParameters, nil, 400, "CE-001", "query"},
		{"a query of 60 KB", "GET", "/tools?cursor=" + strings.Repeat("a", 60000), nil, 400, "CE-001", "query"},
		{"a parameter that is not UTF-8", "GET", "/skills?domain=%ff", nil, 400, "CE-001", "domain"},
		{"an unknown parameter of a removal", "DELETE", "/register/skill/a.b?tenant=t", nil, 400, "CE-061", "tenant"},
		{"a revision that is not a number", "POST", "/resolve/skill", []string{"Cairn-Min-Revision: new"}, 400, "CE-001",
			"Cairn-Min-Revision"},
		{"a negative revision", "GET", "/tools", []string{"Cairn-Min-Revision: -1"}, 400, "CE-001", "Cairn-Min-Revision"},

		{"a method that the path does not have", "PUT", "/tags/write", nil, 405, "CE-003", ""},
		{"GET of a POST route", "GET", "/resolve/skill", nil, 405, "CE-003", ""},
		{"a GET of an analysis", "GET", "/api/v1/analyze", nil, 405, "CE-003", ""},
		{"an unknown method", "BREW", "/health", nil, 405, "CE-003", ""},

		{"an unknown path", "GET", "/nothing", nil, 404, "CE-004", ""},
		{"the root", "GET", "/", nil, 404, "CE-004", ""},
		{"a trailing slash", "GET", "/health/", nil, 404, "CE-004", ""},
		{"a slash after an id", "GET", "/tags/r/", nil, 404, "CE-004", ""},
		{"no id", "GET", "/tags/", nil, 404, "CE-004", ""},
		{"a double slash", "POST", "/resolve//skill", nil, 404, "CE-004", ""},
		{"another case", "GET", "/Health", nil, 404, "CE-004", ""},
		{"OPTIONS of an unknown path", "OPTIONS", "/nothing", nil, 404, "CE-004", ""},
		{"playbooks", "POST", "/search/playbooks", nil, 501, "CE-005", ""},
		{"knowledge", "POST", "/answer/knowledge", nil, 501, "CE-005", ""},
		{"domain knowledge", "POST", "/resolve/domain_knowledge", nil, 501, "CE-005", ""},

		{"a cross-site request", "POST", "/register/skill", []string{"Sec-Fetch-Site: cross-site"}, 403, "CE-007", ""},
		{"a cross-origin request", "DELETE", "/tags/r", []string{"Origin: https://example.com"}, 403, "CE-007", ""},
		{"a cross-site analysis", "POST", "/api/v1/analyze", []string{"Sec-Fetch-Site: cross-site"}, 403, "AN-403", ""},

		{"no worker", "POST", "/resolve/skill", nil, 503, "CE-011", ""},
		{"no worker for an analysis", "POST", "/api/v1/analyze", nil, 503, "AN-503", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := f.request(t, c.method, c.path, nil, append(c.headers, "X-Request-Id: me")...)
			e := got.problem(t)
			path, _, _ := strings.Cut(c.path, "?")
			want := schemas.Error{
				Type: "/docs#" + c.code, Title: schemas.Declared(c.code).Title, Status: c.status, Code: c.code, Instance: path,
				RequestID: "me",
				Detail:    e.Detail, Fields: e.Fields,
			}
			if diff := cmp.Diff(want, e); diff != "" || got.status != c.status {
				t.Errorf("%d: -want +got\n%s", got.status, diff)
			}
			if e.Detail == "" {
				t.Errorf("no detail: %s", got.body)
			}
			if c.field != "" && (len(e.Fields) != 1 || e.Fields[0].Field != c.field) {
				t.Errorf("named %v, want %s", e.Fields, c.field)
			}
			if got.header.Get("Content-Type") != "application/json" {
				t.Errorf("content type %q", got.header.Get("Content-Type"))
			}
			if again := got.header.Get("Retry-After"); (again != "") != (c.status == 503) {
				t.Errorf("Retry-After %q with %d", again, c.status)
			}
		})
	}
}

// manyParameters are fewer than url.ParseQuery accepts.
var manyParameters = func() string {
	var b strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&b, "%d&", n)
	}
	return b.String()
}()

// TestLongestQuery lists with the longest value of each parameter.
func TestLongestQuery(t *testing.T) {
	t.Parallel()
	f := open(t)
	var received string
	echo(t, f, bus.ListTools, func(request string) { received = request }, schemas.ToolList{})
	query := "limit=100&cursor=" + strings.Repeat("c", 4096)
	for _, name := range []string{"tenant_id", "domain", "provider", "tool_class"} {
		query += "&" + name + "=" + strings.Repeat("%F0%9F%A6%8A", 256)
	}
	if got := f.request(t, "GET", "/tools?"+query, nil); got.status != 200 || strings.Count(received, "🦊") != 4*256 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestLongPaths requests paths that no route can have; the cost of matching grows with
// the path, and no credential is needed.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, c := range []struct{ method, path string }{
		{"GET", "/" + strings.Repeat("%41", 20000)}, {"GET", "/" + strings.Repeat("a/", 30000)},
		{"PATCH", "/tags/" + strings.Repeat("a", 60000)},
		{"GET", "/register/" + strings.Repeat("a", 60000) + "/b"}, {"OPTIONS", "/tags/" + strings.Repeat("%20", 1400)},
	} {
		got := f.request(t, c.method, c.path, nil)
		e := got.problem(t)
		if got.status != 404 || e.Code != "CE-004" || e.Instance != "" || !strings.Contains(e.Detail, "4096 bytes") ||
			len(got.body) > 1<<10 {
			t.Errorf("%s of a path of %d bytes: %d, %d bytes: %.200s", c.method, len(c.path), got.status, len(got.body),
				got.body)
		}
	}
	var received string
	echo(t, f, bus.ReadTag, func(request string) { received = request }, schemas.TagFound{})
	path := "/tags/" + strings.Repeat("%F0%9F%A6%8A", 256)
	if got := f.request(t, "GET", path, nil); got.status != 200 || !strings.Contains(received, strings.Repeat("🦊", 256)) {
		t.Errorf("the longest id: %d %s", got.status, got.body)
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	f := open(t)
	for path, want := range map[string]string{
		"/health":              "GET, HEAD, OPTIONS",
		"/tags/write":          "POST, OPTIONS",
		"/tags/r":              "DELETE, GET, HEAD, OPTIONS",
		"/register/skill":      "POST, OPTIONS",
		"/register/skill/a.b":  "DELETE, OPTIONS",
		"/api/v1/analyze":      "POST, OPTIONS",
		"/resolve/skill?x=y#z": "POST, OPTIONS",
	} {
		if got := f.request(t, "OPTIONS", path, nil); got.status != 204 || got.header.Get("Allow") != want || got.body != "" {
			t.Errorf("OPTIONS %s: %d, Allow %q, want %q", path, got.status, got.header.Get("Allow"), want)
		}
		if got := f.request(t, "PATCH", path, nil); got.status != 405 || got.header.Get("Allow") != want {
			t.Errorf("PATCH %s: %d, Allow %q, want %q", path, got.status, got.header.Get("Allow"), want)
		}
	}
	if got := f.request(t, "HEAD", "/health", nil); got.status != 200 || got.body != "" ||
		got.header.Get("Content-Length") == "0" {
		t.Errorf("HEAD /health: %+v", got)
	}
}

func TestWorkerErrors(t *testing.T) {
	t.Parallel()
	f := open(t)
	failures := map[string]error{
		"exists": schemas.ErrTagExists, "gone": schemas.ErrTagNotFound, "late": context.DeadlineExceeded,
		"full": schemas.ErrTooManyRequests.Because("wait"), "odd": http.ErrNoLocation,
	}
	must(t, bus.WriteTag.Serve(f.service, func(_ context.Context, w schemas.TagWrite) (res schemas.TagWritten, err error) {
		if w.RequestID == "panic" {
			panic("a defect of a worker")
		}
		return schemas.TagWritten{RequestID: w.RequestID}, failures[w.RequestID]
	}))
	for _, c := range []struct {
		name, body string
		status     int
		code       string
		again      string
	}{
		{"second write of the same request_id", `{"request_id":"exists"}`, 409, "CE-021", ""},
		{"not found", `{"request_id":"gone"}`, 404, "CE-022", ""},
		{"too many requests", `{"request_id":"full"}`, 429, "CE-008", "1"},
		{"too late", `{"request_id":"late"}`, 504, "CE-012", ""},
		{"an undeclared error", `{"request_id":"odd"}`, 500, "CE-010", ""},
		{"a worker that panics", `{"request_id":"panic"}`, 500, "CE-010", ""},
		{"no JSON", `{"request_id":`, 400, "CE-001", ""},
		{"an empty body", ``, 400, "CE-001", ""},
		{"a wrong type", `{"request_id":5}`, 400, "CE-001", ""},
		{"success after the errors", `{"request_id":"fine"}`, 201, "", ""},
	} {
		got := f.request(t, "POST", "/tags/write", strings.NewReader(c.body))
		if e := got.problem(t); got.status != c.status || e.Code != c.code || got.header.Get("Retry-After") != c.again {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.status, got.body, c.status, c.code)
		}
		if strings.Contains(got.body, http.ErrNoLocation.Error()) || strings.Contains(got.body, "defect") {
			t.Errorf("%s: the internal error is returned: %s", c.name, got.body)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	f := open(t)
	var seen string
	must(t, bus.ReadTag.Serve(f.service, func(ctx context.Context, _ schemas.TagKey) (schemas.TagFound, error) {
		seen = bus.RequestID(ctx)
		return schemas.TagFound{}, nil
	}))
	for _, sane := range []string{"x", "a-b_c:1/2", strings.Repeat("x", 128)} {
		got := f.request(t, "GET", "/tags/r", nil, "X-Request-Id: "+sane).header.Get("X-Request-Id")
		if diff := cmp.Diff([]string{sane, sane}, []string{got, seen}); diff != "" {
			t.Errorf("returned and on the bus: -want +got\n%s", diff)
		}
	}
	earlier := map[string]bool{}
	for range 3 {
		got := f.request(t, "GET", "/tags/r", nil).header.Get("X-Request-Id")
		if got != seen || len(got) < 16 || earlier[got] {
			t.Errorf("generated %q, on the bus %q", got, seen)
		}
		earlier[got] = true
	}
	for _, headers := range [][]string{{"X-Request-Id: "}, {"X-Request-Id: a b"}, {"X-Request-Id: é"},
		{"X-Request-Id: " + strings.Repeat("x", 129)}, {"X-Request-Id: a", "X-Request-Id: b"}} {
		got := f.request(t, "GET", "/tags/r", nil, headers...)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, "X-Request-Id") {
			t.Errorf("%v: %d %s", headers, got.status, got.body)
		}
		if id := got.header.Get("X-Request-Id"); len(id) < 16 || earlier[id] {
			t.Errorf("%v: generated %q", headers, id)
		}
	}
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	f := open(t)
	var revisions []uint64
	revision := uint64(7)
	must(t,
		bus.RegisterTool.Serve(f.service, func(context.Context, schemas.RegisterTool) (schemas.ToolRegistered, error) {
			return schemas.ToolRegistered{ToolID: "a.b.c", Registered: schemas.Registered{Revision: revision}}, nil
		}),
		bus.ResolveTools.Serve(f.service, func(ctx context.Context, _ schemas.ToolsQuery) (schemas.ToolsAnswer, error) {
			revisions = append(revisions, bus.MinRevisionOf(ctx, ""))
			return schemas.ToolsAnswer{}, nil
		}),
		bus.ListTools.Serve(f.service, func(ctx context.Context, _ schemas.ListQuery) (schemas.ToolList, error) {
			revisions = append(revisions, bus.MinRevisionOf(ctx, ""))
			return schemas.ToolList{}, nil
		}))
	register := func() string {
		return f.request(t, "POST", "/register/tool",
			strings.NewReader(`{"tool_data":{"tool_id":"a.b.c"}}`)).header.Get("Cairn-Revision")
	}
	resolve := func(headers ...string) {
		f.request(t, "POST", "/resolve/tools", strings.NewReader(`{"tool_ids":["a.b.c"]}`), headers...)
	}
	resolve()
	if got := register(); got != "7" {
		t.Errorf("Cairn-Revision %q, want 7", got)
	}
	resolve()
	revision = 5
	register()
	f.request(t, "GET", "/tools", nil)
	resolve("Cairn-Min-Revision: 3")
	resolve("Cairn-Min-Revision: 900")
	resolve()
	if diff := cmp.Diff([]uint64{0, 7, 7, 7, 900, 7}, revisions); diff != "" {
		t.Errorf("minimum revisions in the requests: -want +got\n%s", diff)
	}
}

func TestLargeReplies(t *testing.T) {
	t.Parallel()
	f := open(t)
	big := strings.Repeat("0123456789abcdef", 1<<16-64) // nearly 1 MiB
	must(t, bus.ResolveTemplate.Serve(f.service, func(context.Context,
		schemas.TemplateQuery) (schemas.TemplateAnswer, error) {
		return schemas.TemplateAnswer{Template: []byte(`{"x":"` + big + `"}`)}, nil
	}))
	got := f.request(t, "POST", "/resolve/template", strings.NewReader(`{"skill_id":"a.b"}`))
	if want := `{"template":{"x":"` + big + `"}}`; got.body != want {
		t.Errorf("an answer of %d bytes came as %d", len(want), len(got.body))
	}
}

// serveCatalog serves a catalog of the ID at revision 3, whose registrations return written.
func serveCatalog(t *testing.T, f *testEdge, id string, written *schemas.Registered) {
	t.Helper()
	must(t,
		bus.RegisterTool.Serve(f.service, func(context.Context, schemas.RegisterTool) (schemas.ToolRegistered, error) {
			return schemas.ToolRegistered{ToolID: "a.b.c", Registered: *written}, nil
		}),
		bus.ResolveTools.Serve(f.service, func(ctx context.Context, _ schemas.ToolsQuery) (a schemas.ToolsAnswer, err error) {
			if bus.MinRevisionOf(ctx, id) > 3 {
				return a, schemas.ErrMalformed.With(schemas.FieldError{Field: bus.HeaderMinRevision, Message: "expected at most 3"})
			}
			return a, nil
		}))
}

// TestReplacedCatalog checks that the edge discards its last revision when the
// catalog is replaced, and does not return 400 to the caller.
func TestReplacedCatalog(t *testing.T) {
	t.Parallel()
	f := open(t)
	serveCatalog(t, f, "", &schemas.Registered{Revision: 7})
	f.request(t, "POST", "/register/tool", strings.NewReader(`{"tool_data":{"tool_id":"a.b.c"}}`))
	for i, c := range []struct {
		headers []string
		status  int
	}{{nil, 503}, {nil, 200}, {[]string{"Cairn-Min-Revision: 900"}, 400}, {[]string{"Cairn-Min-Revision: 3"}, 200}} {
		if got := f.request(t, "POST", "/resolve/tools", strings.NewReader(`{"tool_ids":["a.b.c"]}`),
			c.headers...); got.status != c.status {
			t.Errorf("request %d: %d %s, want %d", i, got.status, got.body, c.status)
		}
	}
}

// TestTokenOfAnotherCatalog checks that tokens of a replaced catalog are ignored: the
// caller's token is reported in a header, the edge's own token is not.
func TestTokenOfAnotherCatalog(t *testing.T) {
	t.Parallel()
	f := open(t)
	const current = "new"
	written := schemas.Registered{Catalog: "old", Revision: 70}
	serveCatalog(t, f, current, &written)
	register := func() { f.request(t, "POST", "/register/tool", strings.NewReader(`{"tool_data":{"tool_id":"a.b.c"}}`)) }
	register()
	for _, c := range []struct {
		token   string
		status  int
		ignored string
	}{
		{"", 200, ""}, {"old-71", 200, "old-71"}, {"old-70", 200, "old-70"}, {"new-3", 200, ""}, {"new-4", 400, ""},
		{"3", 200, ""}, {"4", 400, ""},
		{"new-", 400, ""}, {"old-1,new-1", 400, ""},
	} {
		var headers []string
		if c.token != "" {
			headers = append(headers, "Cairn-Min-Revision: "+c.token)
		}
		got := f.request(t, "POST", "/resolve/tools", strings.NewReader(`{"tool_ids":["a.b.c"]}`), headers...)
		if ignored := got.header.Get("Cairn-Ignored-Revision"); got.status != c.status || ignored != c.ignored {
			t.Errorf("token %q: %d %s, ignored %q; want %d, %q", c.token, got.status, got.body, ignored, c.status, c.ignored)
		}
	}
	written = schemas.Registered{Catalog: current, Revision: 2}
	register()
	if got := f.request(t, "POST", "/resolve/tools", strings.NewReader(`{"tool_ids":["a.b.c"]}`)); got.status != 200 {
		t.Errorf("after a write to the new catalog: %d %s", got.status, got.body)
	}
}
