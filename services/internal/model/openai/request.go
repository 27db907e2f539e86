package openai

import (
	"cmp"
	"encoding/json"

	"cairn/services/internal/model"
)

// request is the body of POST /chat/completions.
type request struct {
	Model         string        `json:"model"`
	Messages      []message     `json:"messages"`
	Tools         []tool        `json:"tools,omitempty"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// call is a tool call, or a piece of one in a chunk.
type call struct {
	Index    int64    `json:"index,omitempty"` // position in the message; only in chunks
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chunk is one event of the response to a [request].
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			Content   string `json:"content"`
			ToolCalls []call `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
	} `json:"usage"`
}

// newRequest converts a conversation.
func newRequest(name string, c model.Conversation) request {
	r := request{Model: name, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	if system := c.System(); system != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: system})
	}
	for _, m := range c.Messages {
		r.Messages = append(r.Messages, newMessage(m))
	}
	for _, t := range c.Tools {
		r.Tools = append(r.Tools, tool{Type: "function", Function: definition{t.Name, t.Description, t.Parameters}})
	}
	return r
}

func newMessage(m model.Message) message {
	switch m.Role {
	case model.ToolRole:
		return message{Role: "tool", Content: string(m.Result), ToolCallID: m.CallID}
	case model.User:
		return message{Role: "user", Content: m.Text}
	}
	assistant := message{Role: "assistant", Content: m.Text}
	for _, c := range m.Calls {
		assistant.ToolCalls = append(assistant.ToolCalls, call{
			ID: c.ID, Type: "function", Function: function{c.Name, cmp.Or(string(c.Input), "{}")},
		})
	}
	return assistant
}
