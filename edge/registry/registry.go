// Package registry translates the read part of the API of MCP registries
// (github.com/modelcontextprotocol/registry, v0.1) to listings of tools. A server of the
// registry is a tool of the class mcp_server with a server.json, as "cairn import" registers
// it; its provider is the name of the server.
package registry

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// class is the class of the tools that are MCP servers.
const class = "mcp_server"

// latest is the version that means the newest one, the only one that a tool has.
const latest = "latest"

// List returns the listing for a page of servers.
func List(q schemas.ServerQuery) schemas.ListQuery {
	return schemas.ListQuery{TenantID: q.TenantID, ToolClass: class, Limit: q.Limit, Cursor: q.Cursor}
}

// Page returns the servers of a page of tools. Tools without a server.json are left out.
func Page(_ schemas.ServerQuery, tools schemas.ToolList) (schemas.ServerList, error) {
	page := schemas.ServerList{Servers: []schemas.ServerEntry{}}
	for _, t := range tools.Tools {
		if entry, ok := read(t); ok {
			page.Servers = append(page.Servers, entry.ServerEntry)
		}
	}
	page.Metadata = schemas.ServerPage{Count: len(page.Servers), NextCursor: tools.NextCursor}
	return page, nil
}

// Find returns the listing for the versions of a server.
func Find(r schemas.ServerRef) schemas.ListQuery {
	return schemas.ListQuery{TenantID: r.TenantID, ToolClass: class, Provider: r.Server}
}

// Versions returns the versions of a server, or schemas.ErrToolNotFound.
func Versions(r schemas.ServerRef, tools schemas.ToolList) (schemas.ServerList, error) {
	page, err := Page(schemas.ServerQuery{}, tools)
	if err == nil && len(page.Servers) == 0 {
		err = schemas.ErrToolNotFound.Because(fmt.Sprintf("no MCP server %q is registered", r.Server))
	}
	page.Metadata.NextCursor = nil
	return page, err
}

// Version returns a version of a server, or schemas.ErrToolNotFound.
func Version(r schemas.ServerVersion, tools schemas.ToolList) (schemas.ServerEntry, error) {
	for _, t := range tools.Tools {
		if entry, ok := read(t); ok && (r.Version == latest || r.Version == entry.version) {
			return entry.ServerEntry, nil
		}
	}
	return schemas.ServerEntry{}, schemas.ErrToolNotFound.Because(
		fmt.Sprintf("no version %q of an MCP server %q is registered", r.Version, r.Server))
}

// server is the server of a tool.
type server struct {
	schemas.ServerEntry
	version string
}

// read returns the server of a tool, if it has one.
func read(record jsontext.Value) (s server, ok bool) {
	var tool struct {
		Status string         `json:"status"`
		Server jsontext.Value `json:"server_json"`
	}
	var file struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if json.Unmarshal(record, &tool) != nil || json.Unmarshal(tool.Server, &file) != nil || file.Name == "" {
		return server{}, false
	}
	status := schemas.StatusActive
	if tool.Status == schemas.StatusDeprecated {
		status = tool.Status
	}
	s = server{schemas.ServerEntry{Server: tool.Server}, file.Version}
	s.Meta.Official = schemas.ServerStatus{Status: status, IsLatest: true}
	return s, true
}
