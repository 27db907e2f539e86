package mcp

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus"
	"cairn/schemas"
)

// servePrompts answers prompts/list with a page of the active templates with a body, and prompts/get with a rendered
// one. The prompts of the SDK are the same for all clients.
func servePrompts(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		var result sdk.Result
		var err error
		switch r := r.(type) {
		case *sdk.ListPromptsRequest:
			result, err = listPrompts(callerOf(ctx), r.Params)
		case *sdk.GetPromptRequest:
			result, err = getPrompt(callerOf(ctx), r.Params)
		default:
			return next(ctx, method, r)
		}
		if err != nil {
			return nil, protocolError(callerOf(ctx), err)
		}
		return result, nil
	}
}

func listPrompts(c Caller, p *sdk.ListPromptsParams) (*sdk.ListPromptsResult, error) {
	q := schemas.RecordQuery{Kind: schemas.KindTemplate, TenantID: tenant(c), Status: schemas.StatusActive}
	if p != nil {
		q.Cursor = p.Cursor
	}
	page, err := send(c, bus.ListRecords, q)
	if err != nil {
		return nil, err
	}
	result := &sdk.ListPromptsResult{Prompts: []*sdk.Prompt{}, NextCursor: schemas.ValueOr(page.NextCursor, ""),
		Cacheable: sdk.Cacheable{TTLMs: skillsTTL, CacheScope: scopePrivate}}
	for _, record := range page.Records {
		if t, err := templateOf(record); err == nil && t.Body != "" {
			result.Prompts = append(result.Prompts, promptOf(t))
		}
	}
	return result, nil
}

func templateOf(record jsontext.Value) (schemas.Template, error) {
	return schemas.DecodeStored[schemas.Template](schemas.KindTemplate, record)
}

func promptOf(t schemas.Template) *sdk.Prompt {
	prompt := &sdk.Prompt{Name: t.TemplateID, Description: t.Description}
	for _, v := range t.Variables {
		prompt.Arguments = append(prompt.Arguments,
			&sdk.PromptArgument{Name: v.Name, Description: v.Description, Required: v.Required})
	}
	return prompt
}

// getPrompt renders a template. The arguments of the protocol are texts, which become values of the declared types.
func getPrompt(c Caller, p *sdk.GetPromptParams) (*sdk.GetPromptResult, error) {
	if p == nil || p.Name == "" {
		return nil, schemas.ErrMalformed.With(schemas.FieldError{Field: "name", Message: "required: the id of a template"})
	}
	q := schemas.TemplateQuery{TemplateID: p.Name, QueryOptions: inTenant(c)}
	answer, err := send(c, bus.ResolveTemplate, q)
	if err != nil {
		return nil, err
	}
	t, err := templateOf(answer.Template)
	if err != nil {
		return nil, err
	}
	q.Variables = t.Values(p.Arguments)
	if answer, err = send(c, bus.ResolveTemplate, q); err != nil {
		return nil, err
	}
	text := &sdk.TextContent{Text: schemas.ValueOr(answer.Text, "")}
	return &sdk.GetPromptResult{Description: t.Description,
		Messages: []*sdk.PromptMessage{{Role: "user", Content: text}}}, nil
}
