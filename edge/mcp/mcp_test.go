package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v3"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/schemas/skillfile"
)

// stub is a caller of stub endpoints.
type stub struct {
	ctx      context.Context
	conn     *bus.Conn
	identity *schemas.Identity
	tenant   string
	events   []bus.Event
	received []byte // body of the last analysis

	acquired, released atomic.Int64 // CPUs
}

func (s *stub) Identity() *schemas.Identity { return s.identity }
func (s *stub) Tenant() string              { return s.tenant }

func (s *stub) Send(f Forward, body []byte) ([]byte, error) {
	reply, err := f(s.ctx, s.conn, body)
	return reply.Body, err
}

func (s *stub) AcquireCPU() (release func(), err error) {
	s.acquired.Add(1)
	return func() { s.released.Add(1) }, nil
}

func (s *stub) Analyze(_ context.Context, body []byte) iter.Seq2[bus.Event, error] {
	s.received = body
	return func(yield func(bus.Event, error) bool) {
		for _, e := range s.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *stub) PublicError(err error) *schemas.Error {
	var e *schemas.Error
	if !errors.As(err, &e) {
		e = schemas.ErrInternal.Because(err.Error())
	}
	c := *e
	c.RequestID = "r1"
	return &c
}

// open returns a stub caller and a session of a client over an in-memory transport.
func open(t *testing.T, s *stub, options ...func(*sdk.ClientOptions)) *sdk.ClientSession {
	t.Helper()
	h, err := New(1 << 20)
	must(t, err)
	s.ctx = t.Context()
	near, far := sdk.NewInMemoryTransports()
	server, err := h.Server(s.identity).Connect(WithCaller(t.Context(), s), near, nil)
	must(t, err)
	o := &sdk.ClientOptions{}
	for _, change := range options {
		change(o)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), far, nil)
	must(t, err)
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client
}

// summary returns a skill with instructions and resources, which have the contents.
func summary(contents ...string) jsontext.Value {
	part := func(i int) string {
		if i < len(contents) {
			return contents[i]
		}
		return ""
	}
	file := func(i int, path, rest, content string) string {
		return fmt.Sprintf(`{"path":%q,%s%s"sha256":%q,"size":%d}`, path, part(i), rest, schemas.Digest([]byte(content)),
			len(content))
	}
	return jsontext.Value(`{"skill_id":"net.other","instructions":"# Steps\n\n1. Look.\n","license":"MIT","version":"1.2.0",` +
		`"labels":{"team":"net","tier":"gold"},"resources":[` +
		file(0, "scripts/a b.py", `"media_type":"text/x-python",`, "print(1)\n") + `,` +
		file(1, "x.bin", "", "\x00\xff") + `,` + file(2, "empty", "", "") + `]}`)
}

// serve opens a connection to endpoints that reply with a fixed package and list.
func serve(t *testing.T) *bus.Conn {
	t.Helper()
	server, conn := bustest.Start(t)
	s := bustest.Service(t, bustest.Dial(t, server), "stub")
	skill := jsontext.Value(`{"skill_id":"net.find_vlans","purpose":"Find VLANs","capabilities":["vlan lookup"],"tenant_id":"x"}`)
	reserved := jsontext.Value(`{"skill_id":"a.$&+=:@/b","resources":[{"path":"c+/d@","sha256":"x","size":1}]}`)
	err := errors.Join(
		bus.ResolveSkill.Serve(s, func(_ context.Context, q schemas.SkillQuery) (schemas.SkillAnswer, error) {
			switch {
			case q.Query != "":
				return schemas.SkillAnswer{Hits: &schemas.SkillHits{Skills: []jsontext.Value{
					jsontext.Value(`{"skill_id":"net.find_vlans","purpose":"Find VLANs in ` + q.Tenant() + `","score":0.875}`)}}}, nil
			case q.SkillID == "net.other":
				return schemas.SkillAnswer{Package: &schemas.SkillPackage{SkillID: q.SkillID, Manifest: summary("")}}, nil
			case q.SkillID == "a.$&+=:@/b":
				return schemas.SkillAnswer{Package: &schemas.SkillPackage{SkillID: q.SkillID, Manifest: reserved}}, nil
			case q.SkillID != "net.find_vlans":
				return schemas.SkillAnswer{}, schemas.ErrSkillNotFound
			}
			return schemas.SkillAnswer{Package: &schemas.SkillPackage{
				SkillID: q.SkillID, Manifest: skill, Template: jsontext.Value(`{"template_id":"t","body":"` + "```" + `"}`),
				ContextBuilders: []jsontext.Value{jsontext.Value(`{"context_builder_id":"c","instructions":"Ask first."}`)},
				Tools:           []jsontext.Value{jsontext.Value(`{"tool_id":"a.b.c","provider":"netbox"}`)},
				Guardrails:      []jsontext.Value{jsontext.Value(`{"guardrail_id":"g","description":"Never write"}`)},
			}}, nil
		}),
		bus.ResolveTools.Serve(s, func(_ context.Context, q schemas.ToolsQuery) (schemas.ToolsAnswer, error) {
			return schemas.ToolsAnswer{Tools: []jsontext.Value{}, Missing: q.ToolIDs}, nil
		}),
		bus.GetRecord.Serve(s, func(_ context.Context, k schemas.RecordAt) (schemas.RecordFound, error) {
			switch {
			case k.Scope == schemas.ScopeGlobal && k.ID == "net.other":
				return schemas.RecordFound{Record: summary(`"text":"print(1)\n",`, `"data":"AP8=",`, `"text":"",`)}, nil
			case k.ID == "none" || k.Scope != "":
				return schemas.RecordFound{}, schemas.ErrRecordNotFound
			}
			return schemas.RecordFound{Record: jsontext.Value(`{"` + k.Kind + `_id":"` + k.ID + `"}`)}, nil
		}),
		bus.ListRecords.Serve(s, func(_ context.Context, q schemas.RecordQuery) (schemas.RecordList, error) {
			next, field := "2", `{"`+q.Kind+`_id":"`+q.Prefix
			return schemas.RecordList{NextCursor: &next, Records: []jsontext.Value{
				jsontext.Value(field + `a"}`), jsontext.Value(field + `b","status":"draft"}`)}}, nil
		}),
		bus.ListSkills.Serve(s, func(_ context.Context, q schemas.ListQuery) (schemas.SkillList, error) {
			if q.Cursor != "" {
				return schemas.SkillList{Skills: []jsontext.Value{
					jsontext.Value(`{"skill_id":"net.deleted"}`), jsontext.Value(`{"skill_id":"net.other"}`)}}, nil
			}
			next := "2"
			return schemas.SkillList{Skills: []jsontext.Value{skill}, NextCursor: &next}, nil
		}),
		bus.RegisterSkill.Serve(s, func(_ context.Context, r schemas.RegisterSkill) (schemas.SkillRegistered, error) {
			return schemas.SkillRegistered{SkillID: r.Record.Fields.SkillID + "@" + schemas.TenantOf(&r)}, nil
		}),
	)
	must(t, err)
	return conn
}

// text returns the text of a result.
func text(r *sdk.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].(*sdk.TextContent).Text
}

func TestToolsOfEachRole(t *testing.T) {
	t.Parallel()
	read := []string{"get_record", "list_tags", "read_tag", "record_history", "resolve_agent", "resolve_context",
		"resolve_skill", "resolve_tools", "search_records", "search_skills"}
	tag := []string{"delete_tag", "write_tag"}
	analyze := []string{"ask_estate", "compute_stats", "inspect_schema"}
	register := []string{"register_agent", "register_context_builder", "register_guardrail", "register_skill",
		"register_template",
		"register_tool"}
	for role, want := range map[schemas.Role][]string{
		schemas.RoleReader: read, schemas.RoleRegistrar: slices.Concat(read, tag, register),
		schemas.RoleAnalyst: slices.Concat(read, tag, analyze),
		schemas.RoleAdmin:   slices.Concat(read, tag, analyze, register), "": slices.Concat(read, tag, analyze, register),
	} {
		s := &stub{}
		if role != "" {
			s.identity = &schemas.Identity{Role: role}
		}
		session := open(t, s)
		list, err := session.ListTools(t.Context(), nil)
		must(t, err)
		var got []string
		for _, tool := range list.Tools {
			got = append(got, tool.Name)
			if tool.Description == "" || tool.OutputSchema == nil ||
				tool.Annotations.ReadOnlyHint == (strings.HasPrefix(tool.Name, "register_") || slices.Contains(tag, tool.Name)) {
				t.Errorf("%s: incomplete declaration %+v", tool.Name, tool)
			}
			if schema := string(mustJSON(t, tool.InputSchema)); strings.Contains(schema, "$ref") ||
				strings.Contains(schema, "$defs") {
				t.Errorf("%s: the input schema has references: %s", tool.Name, schema)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tools of role %q: %s", role, diff)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	conn := serve(t)
	for _, row := range []struct {
		name, tool, args string
		tenant           string
		fails            bool
		want             []string // of the text
	}{
		{"a search lists hits", "search_skills", `{"query":"vlans","top_k":3}`, "", false,
			[]string{"1. `net.find_vlans` (score 0.88): Find VLANs in"}},
		{"the tenant of the connection", "search_skills", `{"query":"vlans"}`, "acme", false, []string{"Find VLANs in acme"}},
		{"the tenant of the call comes first", "search_skills", `{"query":"vlans","tenant_id":"own"}`, "acme", false,
			[]string{"Find VLANs in own"}},
		{"a package as Markdown", "resolve_skill", `{"skill_id":"net.find_vlans"}`, "", false,
			[]string{"# net.find_vlans\n\nFind VLANs\n",
				"## Context builders\n\n### c\n\nAsk first.\n", "### a.b.c\n\n```json\n{\n  \"provider\": \"netbox\"\n}\n```",
				"### g\n\nNever write\n", "````json"}},
		{"an unknown skill", "resolve_skill", `{"skill_id":"net.none"}`, "", true, []string{"CE-031", "request_id r1"}},
		{"a misspelled argument", "search_skills", `{"querry":"x"}`, "", true,
			[]string{"querry: unknown argument; expected one of: explain, filter, query", "query: required"}},
		{"the direct form is another tool", "search_skills", `{"query":"x","skill_id":"a.b"}`, "", true,
			[]string{"skill_id: unknown argument"}},
		{"a wrong type", "search_skills", `{"query":7}`, "", true, []string{"query: expected a string, got a number"}},
		{"a value out of range", "search_skills", `{"query":"x","top_k":1000}`, "", true, []string{"top_k: "}},
		{"no arguments", "resolve_skill", ``, "", true, []string{"skill_id: required"}},
		{"missing tools", "resolve_tools", `{"tool_ids":["a.b.c"]}`, "", false, []string{"## Missing\n\n- a.b.c"}},
		{"a registration", "register_skill", `{"record":{"skill_id":"a.b"}}`, "", false, []string{`{"skill_id":"a.b@"}`}},
		{"a registration in the tenant of the connection", "register_skill", `{"record":{"skill_id":"a.b"}}`, "acme", false,
			[]string{`{"skill_id":"a.b@acme"}`}},
		{"a registration of a global record", "register_skill", `{"record":{"skill_id":"a.b","tenant_id":null}}`, "acme",
			false,
			[]string{`{"skill_id":"a.b@"}`}},
		{"a registration without an id", "register_skill", `{"record":{}}`, "", true, []string{"record.skill_id: "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			session := open(t, &stub{conn: conn, tenant: row.tenant})
			p := &sdk.CallToolParams{Name: row.tool}
			if row.args != "" {
				p.Arguments = jsontext.Value(row.args)
			}
			got, err := session.CallTool(t.Context(), p)
			must(t, err)
			checkResult(t, got, row.fails, row.want)
			if !row.fails {
				conforms(t, session, row.tool, got.StructuredContent)
			}
		})
	}
}

// conforms checks structured content against the output schema of the tool.
func conforms(t *testing.T, session *sdk.ClientSession, name string, content any) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	must(t, err)
	for _, tool := range list.Tools {
		if tool.Name != name {
			continue
		}
		var schema jsonschema.Schema
		text, err := json.Marshal(tool.OutputSchema)
		if err = errors.Join(err, json.Unmarshal(text, &schema)); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		must(t, err)
		if err := resolved.Validate(content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkResult checks whether the result is an error, and that its text contains want.
func checkResult(t *testing.T, got *sdk.CallToolResult, fails bool, want []string) {
	t.Helper()
	if got.IsError != fails {
		t.Errorf("IsError %t, want %t: %s", got.IsError, fails, text(got))
	}
	for _, part := range want {
		if !strings.Contains(text(got), part) {
			t.Errorf("got %s, want %s", text(got), part)
		}
	}
}

func TestAskEstate(t *testing.T) {
	t.Parallel()
	event := func(kind, data string) bus.Event { return bus.Event{Type: kind, Data: []byte(data)} }
	use := event("tool_use", `{"tool_call_id":"1","name":"compute_stats","input":{"data_key":"a"}}`)
	result := event("tool_result", `{"tool_call_id":"1","result":{"groups":{},"total":3}}`)
	done := event("done", `{}`)
	for _, row := range []struct {
		name, tool, args string
		events           []bus.Event
		fails            bool
		want             []string // of the text
		body             string   // of the analysis
		progress         string
	}{
		{"text before a tool call is not the answer", "ask_estate", `{"query":"how many?","estate":{"a":[1]}}`,
			[]bus.Event{event("text_delta", `{"text":"I look."}`), use, result, event("text_delta", `{"text":"3 "}`),
				event("text_delta",
					`{"text":"things"}`),
				event("provenance", `{"figures":[{"text":"3","from":"value"},{"text":"9","from":"nowhere","flagged":true}]}`),
				done},
			false, []string{"3 things\n\nNo source was found in the document for: 9"}, `"context":"{\"a\":[1]}"`,
			`1 compute_stats {"data_key":"a"}`},
		{"the estate as text", "ask_estate", `{"query":"q","estate":"{\"a\":[]}"}`, []bus.Event{done}, false, nil,
			`"context":"{\"a\":[]}"`, ""},
		{"a failure after the first event", "ask_estate", `{"query":"q","estate":[]}`,
			[]bus.Event{event("error", `{"code":"AN-504","message":"analysis timed out: too slow"}`), done}, true,
			[]string{"AN-504 analysis timed out: too slow"}, "", ""},
		{"an answer that was not rendered", "ask_estate", `{"query":"q","estate":[]}`,
			[]bus.Event{event("direct_response", `{"text":"plain","code":"x","reason":"late"}`), done}, false, []string{"plain"},
			"", ""},
		{"a figure", "compute_stats", `{"data_key":"a","estate":{"a":[1]}}`, []bus.Event{use, result, done}, false,
			[]string{`{"groups":{},"total":3}`}, `"calls":[{"name":"compute_stats","input":{"data_key":"a"}}]`, ""},
		{"a wrong call", "compute_stats", `{"data_key":"b","estate":{}}`,
			[]bus.Event{use, event("tool_result",
				`{"tool_call_id":"1","result":{"error":"no data array \"b\"","available":["a","c"]}}`), done}, true,
			[]string{`AN-400`, `no data array "b"; available: a, c`}, "", ""},
		{"the arrays of an estate", "inspect_schema", `{"estate":{}}`,
			[]bus.Event{use, event("tool_result",
				`{"tool_call_id":"1","result":{"available":["a"],"arrays":[{"data_key":"a","count":1}]}}`), done}, false,
			[]string{`{"available":["a"],"arrays":[{"data_key":"a","count":1}]}`}, "", ""},
		{"a result without a call", "compute_stats", `{"data_key":"b","estate":{}}`, []bus.Event{result, done}, true,
			[]string{`unknown tool call "1"`}, "", ""},
		{"a misspelled filter", "compute_stats", `{"data_key":"a","estate":{},"filters":{}}`, nil, true,
			[]string{"filters: unknown argument"}, "", ""},
		{"no estate", "ask_estate", `{"query":"q"}`, nil, true, []string{"estate: required"}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := &stub{events: row.events}
			progress := make(chan string, 16)
			session := open(t, s, func(o *sdk.ClientOptions) {
				o.ProgressNotificationHandler = func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
					progress <- strings.TrimSpace(string('0'+rune(r.Params.Progress)) + " " + r.Params.Message)
				}
			})
			p := &sdk.CallToolParams{Name: row.tool, Arguments: jsontext.Value(row.args)}
			p.SetProgressToken("p")
			got, err := session.CallTool(t.Context(), p)
			must(t, err)
			checkResult(t, got, row.fails, row.want)
			if !strings.Contains(string(s.received), row.body) {
				t.Errorf("sent %s, want %s", s.received, row.body)
			}
			if row.progress != "" {
				if p := <-progress; p != row.progress {
					t.Errorf("progress %q, want %q", p, row.progress)
				}
			}
			if !row.fails {
				conforms(t, session, row.tool, got.StructuredContent)
			}
		})
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	session := open(t, &stub{conn: serve(t)})
	const skill = "skill://cairn/net.find_vlans/net-find-vlans/SKILL.md"
	for uri, want := range map[string]string{
		"cairn://skill/net.find_vlans": `{"skill_id":"net.find_vlans"}`,
		"cairn://template/t":           `{"template_id":"t"}`,
		"cairn://tool/a.b.@server":     `{"tool_id":"a.b.@server"}`,
		"cairn://tool/a.b.%40server":   `{"tool_id":"a.b.@server"}`,
		"cairn://agent/none":           "CE-081",
		"cairn://skill/":               "",
		"cairn://tool/a":               "id: ",
		"cairn://tag/a":                "no such resource",
		"cairn://skill/%zz":            "",
		"file:///etc/passwd":           "not found",
		skill:                          "---\nname: \"net-find-vlans\"\n",
		strings.Replace(skill, "net-find", "other", 1):  "no skill has the URI",
		strings.Replace(skill, "SKILL.md", "other", 1):  "CE-081",
		strings.Replace(skill, "SKILL.md", "a%2Fb", 1):  "no skill has the URI",
		"skill://cairn/net.other/net-other/none":        "no skill has the URI",
		"skill://cairn/net.other/net-other/x/../x.bin":  "no skill has the URI",
		"skill://cairn/net.none/net-none/x":             "CE-031",
		strings.Replace(skill, "cairn/net", "x/net", 1): "not found",
	} {
		got := ""
		res, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			got = err.Error()
		} else {
			got = res.Contents[0].Text
		}
		if !strings.Contains(got, want) || got == "" {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
	for _, row := range []struct {
		uri, argument, value string
		given                map[string]string
		want                 []string
	}{
		{recordTemplate, "kind", "", nil, schemas.Kinds()},
		{recordTemplate, "kind", "sk", nil, []string{"skill"}},
		{recordTemplate, "id", "net.", map[string]string{"kind": "skill"}, []string{"net.a", "net.b"}},
		{recordTemplate, "id", "g", map[string]string{"kind": "guardrail"}, []string{"ga", "gb"}},
		{recordTemplate, "id", "", map[string]string{"kind": "tag"}, []string{}},
		{recordTemplate, "id", "", nil, []string{}},
		{skillTemplate, "id", "net.f", nil, []string{"net.fa"}},
		{fileTemplate, "id", "net.f", nil, []string{"net.fa"}},
		{skillTemplate, "name", "", map[string]string{"id": "net.find_vlans"}, []string{"net-find-vlans"}},
		{"other://{x}", "x", "", nil, []string{}},
	} {
		got, err := session.Complete(t.Context(), &sdk.CompleteParams{
			Ref:      &sdk.CompleteReference{Type: "ref/resource", URI: row.uri},
			Argument: sdk.CompleteParamsArgument{Name: row.argument, Value: row.value},
			Context:  &sdk.CompleteContext{Arguments: row.given},
		})
		must(t, err)
		if diff := cmp.Diff(row.want, got.Completion.Values); diff != "" {
			t.Errorf("%s %s=%s: %s", row.uri, row.argument, row.value, diff)
		}
	}
}

// TestSkillsExtension checks each listed skill as a client does: the frontmatter, size and
// digest of the entry are those of its file.
func TestSkillsExtension(t *testing.T) {
	t.Parallel()
	s := &stub{conn: serve(t)}
	session := open(t, s)
	ctx := WithCaller(t.Context(), s)
	first, err := listSkills(ctx, nil, nil)
	if err != nil || len(first.Skills) != 1 || first.NextCursor != "2" {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := listSkills(ctx, nil, &listSkillsParams{Cursor: first.NextCursor})
	if err != nil || len(second.Skills) != 1 || second.NextCursor != "" {
		t.Fatalf("%+v, %v", second, err)
	}
	want := first.Skills[0]
	got, err := getSkill(ctx, nil, &getSkillParams{URI: want.URI})
	must(t, err)
	if diff := cmp.Diff(want, got.Skill); diff != "" {
		t.Error(diff)
	}
	if _, err := getSkill(ctx, nil, &getSkillParams{URI: "skill://cairn/x"}); err == nil || !strings.Contains(err.Error(),
		"skills/list has all") {
		t.Errorf("an unknown URI: %v", err)
	}
	file, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: want.URI})
	must(t, err)
	if n := len(file.Contents[0].Text); n != want.Resources[0].Size || file.Contents[0].MIMEType != "text/markdown" {
		t.Errorf("%d bytes of %s, want %d", n, file.Contents[0].MIMEType, want.Resources[0].Size)
	}
	contents := []sdk.ResourceContents{{MIMEType: mediaMarkdown}, {MIMEType: "text/x-python", Text: "print(1)\n"},
		{MIMEType: mediaBinary, Blob: []byte{0, 255}}, {MIMEType: mediaText}}
	if len(second.Skills[0].Resources) != len(contents) {
		t.Fatalf("files: %+v", second.Skills[0].Resources)
	}
	for i, f := range second.Skills[0].Resources {
		res, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: f.URI})
		if err != nil {
			t.Fatal(f.URI, err)
		}
		got, want := *res.Contents[0], contents[i]
		raw := append([]byte(got.Text), got.Blob...)
		if f.Size != len(raw) || f.Digest != "sha256:"+schemas.Digest(raw) {
			t.Errorf("%+v has the content %q", f, raw)
		}
		if want.URI = f.URI; i == 0 {
			want.Text = got.Text
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := getSkill(ctx, nil, &getSkillParams{URI: second.Skills[0].Resources[1].URI}); err == nil {
		t.Error("skills/get accepts the URI of another file")
	}
	list, err := session.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != want.URI || list.NextCursor != "2" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestLargeSkillsEndPage lists skills with long instructions: a page ends after skillsBytes, and the pages
// contain each skill once.
func TestLargeSkillsEndPage(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	svc := bustest.Service(t, bustest.Dial(t, server), "stub")
	const perPage, pages = 3, 4
	var ids []string
	for i := range perPage * pages {
		ids = append(ids, fmt.Sprintf("net.s%02d", i))
	}
	instructions := strings.Repeat("x", skillsBytes/perPage+1)
	var reads atomic.Int64
	err := errors.Join(
		bus.ListSkills.Serve(svc, func(_ context.Context, q schemas.ListQuery) (list schemas.SkillList, err error) {
			var cursor schemas.Cursor
			if q.Cursor != "" {
				if cursor, err = schemas.ParseCursor(q.Cursor); err != nil || !cursor.Global {
					return list, schemas.ErrCursor
				}
			}
			for _, id := range ids {
				if id > cursor.After {
					list.Skills = append(list.Skills, jsontext.Value(`{"skill_id":"`+id+`"}`))
				}
			}
			return list, nil
		}),
		bus.ResolveSkill.Serve(svc, func(_ context.Context, q schemas.SkillQuery) (schemas.SkillAnswer, error) {
			reads.Add(1)
			skill := jsontext.Value(`{"skill_id":"` + q.SkillID + `","instructions":"` + instructions + `"}`)
			return schemas.SkillAnswer{Package: &schemas.SkillPackage{SkillID: q.SkillID, Manifest: skill}}, nil
		}),
	)
	must(t, err)
	s := &stub{conn: conn, ctx: t.Context()}
	ctx := WithCaller(t.Context(), s)
	var got []string
	p := &listSkillsParams{}
	for range pages {
		before := reads.Load()
		page, err := listSkills(ctx, nil, p)
		must(t, err)
		if n := reads.Load() - before; n > perPage {
			t.Errorf("a page read %d skills, want at most %d", n, perPage)
		}
		for _, s := range page.Skills {
			got = append(got, s.Frontmatter.Metadata["skill_id"])
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" || p.Cursor != "" {
		t.Errorf("the cursor after the last page is %q, the skills differ (-want +got)\n%s", p.Cursor, diff)
	}
	if acquired, released := s.acquired.Load(), s.released.Load(); acquired != int64(len(ids)) || released != acquired {
		t.Errorf("acquired a CPU %d times and released it %d times, want %d", acquired, released, len(ids))
	}
}

// TestReservedCharacters checks that files are read by the URI of a listing and by that with
// unescaped reserved characters.
func TestReservedCharacters(t *testing.T) {
	t.Parallel()
	s := &stub{conn: serve(t)}
	session := open(t, s)
	ctx := WithCaller(t.Context(), s)
	entry, _, err := listedSkill(s, "a.$&+=:@/b")
	must(t, err)
	if want := "skill://cairn/a.%24%26%2B%3D%3A%40%2Fb/" + entry.Frontmatter.Name +
		"/c%2B/d%40"; entry.Resources[1].URI != want {
		t.Errorf("got %s, want %s", entry.Resources[1].URI, want)
	}
	unescaped := strings.NewReplacer("%24", "$", "%26", "&", "%2B", "+", "%3D", "=", "%3A", ":", "%40", "@")
	for _, uri := range []string{entry.URI, unescaped.Replace(entry.URI)} {
		if _, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		got, err := getSkill(ctx, nil, &getSkillParams{URI: uri})
		if err != nil || got.Skill.URI != entry.URI {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
		dir, err := readDirectory(ctx, nil, &readDirectoryParams{URI: strings.TrimSuffix(uri, "/"+skillFile)})
		if err != nil || len(dir.Resources) != 2 || dir.Resources[0].URI != entry.URI {
			t.Errorf("%s: %+v, %v", uri, dir, err)
		}
	}
}

func TestSkillFrontmatter(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, row := range []struct{ id, purpose, name, description string }{
		{"net.find_vlans", "Find VLANs", "net-find-vlans", "Find VLANs"},
		{"Net.Find", "two\nlines: \"quoted\" # no comment", "net-find", `two lines: "quoted" # no comment`},
		{"a.true", "---", "a-true", "---"},
		{"a.b", "null", "a-b", "null"},
		{"网络.显示", "\u0000\u2028\ufffe x \u0085", "", "x"},
		{"netz.zeigeä", "", "", "netz.zeigeä"},
		{"a." + strings.Repeat("b-", 100), strings.Repeat("ä", 2000), "", strings.Repeat("ä", 1023) + "…"},
		{"-._", "", "", "-._"},
	} {
		entry, text, err := describeSkill(jsontext.Value(mustJSON(t, schemas.Skill{SkillID: row.id, Purpose: row.purpose})))
		must(t, err)
		_, rest, _ := strings.Cut(string(text), "---\n")
		head, _, _ := strings.Cut(rest, "\n---\n")
		var parsed struct {
			Name, Description, License, Compatibility string
			AllowedTools                              string `yaml:"allowed-tools"`
			Metadata                                  map[string]string
		}
		if err := yaml.Unmarshal([]byte(head), &parsed); err != nil {
			t.Fatalf("%s: %v in %s", row.id, err, head)
		}
		if diff := cmp.Diff(entry.Frontmatter, skillfile.Frontmatter(parsed)); diff != "" {
			t.Errorf("%s: the entry differs from the file: %s", row.id, diff)
		}
		if parsed.Description != row.description || row.name != "" && parsed.Name != row.name {
			t.Errorf("%s: got %q, %q, want %q, %q", row.id, parsed.Name, parsed.Description, row.name, row.description)
		}
		if !names.MatchString(parsed.Name) || len(parsed.Name) > skillfile.MaxName || parsed.Metadata["skill_id"] != row.id {
			t.Errorf("%s: invalid name %q or metadata %v", row.id, parsed.Name, parsed.Metadata)
		}
		if !strings.HasSuffix(entry.URI, "/"+parsed.Name+"/SKILL.md") {
			t.Errorf("%s: the URI %s does not end in the name", row.id, entry.URI)
		}
	}
	if skillfile.Name("网络.显示") == skillfile.Name("网络.其他") {
		t.Error("ids without Latin letters have the same name")
	}
}

func TestSkillMarkdown(t *testing.T) {
	t.Parallel()
	_, text, err := describeSkill(summary())
	want := `---
name: "net-other"
description: "net.other"
license: "MIT"
metadata:
  labels: "team=net,tier=gold"
  skill_id: "net.other"
  version: "1.2.0"
---

# Steps

1. Look.

## Package

`
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%s, %v", text, err)
	}
	// Earlier versions stored these fields without interpretation.
	_, text, err = describeSkill(
		jsontext.Value(`{"skill_id":"a.b","purpose":"Old","instructions":7,"license":[],"resources":{}}`))
	if err != nil || !strings.Contains(string(text), "\n# a.b\n\nOld\n") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestImportedSkill: a skill that was imported comes out with its name and its frontmatter.
func TestImportedSkill(t *testing.T) {
	t.Parallel()
	entry, text, err := describeSkill(jsontext.Value(`{"skill_id":"d.pdf-tool","name":"pdf-tool","description":"Fills forms.",
		"compatibility":"Requires Python","allowed_tools":"Bash(git:*) Read","source_version":"1.0","metadata":{"author":"a","on":"b: c"},
		"status":"deprecated","replaced_by":"d.forms"}`))
	want := `---
name: "pdf-tool"
description: "Fills forms."
compatibility: "Requires Python"
allowed-tools: "Bash(git:*) Read"
metadata:
  "author": "a"
  "on": "b: c"
  replaced_by: "d.forms"
  skill_id: "d.pdf-tool"
  status: "deprecated"
  version: "1.0"
---

` + "> This skill is deprecated, replaced by `d.forms`.\n"
	if err != nil || !strings.HasPrefix(string(text), want) || entry.URI != "skill://cairn/d.pdf-tool/pdf-tool/SKILL.md" {
		t.Errorf("%s, %v, %s", text, err, entry.URI)
	}
	if f := entry.Frontmatter; f.Metadata["status"] != "deprecated" || f.Compatibility == "" || f.AllowedTools == "" {
		t.Errorf("got %+v", f)
	}
	for _, other := range []string{`"Not A Name"`, `7`, `"-a"`} {
		entry, _, err := describeSkill(jsontext.Value(`{"skill_id":"d.pdf-tool","compatibility":[],"metadata":7,"name":` +
			other + `}`))
		if err != nil || entry.Frontmatter.Name != "d-pdf-tool" {
			t.Errorf("the name %s: %+v, %v", other, entry, err)
		}
	}
	if got := hits(schemas.SkillHits{Skills: []jsontext.Value{[]byte(
		`{"skill_id":"a.b","score":1,"status":"deprecated","replaced_by":"a.c"}`)}}); got !=
		"1. `a.b` (score 1.00; deprecated, replaced by `a.c`)\n" {
		t.Errorf("a hit that is deprecated: %q", got)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}

// TestPanic: a panic of a handler is the error of its request.
func TestPanic(t *testing.T) {
	t.Parallel()
	session := open(t, &stub{}) // without a connection, which a request dereferences
	call := sdk.CallToolParams{Name: "resolve_skill", Arguments: jsontext.Value(`{"skill_id":"a.b"}`)}
	if _, err := session.CallTool(t.Context(), &call); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("got %v, want the panic", err)
	}
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Errorf("after the panic: %v", err)
	}
}

// must fails the test on an error of its setup.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
