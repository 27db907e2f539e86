package importer

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
)

// errUnknown is the error of a source without a known format.
var errUnknown = flags.Usage(errors.New("unknown format: expected skills, an MCP server, server.json, an MCP registry, an OpenAPI document, an A2A agent card " +
	"or a Cairn; --format selects one. Records are registered by cairn apply"))

// detect returns the format of the source.
func (s *source) detect(ctx context.Context) (string, error) {
	switch {
	case len(s.Command) > 0:
		return formatMCP, nil
	case s.url != nil:
		return s.detectURL(ctx)
	}
	info, err := os.Stat(s.Source)
	if err != nil {
		return "", err
	}
	if info.IsDir() || strings.EqualFold(filepath.Base(s.Source), "SKILL.md") {
		return formatSkills, nil
	}
	doc, err := s.read(ctx)
	if err != nil {
		return "", err
	}
	if f := formatOf(doc); f != "" {
		return f, nil
	}
	return "", errUnknown
}

// formatOf returns the format of a document; empty: unknown.
func formatOf(doc object) string {
	has := func(names ...string) bool {
		for _, name := range names {
			if doc[name] == nil {
				return false
			}
		}
		return true
	}
	switch {
	case has("openapi"), has("swagger"):
		return formatOpenAPI
	case has("servers") && doc["servers"].Kind() == '[':
		return formatRegistry
	case has("name", "skills", "url"), has("name", "skills", "supportedInterfaces"), has("name", "skills", "protocolVersion"):
		return formatCard
	case has("name") && (has("packages") || has("remotes") || strings.Contains(doc.text("$schema"), "server.schema.json")):
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

// detectURL returns the format of the response, or else of those of well-known paths. A server
// that does not answer GET requests may be an MCP server.
func (s *source) detectURL(ctx context.Context) (string, error) {
	doc, err := s.read(ctx)
	if f := formatOf(doc); f != "" {
		return f, nil
	}
	s.document = nil
	var status *connect.StatusError
	switch {
	case errors.As(err, &status) && (status.StatusCode == http.StatusMethodNotAllowed || status.StatusCode == http.StatusNotAcceptable):
		return formatMCP, nil
	case strings.HasSuffix(strings.TrimRight(s.url.Path, "/"), "/mcp"):
		return formatMCP, nil
	case errors.As(err, &status) && (status.StatusCode == http.StatusUnauthorized || status.StatusCode == http.StatusForbidden):
		return "", err
	case err != nil && !errors.As(err, &status) && !errors.Is(err, errNoDocument):
		return "", err
	}
	for _, w := range wellKnown {
		found, err := s.getBelow(ctx, w.path)
		if err != nil && !errors.As(err, &status) && !errors.Is(err, errNoDocument) {
			return "", err
		}
		if isCairn := w.format == formatCairn && found["records"].Kind() == '['; isCairn || found != nil && formatOf(found) == w.format {
			return w.format, nil
		}
	}
	return "", errUnknown
}

// getBelow reads a document below the URL. If its format is known, it becomes the document of
// the source, with its URL.
func (s *source) getBelow(ctx context.Context, path string) (object, error) {
	at, err := s.url.Parse(strings.TrimRight(s.url.Path, "/") + "/" + path)
	if err != nil {
		return nil, err
	}
	text, err := s.get(ctx, at)
	if err != nil {
		return nil, err
	}
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	if formatOf(doc) != "" {
		s.url, s.document = at, doc
	}
	return doc, nil
}
