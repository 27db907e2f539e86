package schemas

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Publication contains the fields of skills, agents and tools that publish them. Nothing is published
// by default.
type Publication struct {
	Public bool `json:"public,omitzero" doc:"list the record in the catalog of Agentic Resource Discovery; false by default"`
}

// artifacts are the members of records that describe a resource in the format of its
// protocol. A skill is described by its record.
var artifacts = map[string]string{KindAgent: "agent_card", KindTool: "server_json"}

// Published reports whether a record of the kind is published: it is public, active or
// deprecated, and is a skill, an agent with a card or a tool with the server_json of an
// MCP server. The artifact is the card or the server_json; nil for a skill.
func Published(kind string, record []byte) (artifact jsontext.Value, ok bool) {
	var members map[string]jsontext.Value
	if json.Unmarshal(record, &members) != nil || string(members["public"]) != "true" {
		return nil, false
	}
	status, _ := jsontext.AppendUnquote(nil, members["status"]) // absent: active
	member, described := artifacts[kind]
	artifact = members[member]
	if described && artifact.Kind() != jsontext.KindBeginObject || !described && kind != KindSkill {
		return nil, false
	}
	return artifact, Searchable(string(status))
}

// unpublished returns a warning for a public record without the artifact that publishes it.
func unpublished(kind string, members map[string]jsontext.Value) []FieldError {
	member := artifacts[kind]
	if member == "" || string(members["public"]) != "true" || members[member].Kind() == jsontext.KindBeginObject {
		return nil
	}
	return []FieldError{{"public", "without " + member + ", an object, the record is not published"}}
}
