package registry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/edge/registry"
	"cairn/schemas"
)

// tools are records in pages of a fixed length, regardless of the limit, ordered by id.
type tools struct {
	records []jsontext.Value
	decoded []schemas.Tool
	page    int
}

func newTools(t *testing.T, page int, records ...string) tools {
	t.Helper()
	s := tools{page: page, decoded: make([]schemas.Tool, len(records))}
	for i, record := range records {
		s.records = append(s.records, jsontext.Value(record))
		if err := json.Unmarshal([]byte(record), &s.decoded[i]); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s tools) Tools(q schemas.ListQuery) (list schemas.ToolList, err error) {
	var from int
	_, _ = fmt.Sscan(q.Cursor, &from) // empty: 0
	for i := from; i < len(s.records); i++ {
		tool := &s.decoded[i]
		if tool.ToolClass != q.ToolClass || q.Provider != "" && tool.Provider != q.Provider {
			continue
		}
		if len(list.Tools) == min(s.page, *q.Limit) {
			next := fmt.Sprint(i)
			list.NextCursor = &next
			break
		}
		list.Tools = append(list.Tools, s.records[i])
	}
	return list, nil
}

func (s tools) History(k schemas.RecordKey) (h schemas.RecordHistory, err error) {
	for i, status := range []string{"deprecated", "deprecated", "", "active"} {
		h.Revisions = append(h.Revisions,
			schemas.RecordRevision{StoredAt: fmt.Sprintf("2026-11-2%dT00:00:00Z", 9-i), Status: status})
	}
	if strings.HasSuffix(k.ID, "new") {
		h.Revisions = append(h.Revisions, schemas.RecordRevision{Removed: true})
	}
	return h, nil
}

// namesOf returns the names of the servers of all pages.
func namesOf(t *testing.T, s tools, q schemas.ServerQuery) string {
	t.Helper()
	var names []string
	for range 20 {
		page, err := registry.Servers(s, q)
		if err != nil || len(page.Servers) > *q.Limit || page.Metadata.Count != len(page.Servers) {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, e := range page.Servers {
			var file struct {
				Name string `json:"name"`
			}
			if err := json.Unmarshal(e.Server, &file); err != nil {
				t.Fatal(err)
			}
			names = append(names, file.Name)
		}
		if page.Metadata.NextCursor == nil {
			break
		}
		q.Cursor = *page.Metadata.NextCursor
	}
	return strings.Join(names, " ")
}

func TestServers(t *testing.T) {
	t.Parallel()
	s := newTools(t, 2,
		`{"tool_id":"a.w.@server","tool_class":"mcp_server","provider":"a/w","status":"deprecated","server_json":{"name":"a/w","version":"1.0.2"}}`,
		`{"tool_id":"a.w.forecast","tool_class":"mcp","provider":"a/w"}`,
		`{"tool_id":"a.none","tool_class":"mcp_server","provider":"x"}`,
		`{"tool_id":"a.text","tool_class":"mcp_server","provider":"x","server_json":"text"}`,
		`{"tool_id":"b.1","tool_class":"mcp","provider":"b","version":"2.0.0","mcp":{"url":"https://b"}}`,
		`{"tool_id":"b.2","tool_class":"mcp","provider":"b"}`, `{"tool_id":"b.3","tool_class":"mcp","provider":"b"}`,
		`{"tool_id":"c.1","tool_class":"mcp","provider":"c"}`, `{"tool_id":"d.1","tool_class":"openapi","provider":"d"}`,
	)
	for limit := 1; limit <= 4; limit++ {
		for _, row := range []struct{ search, since, want string }{
			{"", "", "a/w b c"}, {"A/", "", "a/w"}, {"z", "", ""}, {"", "2026-11-29T00:00:00Z", "a/w b c"},
			{"", "2026-11-29T00:00:01Z", ""},
		} {
			got := namesOf(t, s, schemas.ServerQuery{Limit: &limit, Search: row.search, UpdatedSince: row.since})
			if got != row.want {
				t.Errorf("%d a page, %+v: %q", limit, row, got)
			}
		}
	}
	limit := 10
	for _, text := range []string{"x", "s", "s..", "u.YQ.YQ", "t.!.", "s.a.b.c"} {
		_, err := registry.Servers(s, schemas.ServerQuery{Limit: &limit, Cursor: text})
		if valid := text == "s.."; valid != (err == nil) || !valid && !errors.Is(err, schemas.ErrMalformed) {
			t.Errorf("the cursor %q: %v", text, err)
		}
	}
}

// counter counts the requests to a source.
type counter struct {
	registry.Source

	requests int
}

func (c *counter) Tools(q schemas.ListQuery) (schemas.ToolList, error) {
	c.requests++
	return c.Source.Tools(q)
}

func (c *counter) History(k schemas.RecordKey) (schemas.RecordHistory, error) {
	c.requests++
	return c.Source.History(k)
}

// TestLookupsAreBounded lists many servers of which a query selects few or none.
func TestLookupsAreBounded(t *testing.T) {
	t.Parallel()
	const providers = 450
	var all, records []string
	for i := range providers {
		name := fmt.Sprintf("p%03d", i)
		all = append(all, name)
		records = append(records, fmt.Sprintf(`{"tool_id":"%[1]s.tool","tool_class":"mcp","provider":%[1]q}`, name))
	}
	s := newTools(t, providers, records...)
	limit := 100
	for _, row := range []struct {
		name        string
		query       schemas.ServerQuery
		maxRequests int
		want        string
	}{
		{"all servers", schemas.ServerQuery{}, 210, strings.Join(all, " ")},
		{"a search without a match", schemas.ServerQuery{Search: "zzz"}, 10, ""},
		{"a search with one match", schemas.ServerQuery{Search: "p433"}, 10, "p433"},
		{"no server updated since", schemas.ServerQuery{UpdatedSince: "2026-11-29T00:00:01Z"}, 210, ""},
	} {
		row.query.Limit = &limit
		if got := namesOf(t, s, row.query); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
		c := &counter{Source: s}
		if _, err := registry.Servers(c, row.query); err != nil || c.requests > row.maxRequests {
			t.Errorf("%s: %d requests, %v; want at most %d", row.name, c.requests, err, row.maxRequests)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	s := newTools(t, 2,
		`{"tool_id":"a.w.@server","tool_class":"mcp_server","provider":"a/w","status":"deprecated","server_json":{"name":"a/w","version":"1.0.2"}}`,
		`{"tool_id":"b.1","tool_class":"mcp","provider":"b","version":"2.0.0","mcp":{"url":"https://b"}}`,
	)
	ref := schemas.ServerRef{Server: "a/w"}
	for version, exists := range map[string]bool{"latest": true, "1.0.2": true, "1.0.1": false, "": false} {
		got, err := registry.Version(s, schemas.ServerVersion{ServerRef: ref, Version: version})
		if exists != (err == nil) || !exists && !errors.Is(err, schemas.ErrToolNotFound) {
			t.Errorf("version %q: %+v, %v", version, got, err)
		}
		want := schemas.ServerStatus{Status: "deprecated", StatusChangedAt: "2026-11-28T00:00:00Z",
			PublishedAt: "2026-11-26T00:00:00Z",
			UpdatedAt:   "2026-11-29T00:00:00Z", IsLatest: true}
		if exists && got.Meta.Official != want {
			t.Errorf("got %+v, want %+v", got.Meta.Official, want)
		}
	}
	list, err := registry.Versions(s, schemas.ServerRef{Server: "b"})
	want := `{"name":"b","description":"MCP server whose tools are registered","version":"2.0.0","remotes":[{"type":"streamable-http","url":"https://b"}]}`
	if err != nil || len(list.Servers) != 1 || string(list.Servers[0].Server) != want {
		t.Errorf("%+v, %v, want %s", list, err, want)
	}
	if _, err := registry.Versions(s, schemas.ServerRef{Server: "d"}); !errors.Is(err, schemas.ErrToolNotFound) {
		t.Errorf("no server: %v", err)
	}
}
