package openai

import (
	"cmp"
	"encoding/json"

	"cairn/services/internal/model"
)

// request is the body of POST /chat/completions.
type request struct {
	Model          string        `json:"model"`
	Messages       []message     `json:"messages"`
	Tools          []tool        `json:"tools,omitempty"`
	ToolChoice     string        `json:"tool_choice,omitempty"`
	ResponseFormat any           `json:"response_format,omitempty"`
	Stream         bool          `json:"stream"`
	StreamOptions  streamOptions `json:"stream_options"`

	// At most one is set.
	MaxTokens           int `json:"max_tokens,omitempty"`
	MaxCompletionTokens int `json:"max_completion_tokens,omitempty"`
}

// form is the way a request demands that the message satisfies a schema.
type form int32

const (
	formUnknown form = iota // no schema, or no message under one yet
	formTool                // the server must call the only tool; its input is the message
	formFormat              // response_format
	formFree                // the server enforces no schema
)

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
	Strict      bool            `json:"strict,omitempty"`
}

// chunk is one event of the response to a [request].
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			Content          string `json:"content"`
			Reasoning        string `json:"reasoning"`         // vLLM, OpenRouter, Ollama
			ReasoningContent string `json:"reasoning_content"` // llama.cpp, SGLang, DeepSeek
			ToolCalls        []call `json:"tool_calls"`
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
	if system := c.Rules; system != "" {
		r.Messages = append(r.Messages, message{Role: "system", Content: system})
	}
	for _, m := range c.Messages {
		r.Messages = append(r.Messages, newMessage(m))
	}
	if c.Schema != nil {
		return r
	}
	for _, t := range c.Tools {
		f := definition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		r.Tools = append(r.Tools, tool{"function", f})
	}
	return r
}

// constrain demands a message that satisfies the schema.
func (r *request) constrain(f form, schema json.RawMessage) {
	const name = "plan"
	r.Tools, r.ToolChoice, r.ResponseFormat = nil, "", nil
	switch f {
	case formTool:
		f := definition{Name: name, Description: "Receives the plan.", Parameters: schema, Strict: true}
		r.Tools = []tool{{"function", f}}
		r.ToolChoice = "required"
	case formFormat:
		format := map[string]any{"name": name, "strict": true, "schema": schema}
		r.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": format}
	}
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
