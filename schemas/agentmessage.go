package schemas

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// roleUser is the role of the messages of a client.
const roleUser = "ROLE_USER"

// Limits of a message. The Agent2Agent protocol has none.
const (
	maxParts     = 32
	maxPartItems = 100 // of any other list
)

// AgentMessage is a request of the Agent2Agent protocol to send a message (A2A 1.0, 3.2.1).
type AgentMessage struct {
	Tenant   string              `json:"tenant,omitzero" doc:"a tenant of the credential, or absent"`
	Config   *AgentConfiguration `json:"configuration,omitzero"`
	Message  *AgentContent       `json:"message"`
	Metadata jsontext.Value      `json:"metadata,omitzero" doc:"as that of the message"`
}

func (m *AgentMessage) validate(c *check) {
	if m.Message == nil {
		c.fail("message", "required")
		return
	}
	for i, p := range m.Message.Parts[:min(len(m.Message.Parts), maxParts)] {
		field := fmt.Sprintf("message.parts[%d]", i)
		if n := p.values(); n != 1 {
			c.fail(field, "expected one of text, raw, data and url, got %d", n)
		}
		if len(p.Raw) > 0 && p.Raw.Kind() != jsontext.KindString {
			c.fail(field+".raw", "expected a string in base64, got %s", kindName(p.Raw.Kind()))
		}
	}
}

// AgentConfiguration selects the form of the answer to a message (A2A 1.0, 3.2.2).
type AgentConfiguration struct {
	AcceptedOutputModes []string       `json:"acceptedOutputModes,omitempty" doc:"media types; absent: all"`
	ReturnImmediately   bool           `json:"returnImmediately,omitzero" doc:"respond with a task that may not have ended"`
	HistoryLength       *int           `json:"historyLength,omitzero" doc:"largest number of messages in the task; tasks have none"`
	PushConfig          jsontext.Value `json:"taskPushNotificationConfig,omitzero" doc:"not supported"`
}

// AgentContent is a message to an agent (A2A 1.0, 4.1.4).
type AgentContent struct {
	ID             string         `json:"messageId" doc:"chosen by the client"`
	ContextID      string         `json:"contextId,omitzero" doc:"of an earlier task of the conversation, or a UUID"`
	TaskID         string         `json:"taskId,omitzero" doc:"not supported: tasks do not accept further messages"`
	Role           string         `json:"role" doc:"ROLE_USER"`
	Parts          []AgentPart    `json:"parts" doc:"texts, the question; and one part with data or a file, the estate"`
	Metadata       jsontext.Value `json:"metadata,omitzero" doc:"an object; its member cairn has further members of an Analysis"`
	Extensions     []string       `json:"extensions,omitempty" doc:"ignored"`
	ReferenceTasks []string       `json:"referenceTaskIds,omitempty" doc:"ignored"`
}

// AgentPart is a part of a message, with one of text, raw, data and url (A2A 1.0, 4.1.6).
type AgentPart struct {
	Text      *string        `json:"text,omitzero"`
	Raw       jsontext.Value `json:"raw,omitzero" doc:"a file, in base64"`
	Data      jsontext.Value `json:"data,omitzero" doc:"a JSON value"`
	URL       *string        `json:"url,omitzero" doc:"not supported: files are not fetched"`
	Filename  string         `json:"filename,omitzero"`
	MediaType string         `json:"mediaType,omitzero" doc:"text/plain, text/markdown or application/json; absent: unknown"`
}

// values returns how many of text, raw, data and url the part has.
func (p AgentPart) values() (n int) {
	for _, present := range []bool{p.Text != nil, len(p.Raw) > 0, len(p.Data) > 0, p.URL != nil} {
		if present {
			n++
		}
	}
	return n
}
