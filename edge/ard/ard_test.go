package ard_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"cairn/edge/ard"
	"cairn/schemas"
)

func publisher(t testing.TB) ard.Publisher {
	t.Helper()
	p, err := ard.NewPublisher("Example.com", "")
	must(t, err)
	return p
}

func TestNewPublisher(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		domain, base string
		valid        bool
	}{
		{"example.com", "", true},
		{"agent.localhost", "http://127.0.0.1:8080/", true},
		{"a.b-c.example.co.uk", "https://proxy.example.com/cairn", true},
		{"", "", false},
		{"localhost", "", false},
		{"127.0.0.1", "", false},
		{"example.com.", "", false},
		{"-a.example.com", "", false},
		{"exa mple.com", "", false},
		{"example.com:80", "", false},
		{"münchen.de", "", false},
		{strings.Repeat("a", 64) + ".com", "", false},
		{strings.Repeat("a.", 130) + "com", "", false},
		{"example.com", "cairn.example.com", false},
		{"example.com", "ftp://cairn.example.com", false},
		{"example.com", "https://", false},
		{"example.com", "https://u:p@cairn.example.com", false},
		{"example.com", "https://cairn.example.com/?a=b", false},
		{"example.com", "https://cairn.example.com/#a", false},
		{"example.com", "https://a b", false},
	} {
		p, err := ard.NewPublisher(row.domain, row.base)
		if (err == nil) != row.valid || p.Enabled() != row.valid {
			t.Errorf("%q %q: on %t, %v; want valid %t", row.domain, row.base, p.Enabled(), err, row.valid)
		}
	}
}

// skill returns a published skill with the id.
func skill(id string) jsontext.Value {
	text, _ := jsontext.AppendQuote(nil, id)
	return jsontext.Value(`{"skill_id":` + string(text) + `,"public":true}`)
}

func TestEntry(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, kind, record, want string // want is the entry; empty: none
	}{
		{"a skill", "skill", `{"skill_id":"a.b","public":true,"purpose":"p","domain":"a"}`,
			`{"identifier":"urn:air:example.com:skill:a.b","displayName":"a.b","type":"application/ai-skill+md",` +
				`"url":"https://example.com/ard/skills/a.b/SKILL.md","description":"p","tags":["a"]}`},
		{"of a tenant, with an id of other characters", "skill",
			`{"skill_id":"a.b/ü","tenant_id":"t/1","public":true,"description":"d","purpose":"p"}`,
			`{"identifier":"urn:air:example.com:tenant:t_2F1:skill:a.b_2F_C3_BC","displayName":"a.b/ü","type":"application/ai-skill+md",` +
				`"url":"https://example.com/ard/tenants/t%2F1/skills/a.b%2F%C3%BC/SKILL.md","description":"d"}`},
		{"an agent", "agent", `{"agent_id":"x","public":true,"agent_card":{"a":[1]},"display_name":"X","capabilities":["c"],"version":"1.0.0",` +
			`"labels":{"l":"v"},"example_queries":["1","2","3","4","5","6"]}`,
			`{"identifier":"urn:air:example.com:agent:x","displayName":"X","type":"application/a2a-agent-card+json","data":{"a":[1]},` +
				`"capabilities":["c"],"representativeQueries":["1","2","3","4","5"],"version":"1.0.0","metadata":{"l":"v"}}`},
		{"a deprecated server with one query", "tool",
			`{"tool_id":"x.y.z","public":true,"server_json":{},"status":"deprecated","example_queries":["1"]}`,
			`{"identifier":"urn:air:example.com:server:x.y.z","displayName":"x.y.z","type":"application/mcp-server-card+json","data":{},` +
				`"status":"deprecated"}`},
		{"by default", "skill", `{"skill_id":"a.b"}`, ``},
		{"public of another type", "skill", `{"skill_id":"a.b","public":"true"}`, ``},
		{"a draft", "skill", `{"skill_id":"a.b","public":true,"status":"draft"}`, ``},
		{"retired", "skill", `{"skill_id":"a.b","public":true,"status":"retired"}`, ``},
		{"an agent without a card", "agent", `{"agent_id":"x","public":true}`, ``},
		{"an agent with a card that is no object", "agent", `{"agent_id":"x","public":true,"agent_card":"{}"}`, ``},
		{"a tool without a server", "tool", `{"tool_id":"x.y.z","public":true,"agent_card":{}}`, ``},
		{"another kind", "guardrail", `{"guardrail_id":"g","public":true}`, ``},
		{"no record", "skill", `[]`, ``},
	} {
		e, ok := publisher(t).Entry(row.kind, jsontext.Value(row.record))
		got := ""
		if ok {
			text, err := json.Marshal(e)
			must(t, err)
			got = string(text)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// identified returns a search for the entry of an identifier.
func identified(urn string) schemas.ARDSearch {
	return schemas.ARDSearch{Query: schemas.ARDQuery{Text: "q", Filter: map[string]schemas.ARDValues{"identifier": {urn}}}}
}

// TestIdentifiersAreReversible finds a record by its identifier, and no other.
func TestIdentifiersAreReversible(t *testing.T) {
	t.Parallel()
	p := publisher(t)
	seen := map[string]string{}
	for _, id := range []string{"a.b", "a_b", "a_2F", "a/", "a_5F2F", "a__2F", "a_2", "a_", "_", "__",
		"a_2f", "a-b", "Ü", "_Ü", "a:b", "a_3Ab", "a%2F"} {
		e, ok := p.Entry("skill", skill(id))
		if !ok {
			t.Fatalf("%q is no entry", id)
		}
		if other, twice := seen[e.Identifier]; twice {
			t.Errorf("%q and %q have the identifier %s", other, id, e.Identifier)
		}
		seen[e.Identifier] = id
		search, err := p.NewSearch(identified(e.Identifier), "")
		q, possible := search.Query()
		if err != nil || !possible || !slices.Equal(q.Any.IDs, []string{id}) || !slices.Equal(q.Kinds, []string{"skill"}) {
			t.Errorf("%s: got %v of %v, %v; want %q", e.Identifier, q.Any.IDs, q.Kinds, err, id)
		}
	}
	for _, urn := range []string{"urn:air:example.com:skill:a_2f", "urn:air:example.com:skill:a_61",
		"urn:air:example.com:skill", "a.b",
		"urn:air:example.com:skill:a:b", "urn:air:example.com:tenant::skill:a", "urn:air:example.com:template:a",
		"urn:air:example.org:skill:a.b"} {
		search, err := p.NewSearch(identified(urn), "")
		if q, possible := search.Query(); err != nil || possible && !slices.Equal(q.Any.IDs, []string{"a_2f"}) {
			t.Errorf("%s: got %v, %v", urn, q.Any.IDs, err)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	filter := func(text string) schemas.ARDSearch {
		r, err := schemas.Decode[schemas.ARDSearch]([]byte(`{"query":{"text":"q","filter":`+text+`},"pageSize":3}`),
			schemas.ErrMalformed)
		must(t, err)
		return r
	}
	for _, row := range []struct{ name, filter, want string }{
		{"no filter", `{}`, `{"query":"q","tenant_id":"t","filter":{"public":true},"limit":3}`},
		{"types", `{"type":["application/ai-skill+md","application/a2a-agent-card+json"]}`,
			`{"query":"q","kinds":["agent","skill"],"tenant_id":"t","filter":{"public":true},"limit":3}`},
		{"types and identifiers", `{"type":"application/ai-skill+md","identifier":["urn:air:example.com:agent:x"]}`, ``},
		{"fields", `{"displayName":"n","version":["1","2"],"capabilities":"c","tags":"d","status":"active","publisher":"example.com"}`,
			`{"query":"q","tenant_id":"t","filter":{"public":true},"any":{"display_names":["n"],"versions":["1","2"],"domains":["d"],` +
				`"statuses":["active"],"capabilities":["c"]},"limit":3}`},
		{"labels", `{"metadata.a.b/c":["x","y"],"metadata.d":"z"}`,
			`{"query":"q","tenant_id":"t","filter":{"public":true},"any":{"labels":[["a.b/c=x","a.b/c=y"],["d=z"]]},"limit":3}`},
		{"another publisher", `{"publisher":["example.org"]}`, ``},
	} {
		search, err := publisher(t).NewSearch(filter(row.filter), "t")
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		got := ""
		if q, possible := search.Query(); possible {
			if err := schemas.Validate(&q, schemas.ErrMalformed); err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
			text, err := json.Marshal(q)
			must(t, err)
			got = string(text)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	p, next := publisher(t), 10
	r := schemas.ARDSearch{Query: schemas.ARDQuery{Text: "q"}, Federation: schemas.FederationReferrals}
	search, err := p.NewSearch(r, "")
	must(t, err)
	page := search.Results(schemas.RecordHits{NextOffset: &next, Hits: []schemas.RecordHit{
		{Kind: "skill", Score: 0.996, Record: skill("a.b")},
		{Kind: "skill", Score: 0.5, Record: jsontext.Value(`{"skill_id":"a.private"}`)},
		{Kind: "skill", Score: 0.004, Record: skill("a.c")},
	}})
	if len(page.Results) != 2 || page.Results[0].Score != 100 || page.Results[1].Score != 0 || page.Referrals == nil {
		t.Errorf("got %+v", page)
	}
	r.PageToken = page.PageToken
	search, err = p.NewSearch(r, "")
	if q, _ := search.Query(); err != nil || q.Offset != next {
		t.Errorf("the page token %s: offset %d, %v", r.PageToken, q.Offset, err)
	}
	_, digest, _ := strings.Cut(page.PageToken, ".")
	for _, token := range []string{"-1." + digest, "+1." + digest, "01." + digest, "1001." + digest, "1", "." + digest,
		"10.0"} {
		r.PageToken = token
		if _, err := p.NewSearch(r, ""); err == nil {
			t.Errorf("the page token %s is accepted", token)
		}
	}
}

// TestManifestSchema compares a catalog with the schema of the specification.
func TestManifestSchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/ai-catalog.schema.json")
	must(t, err)
	var schema jsonschema.Schema
	must(t, schema.UnmarshalJSON(text))
	resolved, err := schema.Resolve(nil)
	must(t, err)
	valid := func(m schemas.ARDManifest) error {
		text, err := json.Marshal(m)
		must(t, err)
		var instance map[string]any
		must(t, json.Unmarshal(text, &instance))
		return resolved.Validate(instance)
	}
	p := publisher(t)
	var entries []schemas.ARDEntry
	for kind, records := range map[string][]string{
		"skill": {`{"skill_id":"a.b","public":true}`,
			`{"skill_id":"a.b_2F:ü","tenant_id":"t","public":true,"labels":{"a":"b"},"example_queries":["1"]}`,
			`{"skill_id":"a.c","public":true,"status":"deprecated","domain":"a","version":"1.0.0","example_queries":["1","2","3","4","5","6"]}`},
		"agent": {`{"agent_id":"x","public":true,"agent_card":{"name":"x"},"capabilities":["c"]}`},
		"tool":  {`{"tool_id":"x.y.z","public":true,"server_json":{"name":"x"},"description":"d"}`},
	} {
		for _, record := range records {
			e, ok := p.Entry(kind, jsontext.Value(record))
			if !ok {
				t.Fatalf("%s is no entry", record)
			}
			entries = append(entries, e)
		}
	}
	for _, m := range []schemas.ARDManifest{p.Manifest(nil), p.Manifest(entries)} {
		if err := valid(m); err != nil {
			t.Errorf("%d entries: %v", len(m.Entries), err)
		}
	}
	for name, spoil := range map[string]func(*schemas.ARDEntry){
		"neither url nor data":  func(e *schemas.ARDEntry) { e.URL, e.Data = "", nil },
		"both":                  func(e *schemas.ARDEntry) { e.URL, e.Data = "https://x", jsontext.Value(`{}`) },
		"one query":             func(e *schemas.ARDEntry) { e.RepresentativeQueries = []string{"1"} },
		"an invalid identifier": func(e *schemas.ARDEntry) { e.Identifier += "/" },
		"another kind of data":  func(e *schemas.ARDEntry) { e.URL, e.Data = "", jsontext.Value(`"x"`) },
	} {
		e := entries[0]
		spoil(&e)
		if valid(p.Manifest([]schemas.ARDEntry{e})) == nil {
			t.Errorf("the schema accepts an entry with %s", name)
		}
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	next := "c"
	for tenant, want := range map[string]string{
		"":  "agent/global agent/global:c tool/global tool/global:c skill/global skill/global:c ",
		"t": "agent/tenant agent/tenant:c agent/global agent/global:c tool/tenant tool/tenant:c tool/global tool/global:c skill/tenant skill/tenant:c skill/global skill/global:c ",
	} {
		l, err := ard.NewListing(tenant, "")
		must(t, err)
		var got strings.Builder
		for !l.Done() {
			q := l.Query(5)
			page := schemas.RecordList{NextCursor: &next}
			fmt.Fprintf(&got, "%s/%s", q.Kind, q.Scope)
			if q.Cursor != "" {
				page.NextCursor = nil
				got.WriteString(":" + q.Cursor)
			}
			got.WriteString(" ")
			if !q.Public || *q.Limit != 5 {
				t.Errorf("got %+v", q)
			}
			if l = l.After(page); l.Done() != (l.Token() == "") {
				t.Errorf("done %t with the token %q", l.Done(), l.Token())
			}
			if l.Token() != "" {
				if l, err = ard.NewListing(tenant, l.Token()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("tenant %q (-want +got):\n%s", tenant, diff)
		}
	}
}

// must fails the test on an error of its setup.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
