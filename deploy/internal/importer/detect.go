package importer

import (
	"errors"
	"strings"

	"cairn/deploy/internal/flags"
)

// errUnknown is the error of a source without a known format.
var errUnknown = flags.Usage(
	errors.New("unknown format: expected skills, an MCP server, server.json, an MCP registry, an OpenAPI document, " +
		"an A2A agent card or a Cairn; --format selects one. Records are registered by cairn apply"))

// formatOf returns the format of a document; empty: unknown.
func formatOf(doc object) string {
	contains := func(names ...string) bool {
		for _, name := range names {
			if doc[name] == nil {
				return false
			}
		}
		return true
	}
	switch {
	case contains("openapi"), contains("swagger"):
		return formatOpenAPI
	case contains("servers") && doc["servers"].Kind() == '[':
		return formatRegistry
	case doc[listOfCards].Kind() == '[', contains("name", "skills", "url"),
		contains("name", "skills", "supportedInterfaces"),
		contains("name", "skills", "protocolVersion"):
		return formatCard
	case contains("name") && (contains("packages") || contains("remotes") ||
		strings.Contains(doc.text("$schema"), "server.schema.json")):
		return formatServer
	}
	return ""
}

// wellKnown are the paths that are requested below a URL whose own response has no known
// format, with the formats of their responses.
var wellKnown = []struct{ path, format string }{
	{"records/skill?limit=1", formatCairn}, // which is a registry too
	{"v0.1/servers?limit=100&version=latest", formatRegistry}, {"v0/servers?limit=100", formatRegistry},
	{".well-known/agent-card.json", formatCard},
}
