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
	var c check
	checkCard(&c, "", a)
	return c
}

// checkCard validates an agent card whose fields have the prefix in errors; nil is valid.
func checkCard(c *check, prefix string, a *AgentCard) {
	if a == nil {
		return
	}
	c.length(prefix+"name", a.Name, 1, maxID)
	c.length(prefix+"description", a.Description, 1, maxCardText)
	c.length(prefix+"version", a.Version, 1, maxID)
	switch {
	case a.URL != "":
		c.webURL(prefix+"url", a.URL)
	case len(a.SupportedInterfaces) == 0:
		c.fail(prefix+"supportedInterfaces", "required, and must not be empty")
	}
	c.optionalURL(prefix+"documentationUrl", a.DocumentationURL)
	c.optionalURL(prefix+"iconUrl", a.IconURL)
	if a.Provider != nil {
		c.length(prefix+"provider.organization", a.Provider.Organization, 1, maxID)
		c.optionalURL(prefix+"provider.url", a.Provider.URL)
	}
	c.texts(prefix+"defaultInputModes", a.DefaultInputModes)
	c.texts(prefix+"defaultOutputModes", a.DefaultOutputModes)
	if c.atMost(prefix+"supportedInterfaces", len(a.SupportedInterfaces), maxCardItems) {
		for i, at := range a.SupportedInterfaces {
			checkCardInterface(c, fmt.Sprintf("%ssupportedInterfaces[%d]", prefix, i), at)
		}
	}
	if c.atMost(prefix+"skills", len(a.Skills), maxCardSkills) {
		for i, s := range a.Skills {
			checkCardSkill(c, fmt.Sprintf("%sskills[%d]", prefix, i), s)
		}
	}
}

func checkCardInterface(c *check, field string, i AgentInterface) {
	c.length(field+".protocolBinding", i.ProtocolBinding, 1, maxID)
	c.length(field+".protocolVersion", i.ProtocolVersion, 1, maxID)
	if i.ProtocolBinding == "JSONRPC" || i.ProtocolBinding == "HTTP+JSON" {
		c.webURL(field+".url", i.URL)
		return
	}
	c.length(field+".url", i.URL, 1, maxCardURL)
}

func checkCardSkill(c *check, field string, s AgentSkill) {
	c.length(field+".id", s.ID, 1, maxID)
	c.length(field+".name", s.Name, 1, maxID)
	c.length(field+".description", s.Description, 1, maxCardText)
	c.texts(field+".tags", s.Tags)
	c.texts(field+".examples", s.Examples)
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
