package schemas

import (
	"fmt"
	"slices"
)

// AgentCard contains the interpreted fields of an agent card of the Agent2Agent protocol
// (A2A 1.0, 4.4.1), of protocol versions 0.3 and 1.0. Other fields are stored unchanged.
// Lists and objects may be absent where the protocol requires them: ProtoJSON omits empty ones.
type AgentCard struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version" doc:"version of the agent, in a format of its own"`
	// SupportedInterfaces lists the URLs of the agent, since protocol version 1.0.
	SupportedInterfaces []AgentInterface `json:"supportedInterfaces,omitempty" doc:"the most preferred first; required unless url is present"`
	// URL is the URL of the agent in protocol version 0.3.
	URL                string             `json:"url,omitzero" doc:"protocol version 0.3 only"`
	DocumentationURL   string             `json:"documentationUrl,omitzero"`
	IconURL            string             `json:"iconUrl,omitzero"`
	Provider           *AgentProvider     `json:"provider,omitzero"`
	Capabilities       *AgentCapabilities `json:"capabilities,omitzero"`
	DefaultInputModes  []string           `json:"defaultInputModes,omitempty" doc:"media types"`
	DefaultOutputModes []string           `json:"defaultOutputModes,omitempty" doc:"media types"`
	Skills             []AgentSkill       `json:"skills"`
}

// AgentInterface is a URL of an agent and the protocol that is served at this URL.
type AgentInterface struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding" doc:"JSONRPC, HTTP+JSON, GRPC, or another one"`
	ProtocolVersion string `json:"protocolVersion" doc:"such as 1.0"`
}

// AgentProvider is the organization that provides an agent.
type AgentProvider struct {
	Organization string `json:"organization"`
	URL          string `json:"url,omitzero"`
}

// AgentCapabilities lists the optional parts of the protocol that an agent supports.
type AgentCapabilities struct {
	Streaming         bool `json:"streaming,omitzero"`
	PushNotifications bool `json:"pushNotifications,omitzero"`
	ExtendedAgentCard bool `json:"extendedAgentCard,omitzero"`
}

// AgentSkill is one capability of an agent.
type AgentSkill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags,omitempty"`
	Examples    []string `json:"examples,omitempty" doc:"requests that the skill handles"`
}

// Limits of an agent card.
const (
	maxCardText   = 16 << 10 // of a description, in characters
	maxCardURL    = 2048     // in characters
	maxCardSkills = 200
	maxCardItems  = 100 // of any other list
)

// Check returns the invalid fields of the card.
func (a *AgentCard) Check() []FieldError {
	c := checked(a)
	checkCard(&c, "", a)
	return c
}

// checkCard validates the URLs of an agent card whose fields have the prefix in errors; nil is valid.
func checkCard(c *check, prefix string, a *AgentCard) {
	if a == nil {
		return
	}
	if a.URL == "" && len(a.SupportedInterfaces) == 0 {
		c.fail(prefix+"supportedInterfaces", "required, and must not be empty")
	}
	for i, entry := range a.SupportedInterfaces[:min(len(a.SupportedInterfaces), maxCardItems)] {
		if entry.URL != "" && (entry.ProtocolBinding == "JSONRPC" || entry.ProtocolBinding == "HTTP+JSON") {
			c.webURL(fmt.Sprintf("%ssupportedInterfaces[%d].url", prefix, i), entry.URL)
		}
	}
}

// Texts returns the parts of the card that are searched: the name and descriptions, and the
// examples. A nil card has none.
func (a *AgentCard) Texts() (descriptions, examples []string) {
	if a == nil {
		return nil, nil
	}
	descriptions = []string{a.Name, a.Description}
	for _, s := range a.Skills {
		descriptions = slices.Concat(descriptions, []string{s.Name, s.Description}, s.Tags)
		examples = append(examples, s.Examples...)
	}
	return descriptions, examples
}

// AgentKey names an agent. Without a scope, it names the agent of the tenant, or else the
// global one.
type AgentKey struct {
	ID       string  `json:"id"`
	TenantID *string `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Scope    string  `json:"scope,omitzero" doc:"tenant or global: only this scope; by default the tenant's agent, or else the global one"`
}
