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

// tools are records in pages of a fixed length, whatever the limit, ordered by id.
type tools struct {
	records []string
	page    int
}

func (s tools) Tools(q schemas.ListQuery) (list schemas.ToolList, err error) {
	var from int
	_, _ = fmt.Sscan(q.Cursor, &from) // empty: 0
	for i := from; i < len(s.records); i++ {
		var tool schemas.Tool
		if err := json.Unmarshal([]byte(s.records[i]), &tool); err != nil {
			return list, err
		}
		if tool.ToolClass != q.ToolClass || q.Provider != "" && tool.Provider != q.Provider {
			continue
		}
		if len(list.Tools) == min(s.page, *q.Limit) {
			next := fmt.Sprint(i)
			list.NextCursor = &next
			break
		}
		list.Tools = append(list.Tools, jsontext.Value(s.records[i]))
	}
	return list, nil
}

func (s tools) History(k schemas.RecordKey) (h schemas.RecordHistory, err error) {
	for i, status := range []string{"deprecated", "deprecated", "", "active"} {
		h.Revisions = append(h.Revisions, schemas.RecordRevision{StoredAt: fmt.Sprintf("2026-11-2%dT00:00:00Z", 9-i), Status: status})
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
	s := tools{page: 2, records: []string{
		`{"tool_id":"a.w.@server","tool_class":"mcp_server","provider":"a/w","status":"deprecated","server_json":{"name":"a/w","version":"1.0.2"}}`,
		`{"tool_id":"a.w.forecast","tool_class":"mcp","provider":"a/w"}`,
		`{"tool_id":"a.none","tool_class":"mcp_server","provider":"x"}`,
		`{"tool_id":"a.text","tool_class":"mcp_server","provider":"x","server_json":"text"}`,
		`{"tool_id":"b.1","tool_class":"mcp","provider":"b","version":"2.0.0","mcp":{"url":"https://b"}}`,
		`{"tool_id":"b.2","tool_class":"mcp","provider":"b"}`, `{"tool_id":"b.3","tool_class":"mcp","provider":"b"}`,
		`{"tool_id":"c.1","tool_class":"mcp","provider":"c"}`, `{"tool_id":"d.1","tool_class":"openapi","provider":"d"}`,
	}}
	for limit := 1; limit <= 4; limit++ {
		for _, row := range []struct{ search, since, want string }{
			{"", "", "a/w b c"}, {"A/", "", "a/w"}, {"z", "", ""}, {"", "2026-11-29T00:00:00Z", "a/w b c"}, {"", "2026-11-29T00:00:01Z", ""},
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

func TestVersions(t *testing.T) {
	t.Parallel()
	s := tools{page: 2, records: []string{
		`{"tool_id":"a.w.@server","tool_class":"mcp_server","provider":"a/w","status":"deprecated","server_json":{"name":"a/w","version":"1.0.2"}}`,
		`{"tool_id":"b.1","tool_class":"mcp","provider":"b","version":"2.0.0","mcp":{"url":"https://b"}}`,
	}}
	ref := schemas.ServerRef{Server: "a/w"}
	for version, found := range map[string]bool{"latest": true, "1.0.2": true, "1.0.1": false, "": false} {
		got, err := registry.Version(s, schemas.ServerVersion{ServerRef: ref, Version: version})
		if found != (err == nil) || !found && !errors.Is(err, schemas.ErrToolNotFound) {
			t.Errorf("version %q: %+v, %v", version, got, err)
		}
		want := schemas.ServerStatus{Status: "deprecated", StatusChangedAt: "2026-11-28T00:00:00Z", PublishedAt: "2026-11-26T00:00:00Z",
			UpdatedAt: "2026-11-29T00:00:00Z", IsLatest: true}
		if found && got.Meta.Official != want {
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
