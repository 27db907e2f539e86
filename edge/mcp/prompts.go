package mcp

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus"
	"cairn/schemas"
)

// listPrompts answers prompts/list with a page of the active templates with a body by id: those of the tenant, and
// global ones that none of these replaces. The SDK lists prompts that are the same for all clients.
func listPrompts(c Caller, p *sdk.ListPromptsParams) (sdk.Result, error) {
	var position schemas.Cursor
	if p != nil && p.Cursor != "" {
		var err error
		if position, err = schemas.ParseCursor(p.Cursor); err != nil {
			return nil, err
		}
	}
	result := &sdk.ListPromptsResult{Prompts: []*sdk.Prompt{},
		Cacheable: sdk.Cacheable{TTLMs: skillsTTL, CacheScope: scopePrivate}}
	templates, last := map[string]schemas.Template{}, "" // last: id that the page ends with; empty: it is the last page
	for _, scope := range []string{schemas.ScopeTenant, schemas.ScopeGlobal} {
		after := schemas.Cursor{Global: scope == schemas.ScopeGlobal}.Next(position.After)
		page, err := send(c, bus.ListRecords, schemas.RecordQuery{Kind: schemas.KindTemplate, TenantID: tenant(c),
			Scope: scope, Status: schemas.StatusActive, Cursor: schemas.ValueOr(after, "")})
		if err != nil {
			return nil, err
		}
		for _, record := range page.Records {
			t, err := templateOf(record)
			if _, replaced := templates[t.TemplateID]; err == nil && !replaced {
				templates[t.TemplateID] = t
			}
		}
		next, _ := schemas.ParseCursor(schemas.ValueOr(page.NextCursor, "")) // of a worker; zero without one
		if last == "" || next.After != "" && next.After < last {
			last = next.After
		}
	}
	for _, id := range slices.Sorted(maps.Keys(templates)) {
		if t := templates[id]; t.Body != "" && (last == "" || id <= last) {
			result.Prompts = append(result.Prompts, promptOf(t))
		}
	}
	result.NextCursor = schemas.ValueOr(schemas.Cursor{}.Next(last), "")
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

// getPrompt answers prompts/get with a rendered template. The arguments of the protocol are texts.
func getPrompt(c Caller, p *sdk.GetPromptParams) (sdk.Result, error) {
	if p == nil || p.Name == "" {
		return nil, schemas.ErrMalformed.With(schemas.FieldError{Field: "name", Message: "required: the id of a template"})
	}
	q := schemas.TemplateQuery{TemplateID: p.Name, Variables: map[string]jsontext.Value{}, QueryOptions: inTenant(c)}
	for name, text := range p.Arguments {
		q.Variables[name], _ = jsontext.AppendQuote(nil, text) // of a JSON string
	}
	answer, err := send(c, bus.ResolveTemplate, q)
	if err != nil {
		return nil, err
	}
	t, err := templateOf(answer.Template)
	if err != nil {
		return nil, err
	}
	text := &sdk.TextContent{Text: schemas.ValueOr(answer.Text, "")}
	return &sdk.GetPromptResult{Description: t.Description,
		Messages: []*sdk.PromptMessage{{Role: "user", Content: text}}}, nil
}
