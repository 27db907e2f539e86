package test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus/keys"
	edgemcp "cairn/edge/mcp"
	"cairn/schemas"
)

// rpc returns a message of the Model Context Protocol.
func rpc(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

// callTool returns a call of a tool.
func callTool(name, args string) string {
	return rpc("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
}

// mcpProbes has a probe for every tool, resource template and method that reads records.
var mcpProbes = func() (list []probe) {
	add := func(shown bool, bodies ...string) {
		for _, body := range bodies {
			list = append(list, probe{request: "POST /mcp", body: body, status: 200, shown: shown})
		}
	}
	add(true,
		callTool("search_skills", `{"query":"#","explain":true}`), callTool("search_skills", `{"query":"#","tenant_id":"$"}`),
		callTool("resolve_skill", `{"skill_id":"$.s.r"}`), callTool("resolve_skill", `{"skill_id":"$.s.r","tenant_id":"$"}`),
		callTool("resolve_agent", `{"query":"#"}`), callTool("resolve_context", `{"skill_id":"$.s.r"}`),
		callTool("resolve_tools", `{"tool_ids":["$.s.r"]}`), callTool("search_records", `{"query":"#"}`),
		callTool("search_records", `{"query":"#","kinds":["guardrail","template"]}`),
		callTool("get_record", `{"kind":"skill","id":"$.s.r"}`), callTool("list_tags", `{}`),
		callTool("read_tag", `{"request_id":"$"}`), callTool("read_tag", `{"request_id":"$","tenant_id":"$"}`),
		rpc("prompts/get", `{"name":"$.s.r"}`), rpc("prompts/list", `{}`),
		rpc("resources/read", `{"uri":"skill://cairn/$.s.r/$-s-r/SKILL.md"}`), rpc("resources/list", `{}`),
		rpc("resources/read", `{"uri":"skill://cairn/$.s.r/$-s-r/a/b.txt"}`),
		rpc("skills/list", `{}`), rpc("skills/get", `{"uri":"skill://cairn/$.s.r/$-s-r/SKILL.md"}`),
		rpc("resources/directory/read", `{"uri":"skill://cairn/$.s.r/$-s-r"}`),
		rpc("resources/directory/read", `{"uri":"skill://cairn"}`),
		rpc("completion/complete", `{"ref":{"type":"ref/resource","uri":"cairn://{kind}/{id}"},
			"argument":{"name":"id","value":"$"},"context":{"arguments":{"kind":"skill"}}}`),
		rpc("completion/complete", `{"ref":{"type":"ref/resource","uri":"skill://cairn/{id}/{name}/SKILL.md"},
			"argument":{"name":"name","value":""},"context":{"arguments":{"id":"$.s.r2"}}}`))
	for _, kind := range schemas.Kinds() {
		add(true, rpc("resources/read", `{"uri":"cairn://`+kind+`/$.s.r"}`))
	}
	list = append(list, probe{request: "POST /mcp?tenant_id=$", body: rpc("skills/list", `{}`), status: 200, shown: true},
		probe{request: "POST /mcp?tenant_id=$", body: callTool("resolve_skill", `{"skill_id":"$.s.r"}`), status: 200,
			shown: true})
	for kind, wrapper := range map[string]string{"skill": "record", "agent": "agent_data", "tool": "tool_data",
		"context_builder": "cb_data", "guardrail": "guardrail_data", "template": "template_data"} {
		for _, p := range registers(kind+"_id", wrapper) {
			if strings.HasPrefix(p.request, http.MethodPost) {
				p = probe{request: "POST /mcp", body: callTool("register_"+kind, p.body), status: 200}
			}
			list = append(list, p)
		}
	}
	add(false, callTool("ask_estate", `{"query":"#","estate":[]}`), callTool("inspect_schema", `{"estate":[]}`),
		callTool("compute_stats", `{"data_key":"items","estate":[]}`),
		callTool("record_history", `{"kind":"skill","id":"$.s.r"}`), callTool("write_tag", `{"request_id":"$ mcp"}`),
		callTool("write_tag", `{"request_id":"$","tenant_id":"$"}`), callTool("delete_tag", `{"request_id":"$"}`))
	return list
}()

// TestModelContextProbes fails for a tool, a resource template or a method that reads records
// without an isolation probe.
func TestModelContextProbes(t *testing.T) {
	t.Parallel()
	c := newClient(t, open(t, topologies[0], authenticated))
	session := c.withRole(t, schemas.RoleAdmin).modelContext(t)
	probed := func(text string) bool {
		return slices.ContainsFunc(mcpProbes, func(p probe) bool { return strings.Contains(p.body, text) })
	}
	for tool, err := range session.Tools(t.Context(), nil) {
		must(t, err)
		if !probed(`"name":"` + tool.Name + `"`) {
			t.Errorf("the tool %s has no isolation probe", tool.Name)
		}
	}
	for template, err := range session.ResourceTemplates(t.Context(), nil) {
		must(t, err)
		if prefix, _, _ := strings.Cut(template.URITemplate, "{"); !probed(`"uri":"` + prefix) {
			t.Errorf("the resource template %s has no isolation probe", template.URITemplate)
		}
	}
	for _, method := range edgemcp.Methods() {
		if !probed(`"method":"` + method + `"`) {
			t.Errorf("the method %s has no isolation probe", method)
		}
	}
}

// withCredential adds the key of a client to requests.
type withCredential struct{ *client }

func (w withCredential) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if w.key != "" {
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	return w.http.Transport.RoundTrip(r)
}

// modelContext opens a session of the official client.
func (c *client) modelContext(t testing.TB) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: c.base + "/mcp", HTTPClient: &http.Client{Transport: withCredential{c}},
			MaxRetries: -1}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// tool calls a tool and returns its text and structured content.
func (c *client) tool(t testing.TB, s *mcp.ClientSession, name, args string) (text string, result *mcp.CallToolResult) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(c.named(args))})
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	return result.Content[0].(*mcp.TextContent).Text, result
}

// TestModelContext registers a skill, finds it, reads it as a package, a resource and a
// SKILL.md, and asks about an estate, with the official client.
func TestModelContext(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		s := c.modelContext(t)
		for _, row := range []struct {
			tool, args string
			fails      bool
			want       string // in the text
		}{
			{"register_tool", `{"tool_data":{"tool_id":"$.a.b","description":"Lists VLANs"}}`, false, `"tool_id":"$.a.b"`},
			{"register_skill", `{"record":{"skill_id":"$.find_vlans","purpose":"Locate $ VLANs","tool_ids":["$.a.b"]}}`, false,
				`"skill_id":"$.find_vlans"`},
			{"search_skills", `{"query":"locate $ vlans"}`, false, "1. `$.find_vlans`"},
			{"resolve_skill", `{"skill_id":"$.find_vlans"}`, false, "### $.a.b\n\nLists VLANs"},
			{"resolve_tools", `{"tool_ids":["$.a.b","$.a.c"]}`, false, "## Missing\n\n- $.a.c"},
			{"resolve_context", `{"skill_id":"$.find_vlans"}`, true, "CE-051"},
			{"resolve_skill", `{"skill_id":"$"}`, true, "skill_id: "},
			{"register_agent", `{"agent_data":{"agent_id":"$"},"skill_ids":[7]}`, true, "skill_ids[0]: expected a string"},
			{"ask_estate", `{"query":"how many hosts per site?","estate":{"hosts":[{"site":"x"},{"site":"y"},{"site":"y"}]}}`,
				false, "3 hosts"},
			{"ask_estate", `{"query":"","estate":[]}`, true, "query: "},
			{"ask_estate", `{"query":"q","estate":"{"}`, true, "AN-500"},
			{"inspect_schema", `{"estate":{"hosts":[{"site":"x"}]}}`, false,
				`{"available":["hosts"],"arrays":[{"data_key":"hosts","count":1}]}`},
			{"inspect_schema", `{"estate":{"hosts":[{"site":"x"}]},"data_key":"hosts"}`, false, `"fields":["site"]`},
			{"compute_stats", `{"estate":{"hosts":[{"site":"x"}]},"data_key":"hosts","group_by":"site"}`, false,
				`{"groups":{"x":1},"total":1`},
			{"compute_stats", `{"estate":{"hosts":[]},"data_key":"host"}`, true, "available: hosts"},
			{"compute_stats", `{"estate":{"hosts":[{"a":1}]},"data_key":"hosts","metrics":["mean:a"]}`, true, "mean:a"},
		} {
			text, result := c.tool(t, s, row.tool, row.args)
			if result.IsError != row.fails || !strings.Contains(text, c.named(row.want)) {
				t.Errorf("%s %s: %t %s, want %t %s", row.tool, row.args, result.IsError, text, row.fails, row.want)
			}
		}
		for uri, want := range map[string]string{
			"cairn://skill/$.find_vlans": `"purpose":"Locate $ VLANs"`, "cairn://tool/$.a.b": `"description":"Lists VLANs"`,
			"skill://cairn/$.find_vlans/$-find-vlans/SKILL.md": "description: \"Locate $ VLANs\"\n",
		} {
			got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: c.named(uri)})
			if err != nil || !strings.Contains(got.Contents[0].Text, c.named(want)) {
				t.Errorf("%s: %+v, %v, want %s", uri, got, err, want)
			}
		}
	})
}

// TestModelContextFiles registers a skill with files, and reads each that skills/list has.
func TestModelContextFiles(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		owner := c.withRole(t, schemas.RoleRegistrar, "$")
		owner.put(t, [2]string{"skill", `{"skill_id":"$.f.g","instructions":"Run scripts/a.py.","license":"MIT","version":"1.0.0","resources":[
			{"path":"scripts/a.py","media_type":"text/x-python","text":"print(1)"},{"path":"x.bin","data":"AP8="}]}`},
			[2]string{"skill", `{"skill_id":"$.f.draft","status":"draft"}`},
			[2]string{"skill", `{"skill_id":"$.f.retired","status":"retired"}`})
		var list struct {
			Result struct {
				Skills []struct {
					Resources []struct {
						URI, Digest string
						Size        int
					}
				}
			}
		}
		_, body, _ := strings.Cut(owner.call(t, "POST /mcp", rpc("skills/list", `{}`)).body, "data: ")
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Result.Skills) != 1 {
			t.Fatalf("%v in %s", err, body)
		}
		s, other := owner.modelContext(t), c.withRole(t, schemas.RoleReader, "$2").modelContext(t)
		wants := []string{"\n---\n\nRun scripts/a.py.\n", "print(1)", "\x00\xff"}
		files := list.Result.Skills[0].Resources
		if len(files) != len(wants) {
			t.Fatalf("files: %+v", files)
		}
		for i, f := range files {
			got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: f.URI})
			if err != nil {
				t.Fatal(f.URI, err)
			}
			content := append([]byte(got.Contents[0].Text), got.Contents[0].Blob...)
			if !strings.Contains(string(content), wants[i]) || len(content) != f.Size ||
				f.Digest != "sha256:"+schemas.Digest(content) {
				t.Errorf("%+v: %q, want %q", f, content, wants[i])
			}
			_, err = other.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: f.URI})
			if err == nil || !strings.Contains(err.Error(), "CE-031") {
				t.Errorf("another tenant reads %s: %v", f.URI, err)
			}
		}
		const root = "skill://cairn/$.f.g"
		for dir, want := range map[string]string{
			root:                         `"uri":"` + root + `/$-f-g","mimeType":"inode/directory"`,
			root + "/$-f-g":              `"uri":"` + root + `/$-f-g/scripts","mimeType":"inode/directory"`,
			root + "/$-f-g/":             `-32602`,
			root + "/$-f-g/x":            `-32602`,
			root + "/$-f-g/scripts":      `"uri":"` + root + `/$-f-g/scripts/a.py","mimeType":"text/x-python","size":8`,
			root + "/$-f-g/scripts/a.py": `-32602`,
			"skill://cairn":              `"uri":"` + root + `","mimeType":"inode/directory"`,
		} {
			a := owner.call(t, "POST /mcp", rpc("resources/directory/read", `{"uri":"`+dir+`"}`))
			if !containsMembers(a.body, c.named(want)) {
				t.Errorf("%s: %s, want %s", dir, a.body, c.named(want))
			}
		}
		none := &mcp.ReadResourceParams{URI: c.named("skill://cairn/$.f.g/$-f-g/none")}
		if _, err := s.ReadResource(t.Context(), none); err == nil || !strings.Contains(err.Error(), "no skill has the URI") {
			t.Errorf("a path that does not exist: %v", err)
		}
	})
}

// containsMembers reports whether the text has the members, which are separated by commas.
func containsMembers(text, members string) bool {
	for m := range strings.SplitSeq(members, ",") {
		if !strings.Contains(text, m) {
			return false
		}
	}
	return true
}

// TestModelContextHTTP sends messages that the protocol or Cairn refuses.
func TestModelContextHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t, open(t, topologies[0], usual))
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for _, row := range []struct {
		name, request, body string
		headers             []string
		status              int
		want                string
	}{
		{"not JSON", "POST /mcp", `{`, nil, 400, "CE-001"},
		{"a batch", "POST /mcp", `[` + rpc("ping", `{}`) + `]`, nil, 400, "batches are not supported"},
		{"another method", "GET /mcp", "", nil, 405, "CE-003"},
		{"end of a session", "DELETE /mcp", "", nil, 405, "CE-003"},
		{"another media type", "POST /mcp", rpc("ping", `{}`), []string{"Accept: text/html"}, 400,
			"Accept must contain both"},
		{"another version", "POST /mcp", rpc("ping", `{}`), []string{"Mcp-Protocol-Version: 2020-01-01"}, 400,
			"Unsupported protocol version"},
		{"a foreign origin", "POST /mcp", rpc("ping", `{}`), []string{"Origin: https://evil.example"}, 403, "CE-007"},
		{"a malformed tenant", "POST /mcp?tenant_id=%zz", rpc("ping", `{}`), nil, 400, "invalid URL escape"},
		{"an empty tenant", "POST /mcp?tenant_id=", rpc("ping", `{}`), nil, 400, "expected a tenant"},
		{"another parameter", "POST /mcp?tenant=x", rpc("ping", `{}`), nil, 400, "expected one tenant_id or none"},
		{"a deep message", "POST /mcp", rpc("tools/call", `{"name":"resolve_tools","arguments":{"tool_ids":`+deep+`}}`), nil,
			400, "nested more"},
		{"large parameters", "POST /mcp", rpc("ping", `{"_meta":{"a":[`+strings.Repeat(`{"":0},`, 10_000)+`0]}}`), nil, 400,
			"params._meta: expected a message of at most 65536 bytes besides the arguments of a tool"},
		{"large arguments", "POST /mcp", callTool("search_skills", `{"query":"`+strings.Repeat("x", 1<<20)+`"}`), nil, 200,
			"query: expected at most 1048576 bytes of arguments besides estate"},
		{"too large", "POST /mcp", `"` + strings.Repeat("x", 11<<20) + `"`, nil, 413, "CE-002"},
		{"an unknown tool", "POST /mcp", callTool("drop", `{}`), nil, 200, `unknown tool`},
		{"an unknown method", "POST /mcp", rpc("foo/bar", `{}`), nil, 200,
			`"error":{"code":-32601,"message":"JSON RPC not handled: \"foo/bar\" unsupported"}`},
		{"an unknown notification", "POST /mcp", `{"jsonrpc":"2.0","method":"foo/bar"}`, nil, 400, "CE-001"},
		{"a request without parameters", "POST /mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil, 200,
			`"code":-32600`},
		{"an absent directory", "POST /mcp", rpc("resources/directory/read", `{"uri":"skill://cairn/no.such.skill"}`), nil,
			200, "-32602"},
		{"a directory of another scheme", "POST /mcp", rpc("resources/directory/read", `{"uri":"file:///etc"}`), nil, 200,
			"-32602"},
		{"no prompts", "POST /mcp", rpc("prompts/list", `{}`), nil, 200, `"prompts":[]`},
		{"a subscription", "POST /mcp", rpc("subscriptions/listen", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
			"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},
			"notifications":{"toolsListChanged":true}}`),
			[]string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"}, 404, "-32601"},
		{"a notification", "POST /mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{"the current version", "POST /mcp", rpc("ping", `{}`), []string{"Mcp-Protocol-Version: 2025-11-25"}, 200,
			`"result":{}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := c.call(t, row.request, row.body, row.headers...)
			if a.status != row.status || !strings.Contains(a.body, row.want) || a.header.Get("X-Request-Id") == "" {
				t.Errorf("%d %s, want %d %s", a.status, truncated(a.body), row.status, row.want)
			}
		})
	}
}

// TestModelContextTools compares the tools of roles, and calls one that the role lacks.
func TestModelContextTools(t *testing.T) {
	t.Parallel()
	c := newClient(t, open(t, topologies[0], authenticated))
	for role, want := range map[schemas.Role]string{
		schemas.RoleReader: "", schemas.RoleRegistrar: "register_skill", schemas.RoleAnalyst: "ask_estate",
	} {
		caller := c.withRole(t, role, "$")
		list := caller.call(t, "POST /mcp", rpc("tools/list", `{}`)).body
		for _, name := range []string{"register_skill", "ask_estate"} {
			listed := strings.Contains(list, `"name":"`+name+`"`)
			if listed != (name == want) {
				t.Errorf("%s is listed for the role %s: %t", name, role, listed)
			}
			if a := caller.call(t, "POST /mcp", callTool(name, `{}`)).body; !listed && !strings.Contains(a, "unknown tool") {
				t.Errorf("%s of the role %s: %s", name, role, a)
			}
		}
	}
	several := c.withRole(t, schemas.RoleReader, "$", "$2")
	if a := several.call(t, "POST /mcp", rpc("skills/list", `{}`)).body; !strings.Contains(a, "bound to several tenants") {
		t.Errorf("a credential of several tenants: %s", a)
	}
	if a := several.call(t, "POST /mcp?tenant_id=$2", rpc("skills/list", `{}`)).body; !strings.Contains(a, `"skills":[]`) {
		t.Errorf("with the tenant of the connection: %s", a)
	}
	complete := rpc("completion/complete", `{"ref":{"type":"ref/resource","uri":"cairn://{kind}/{id}"},
		"argument":{"name":"id","value":"$"},"context":{"arguments":{"kind":"skill"}}}`)
	c.withRole(t, schemas.RoleRegistrar, "$").put(t, [2]string{"skill", `{"skill_id":"$.a"}`})
	for caller, want := range map[*client]string{
		c.withRole(t, schemas.RoleReader, "$"):  `"values":["` + c.word + `.a"]`,
		c.withRole(t, schemas.RoleReader, "$3"): `"values":[]`,
	} {
		if a := caller.call(t, "POST /mcp", complete).body; !strings.Contains(a, want) {
			t.Errorf("completion: %s, want %s", a, want)
		}
	}
}

// TestModelContextPrompts lists the prompts of a tenant and global ones, in pages, and renders some.
func TestModelContextPrompts(t *testing.T) {
	t.Parallel()
	c := newClient(t, open(t, topologies[0], authenticated))
	owner := c.withRole(t, schemas.RoleRegistrar, "$")
	put := func(c *client, letter string, n int, rest string) (names []string) {
		var lines strings.Builder
		for i := range n {
			names = append(names, fmt.Sprintf("%s.%s%03d", c.word, letter, i))
			fmt.Fprintf(&lines, `{"kind":"template","record":{"template_id":%q,%s}}`+"\n", names[i], rest)
		}
		c.do(t, "POST /records", lines.String())
		return names
	}
	global := put(c, "g", 130, `"body":"global {{n}}","variables":[{"name":"n","type":"integer"}]`)
	own := put(owner, "t", 110, `"body":"own"`)
	put(owner, "g", 2, `"description":"without body"`)
	put(owner, "g", 1, `"body":"own","description":"own"`)
	s := owner.modelContext(t)
	var got []string
	for p, err := range s.Prompts(t.Context(), nil) {
		must(t, err)
		if strings.HasPrefix(p.Name, c.word+".") {
			got = append(got, p.Name)
		}
		if want := p.Name == global[0]; (p.Description == "own") != want {
			t.Errorf("%s: %q", p.Name, p.Description)
		}
	}
	want := slices.Concat(global[:1], global[2:], own)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string]string{global[0]: "own", global[5]: "global 7", own[0]: "own"} {
		p := &mcp.GetPromptParams{Name: name}
		if name == global[5] {
			p.Arguments = map[string]string{"n": "7"}
		}
		result, err := s.GetPrompt(t.Context(), p)
		if err != nil || result.Messages[0].Content.(*mcp.TextContent).Text != want {
			t.Errorf("%s: %+v, %v, want %q", name, result, err, want)
		}
	}
	_, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: global[5], Arguments: map[string]string{"n": "many"}})
	if err == nil || !strings.Contains(err.Error(), "variables.n: expected an integer") {
		t.Errorf("a text for an integer: %v", err)
	}
	for _, cursor := range []string{"x", "*"} {
		if _, err := s.ListPrompts(t.Context(), &mcp.ListPromptsParams{Cursor: cursor}); err == nil {
			t.Errorf("cursor %q is accepted", cursor)
		}
	}
	other := c.withRole(t, schemas.RoleReader, "$2").call(t, "POST /mcp", rpc("prompts/list", `{}`)).body
	if strings.Contains(other, `"own"`) || strings.Contains(other, own[0]) {
		t.Errorf("another tenant sees prompts: %s", other)
	}
}

// TestModelContextCancellation disconnects during an analysis, and revokes the key of
// another client: both analyses end immediately.
func TestModelContextCancellation(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		for _, row := range []struct{ name, word string }{{"disconnect", c.word}, {"revocation", c.word + "r"}} {
			caller := c.withRole(t, schemas.RoleAnalyst, "$")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan string, 1)
			question := text(text(script{Say: "a ", Await: row.word}))
			go func() {
				a, err := caller.try(ctx, "POST /mcp", callTool("ask_estate", `{"query":`+question+`,"estate":[{"a":1}]}`))
				ended <- fmt.Sprint(a.body, err)
			}()
			theModel.received.await(t, 10*time.Second, row.word, "the model is asked")
			if row.name == "disconnect" {
				cancel()
			} else if err := c.withKeys(func(ctx context.Context, s *keys.Store) error {
				id, _, _ := strings.Cut(strings.TrimPrefix(caller.key, "cairn_"), "_")
				return s.Revoke(ctx, id)
			}); err != nil {
				t.Fatal(err)
			}
			theModel.canceled.await(t, 5*time.Second, row.word, "the model call is canceled after the "+row.name)
			if got := <-ended; !strings.Contains(got,
				map[string]string{"disconnect": "canceled", "revocation": "it is revoked"}[row.name]) {
				t.Errorf("%s: %s", row.name, got)
			}
			cancel()
		}
	})
}
