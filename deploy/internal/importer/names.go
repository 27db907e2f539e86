package importer

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// segment encodes a name as one segment of an id: characters other than letters, digits, - and _ are
// percent-encoded. url.PathUnescape decodes it.
func segment(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			_, _ = fmt.Fprintf(&b, "%%%02X", c) // a builder write cannot fail
		}
	}
	return b.String()
}

// maxSlug bounds a slug, in bytes: an id has two and at most 256 characters.
const maxSlug = 120

// slug returns a readable segment of an id: letters, digits and _ of the name, with a hyphen for other
// characters. A long one ends in a hash.
func slug(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	text := strings.Join(words, "-")
	if text == "" || len(text) > maxSlug {
		return hashed(text, name)
	}
	return text
}

// hashed returns a slug that ends in a hash of the name.
func hashed(text, name string) string {
	const digits = 8
	text = strings.ToValidUTF8(text[:min(len(text), maxSlug-digits-1)], "")
	return strings.TrimLeft(text+"-"+schemas.Digest([]byte(name))[:digits], "-")
}

// serverID returns the id of an MCP server from its namespace and name, such as
// io.github.user.weather for io.github.user/weather. A name without a namespace has the namespace mcp.
func serverID(name string) string {
	namespace, short, ok := strings.Cut(name, "/")
	if !ok {
		return "mcp." + segment(name)
	}
	parts := strings.Split(namespace, ".")
	for i, p := range parts {
		parts[i] = segment(p)
	}
	return strings.Join(parts, ".") + "." + segment(short)
}

// versioned has the version of a source: a semantic version as the version of the record, any
// other as source_version.
type versioned struct {
	Version       string `json:"version,omitzero"`
	SourceVersion string `json:"source_version,omitzero"`
}

func versionOf(text string) versioned {
	if schemas.ValidVersion(text) {
		return versioned{Version: text}
	}
	return versioned{SourceVersion: text}
}

// tool is a record of a tool.
type tool struct {
	ToolID      string `json:"tool_id"`
	ToolClass   string `json:"tool_class,omitzero"`
	Provider    string `json:"provider,omitzero"`
	DisplayName string `json:"display_name,omitzero"`
	Description string `json:"description,omitzero"`
	Status      string `json:"status,omitzero"`
	versioned
	Capabilities []string       `json:"capabilities,omitempty"`
	InputSchema  any            `json:"input_schema,omitempty"`
	OutputSchema any            `json:"output_schema,omitempty"`
	Annotations  any            `json:"annotations,omitempty"`
	MCP          any            `json:"mcp,omitempty"`
	OpenAPI      any            `json:"openapi,omitempty"`
	Server       jsontext.Value `json:"server_json,omitzero"`
}

// agent is a record of an agent.
type agent struct {
	AgentID     string `json:"agent_id"`
	DisplayName string `json:"display_name,omitzero"`
	Description string `json:"description,omitzero"`
	Status      string `json:"status,omitzero"`
	versioned
	Capabilities   []string       `json:"capabilities,omitempty"`
	ExampleQueries []string       `json:"example_queries,omitempty"`
	MCP            any            `json:"mcp,omitempty"`
	Server         jsontext.Value `json:"server_json,omitzero"`
	Card           jsontext.Value `json:"agent_card,omitzero"`
}

// maxItems is the maximum number of items of a list in a record.
const maxItems = 1000

// bounded returns at most maxItems of the texts that are not empty.
func bounded(list []string) []string {
	var kept []string
	for _, text := range list {
		if text != "" && len(kept) < maxItems {
			kept = append(kept, text)
		}
	}
	return kept
}
