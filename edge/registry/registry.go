// Package registry translates the read part of the API of MCP registries
// (github.com/modelcontextprotocol/registry, v0.1) to listings of tools. A server of the
// registry is a tool of the class mcp_server with a server.json, as "cairn import" registers
// it; its provider is the name of the server. The provider of tools of the class mcp,
// imported from a running server, is a server too, unless it has a server.json.
package registry

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

const (
	// latest is the alias of the newest version, the only one that a tool has.
	latest = "latest"

	// toolsPage and toolsPages bound the tools that a page of servers reads.
	toolsPage  = 200
	toolsPages = 5
	// maxLookups bounds the lookups for single servers of a page. A full page of 100 servers takes two lookups per server.
	maxLookups = 200
)

// Source reads the records.
type Source interface {
	Tools(schemas.ListQuery) (schemas.ToolList, error)
	History(schemas.RecordKey) (schemas.RecordHistory, error)
}

// Servers returns a page of the servers: first those with a server.json, then the others. A page
// may have fewer than the limit, also none, with a cursor.
func Servers(s Source, q schemas.ServerQuery) (schemas.ServerList, error) {
	r := reader{source: s, query: q, limit: schemas.ValueOr(q.Limit, schemas.DefaultLimit)}
	position, err := parseCursor(q.Cursor)
	if err != nil {
		return schemas.ServerList{}, err
	}
	if !position.tools {
		position, err = r.files(position)
	}
	for range toolsPages {
		if err != nil || !position.tools || r.full() {
			break
		}
		position, err = r.providers(position)
	}
	page := schemas.ServerList{Servers: r.list,
		Metadata: schemas.ServerPage{Count: len(r.list), NextCursor: position.text()}}
	if page.Servers == nil {
		page.Servers = []schemas.ServerEntry{}
	}
	return page, err
}

// Versions returns the versions of a server, or schemas.ErrToolNotFound.
func Versions(s Source, r schemas.ServerRef) (schemas.ServerList, error) {
	entry, err := find(s, r)
	if err != nil {
		return schemas.ServerList{}, err
	}
	return schemas.ServerList{Servers: []schemas.ServerEntry{entry.ServerEntry}, Metadata: schemas.ServerPage{Count: 1}},
		nil
}

// Version returns a version of a server, or schemas.ErrToolNotFound.
func Version(s Source, v schemas.ServerVersion) (schemas.ServerEntry, error) {
	entry, err := find(s, v.ServerRef)
	if err == nil && v.Version != latest && v.Version != entry.version {
		err = schemas.ErrToolNotFound.Because(fmt.Sprintf("no version %q of an MCP server %q is registered", v.Version,
			v.Server))
	}
	return entry.ServerEntry, err
}

func find(s Source, r schemas.ServerRef) (server, error) {
	for _, class := range []string{schemas.ClassMCPServer, schemas.ClassMCPTool} {
		tools, err := s.Tools(schemas.ListQuery{TenantID: r.TenantID, ToolClass: class, Provider: r.Server, Limit: new(1)})
		if err != nil {
			return server{}, err
		}
		for _, t := range tools.Tools {
			if entry, ok := read(t); ok {
				return entry, entry.setTimes(s, r.TenantID)
			}
		}
	}
	return server{}, schemas.ErrToolNotFound.Because(fmt.Sprintf("no MCP server %q is registered", r.Server))
}

// cursor is a position among the servers; the zero cursor is the beginning.
type cursor struct {
	tools    bool   // after the servers with a server.json
	page     string // cursor of the page of tools
	provider string // of the last server of that page
	end      bool
}

func parseCursor(text string) (c cursor, err error) {
	if text == "" {
		return c, nil
	}
	if parts := strings.Split(text, "."); len(parts) == 3 && (parts[0] == "s" || parts[0] == "t") {
		page, pageErr := base64.RawURLEncoding.DecodeString(parts[1])
		provider, providerErr := base64.RawURLEncoding.DecodeString(parts[2])
		if pageErr == nil && providerErr == nil {
			return cursor{tools: parts[0] == "t", page: string(page), provider: string(provider)}, nil
		}
	}
	return c, schemas.ErrMalformed.With(schemas.FieldError{Field: "cursor", Message: "expected the nextCursor of a page"})
}

// text returns the text of the cursor; nil at the end.
func (c cursor) text() *string {
	if c.end {
		return nil
	}
	phase := "s"
	if c.tools {
		phase = "t"
	}
	page, provider := base64.RawURLEncoding.EncodeToString([]byte(c.page)),
		base64.RawURLEncoding.EncodeToString([]byte(c.provider))
	return new(phase + "." + page + "." + provider)
}

// reader collects the servers of a page.
type reader struct {
	source  Source
	query   schemas.ServerQuery
	limit   int
	list    []schemas.ServerEntry
	lookups int // of single servers
}

// full reports whether the page ends: it has all of its servers, or took too many lookups.
func (r *reader) full() bool { return len(r.list) == r.limit || r.lookups >= maxLookups }

// matches reports whether the name of the server contains the search.
func (r *reader) matches(entry server) bool {
	return strings.Contains(strings.ToLower(entry.name), strings.ToLower(r.query.Search))
}

// files adds a page of the servers that have a server.json.
func (r *reader) files(position cursor) (next cursor, err error) {
	tools, err := r.source.Tools(schemas.ListQuery{
		TenantID: r.query.TenantID, ToolClass: schemas.ClassMCPServer, Limit: &r.limit, Cursor: position.page,
	})
	if err != nil {
		return position, err
	}
	for _, t := range tools.Tools {
		if entry, ok := read(t); ok && r.matches(entry) {
			if err := r.add(entry); err != nil {
				return position, err
			}
		}
	}
	if tools.NextCursor != nil {
		return cursor{page: *tools.NextCursor}, nil
	}
	return cursor{tools: true}, nil
}

// providers adds the servers of a page of tools. The tools of a server follow one another.
func (r *reader) providers(position cursor) (next cursor, err error) {
	tools, err := r.source.Tools(schemas.ListQuery{
		TenantID: r.query.TenantID, ToolClass: schemas.ClassMCPTool, Limit: new(toolsPage), Cursor: position.page,
	})
	if err != nil {
		return position, err
	}
	list := make([]server, 0, len(tools.Tools))
	first := 0
	for _, t := range tools.Tools {
		if entry, ok := read(t); ok {
			if list = append(list, entry); entry.name == position.provider {
				first = len(list)
			}
		}
	}
	for _, entry := range list[first:] {
		if entry.name == position.provider {
			continue
		}
		if r.full() {
			return position, nil
		}
		position.provider = entry.name
		if !r.matches(entry) {
			continue
		}
		if err := r.addProvider(entry); err != nil {
			return position, err
		}
	}
	if tools.NextCursor == nil {
		return cursor{end: true}, nil
	}
	return cursor{tools: true, page: *tools.NextCursor, provider: position.provider}, nil
}

// addProvider adds the server unless it has a server.json.
func (r *reader) addProvider(entry server) error {
	r.lookups++
	files, err := r.source.Tools(schemas.ListQuery{
		TenantID: r.query.TenantID, ToolClass: schemas.ClassMCPServer, Provider: entry.name, Limit: new(1),
	})
	if err != nil || len(files.Tools) > 0 {
		return err
	}
	return r.add(entry)
}

// add adds the server unless it was updated before the time of the query.
func (r *reader) add(entry server) error {
	r.lookups++
	if err := entry.setTimes(r.source, r.query.TenantID); err != nil {
		return err
	}
	if r.query.UpdatedSince != "" && !entry.updatedSince(r.query.UpdatedSince) {
		return nil
	}
	r.list = append(r.list, entry.ServerEntry)
	return nil
}

// server is the server of a tool.
type server struct {
	schemas.ServerEntry
	name, version string
	tool, tenant  string // id and tenant of the tool
}

// updatedSince reports whether the server was registered at or after the time; false if that
// is not known.
func (s *server) updatedSince(text string) bool {
	since, err := time.Parse(time.RFC3339, text)
	updated, unknown := time.Parse(time.RFC3339, s.Meta.Official.UpdatedAt)
	return err == nil && unknown == nil && !updated.Before(since)
}

// setTimes sets the times that the history of the tool has.
func (s *server) setTimes(source Source, tenant *string) error {
	key := schemas.RecordKey{Kind: schemas.KindTool, ID: s.tool, TenantID: tenant, Scope: schemas.ScopeOf(s.tenant)}
	history, err := source.History(key)
	if err != nil {
		return err
	}
	meta := &s.Meta.Official
	for i, revision := range history.Revisions { // newest first
		if revision.Removed {
			break
		}
		if i == 0 {
			meta.UpdatedAt = revision.StoredAt
		}
		meta.PublishedAt = revision.StoredAt
		if statusOf(revision.Status) == meta.Status && (i == 0 || meta.StatusChangedAt == history.Revisions[i-1].StoredAt) {
			meta.StatusChangedAt = revision.StoredAt
		}
	}
	if len(history.Revisions) >= schemas.MaxHistory { // earlier ones are not retained
		if meta.StatusChangedAt == meta.PublishedAt {
			meta.StatusChangedAt = ""
		}
		meta.PublishedAt = ""
	}
	return nil
}

func statusOf(status string) string {
	if status == schemas.StatusDeprecated {
		return status
	}
	return schemas.StatusActive
}

// remote is a URL of a server in its server.json.
type remote struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// read returns the server of a tool, if it has one.
func read(record jsontext.Value) (s server, ok bool) {
	var tool struct {
		ToolID        string         `json:"tool_id"`
		TenantID      string         `json:"tenant_id"`
		ToolClass     string         `json:"tool_class"`
		Provider      string         `json:"provider"`
		Status        string         `json:"status"`
		Version       string         `json:"version"`
		SourceVersion string         `json:"source_version"`
		Server        jsontext.Value `json:"server_json"`
		MCP           struct {
			URL string `json:"url"`
		} `json:"mcp"`
	}
	if json.Unmarshal(record, &tool) != nil {
		return s, false
	}
	var file struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Version     string   `json:"version"`
		Remotes     []remote `json:"remotes,omitempty"`
	}
	status := statusOf(tool.Status)
	switch {
	case tool.ToolClass == schemas.ClassMCPTool && tool.Provider != "" && tool.Server == nil:
		file.Name, file.Version = tool.Provider, cmp.Or(tool.Version, tool.SourceVersion)
		file.Description = "MCP server whose tools are registered"
		if tool.MCP.URL != "" {
			file.Remotes = []remote{{"streamable-http", tool.MCP.URL}}
		}
		text, err := json.Marshal(file)
		if err != nil {
			return s, false
		}
		tool.Server = text
		status = schemas.StatusActive // of the server, not of one of its tools
	case json.Unmarshal(tool.Server, &file) != nil || file.Name == "":
		return s, false
	}
	s = server{schemas.ServerEntry{Server: tool.Server}, file.Name, file.Version, tool.ToolID, tool.TenantID}
	s.Meta.Official = schemas.ServerStatus{Status: status, IsLatest: true}
	return s, true
}
