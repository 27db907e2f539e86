package schemas

import (
	"github.com/go-json-experiment/json/jsontext"
)

// Classes of tools of the Model Context Protocol.
const (
	ClassMCPServer = "mcp_server" // an MCP server without its tools, as registries describe it
	ClassMCPTool   = "mcp"        // a tool of an MCP server
)

// The types of the API of MCP registries, v0.1, with its names of members.

// ServerQuery requests a page of MCP servers.
type ServerQuery struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"absent: global scope only"`
	Version  string  `json:"version,omitzero" doc:"latest, or absent: there is one version of a server"`
	Search   string  `json:"search,omitzero" doc:"only servers whose name contains this text, in any case"`
	// UpdatedSince is named as by the registry.
	UpdatedSince   string `json:"updated_since,omitzero" doc:"only servers that were registered at or after this time, RFC 3339"`
	IncludeDeleted bool   `json:"include_deleted,omitzero" doc:"accepted; deleted servers are not listed"`
	Limit          *int   `json:"limit,omitzero" doc:"page length, 1 to 100; 100 by default"`
	Cursor         string `json:"cursor,omitzero" doc:"nextCursor of the previous page"`
}

// ServerRef names an MCP server.
type ServerRef struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"absent: global scope only"`
	Server   string  `json:"serverName" doc:"name of the server, such as io.github.user/weather, escaped in the path"`
}

// ServerVersion names a version of an MCP server.
type ServerVersion struct {
	ServerRef
	Version string `json:"version" doc:"version of the server, or latest"`
}

// ServerList is a page of MCP servers, or the versions of one.
type ServerList struct {
	Servers  []ServerEntry `json:"servers"`
	Metadata ServerPage    `json:"metadata"`
}

// ServerPage describes a page.
type ServerPage struct {
	Count      int     `json:"count" doc:"number of servers of the page"`
	NextCursor *string `json:"nextCursor,omitzero" doc:"absent on the last page"`
}

// ServerEntry is an MCP server.
type ServerEntry struct {
	Server jsontext.Value `json:"server" doc:"its server.json as it was registered"`
	Meta   ServerMeta     `json:"_meta"`
}

// ServerMeta is the metadata that a registry adds to a server.
type ServerMeta struct {
	Official ServerStatus `json:"io.modelcontextprotocol.registry/official"`
}

// ServerStatus is the state of a server.
type ServerStatus struct {
	Status          string `json:"status" doc:"active or deprecated"`
	StatusChangedAt string `json:"statusChangedAt,omitzero" doc:"RFC 3339; absent: before the retained history"`
	PublishedAt     string `json:"publishedAt,omitzero" doc:"first registration, RFC 3339; absent: before the retained history"`
	UpdatedAt       string `json:"updatedAt,omitzero" doc:"last registration, RFC 3339"`
	IsLatest        bool   `json:"isLatest" doc:"always true: there is one version of a server"`
}
