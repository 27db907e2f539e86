package openai

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"cairn/services/internal/model"
)

// request is c as the API wants it.
func (m *Model) request(c model.Conversation) (openai.ChatCompletionNewParams, error) {
	params := openai.ChatCompletionNewParams{
		Model:         m.settings.model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if system := c.System(); system != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(system))
	}
	for _, said := range c.Messages {
		params.Messages = append(params.Messages, messageOf(said))
	}
	for _, t := range c.Tools {
		var parameters shared.FunctionParameters
		if err := json.Unmarshal(t.Parameters, &parameters); err != nil {
			return params, fmt.Errorf("parameters of the tool %s: %w", t.Name, err)
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: openai.String(t.Description), Parameters: parameters,
		}))
	}
	return params, nil
}

func messageOf(m model.Message) openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case model.ToolRole:
		return openai.ToolMessage(string(m.Result), m.CallID)
	case model.User:
		return openai.UserMessage(m.Text)
	}
	said := openai.AssistantMessage(m.Text)
	for _, c := range m.Calls {
		said.OfAssistant.ToolCalls = append(said.OfAssistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: c.Name, Arguments: cmp.Or(string(c.Input), "{}"),
				},
			},
		})
	}
	return said
}
