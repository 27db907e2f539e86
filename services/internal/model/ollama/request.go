package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model"
)

func messagesOf(c model.Conversation) ([]api.Message, error) {
	messages := make([]api.Message, 0, len(c.Messages)+1)
	if system := c.Rules; system != "" {
		messages = append(messages, api.Message{Role: "system", Content: system})
	}
	for _, m := range c.Messages {
		calls, err := callsOf(m.Calls)
		if err != nil {
			return nil, err
		}
		text := m.Text
		if len(m.Result) > 0 {
			text = string(m.Result)
		}
		messages = append(messages, api.Message{
			Role:       string(m.Role),
			Content:    text,
			ToolCalls:  calls,
			ToolName:   m.Tool,
			ToolCallID: m.CallID,
		})
	}
	return messages, nil
}

func callsOf(calls []model.Call) ([]api.ToolCall, error) {
	var out []api.ToolCall
	for i, c := range calls {
		f := api.ToolCallFunction{Index: i, Name: c.Name}
		if len(c.Input) > 0 {
			if err := json.Unmarshal(c.Input, &f.Arguments); err != nil {
				return nil, fmt.Errorf("input of the call of %s: %w", c.Name, err)
			}
		}
		out = append(out, api.ToolCall{ID: c.ID, Function: f})
	}
	return out, nil
}

func toolsOf(tools []model.Tool) (api.Tools, error) {
	var out api.Tools
	for _, t := range tools {
		f := api.ToolFunction{Name: t.Name, Description: t.Description}
		if err := json.Unmarshal(t.Parameters, &f.Parameters); err != nil {
			return nil, fmt.Errorf("parameters of the tool %s: %w", t.Name, err)
		}
		out = append(out, api.Tool{Type: "function", Function: f})
	}
	return out, nil
}

// callOf converts a call. It sorts the keys, whose order Ollama randomizes.
func callOf(c api.ToolCall) (*model.Call, error) {
	input := c.Function.Arguments.ToMap()
	if input == nil {
		input = map[string]any{}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(input); err != nil {
		return nil, fmt.Errorf("input of the call of %s: %w", c.Function.Name, err)
	}
	return &model.Call{ID: c.ID, Name: c.Function.Name, Input: bytes.TrimSpace(buf.Bytes())}, nil
}
