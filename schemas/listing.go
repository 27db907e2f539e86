package schemas

import "github.com/go-json-experiment/json/jsontext"

// DefaultLimit is the page length of a listing without a limit.
const DefaultLimit = 100

// maxCursor is the maximum length of a cursor in characters: an id and its scope in base64.
const maxCursor = 4096

// ListQuery requests a page of active skills or tools, ordered by id.
type ListQuery struct {
	TenantID  *string `json:"tenant_id,omitzero" doc:"absent: global scope only"`
	Domain    string  `json:"domain,omitzero"`
	Provider  string  `json:"provider,omitzero" doc:"only records with this value"`
	ToolClass string  `json:"tool_class,omitzero" doc:"only records with this value"`
	Limit     *int    `json:"limit,omitzero" doc:"page length, 1 to 1000; 100 by default"`
	Cursor    string  `json:"cursor,omitzero" doc:"next_cursor of the previous page"`
}

func (q *ListQuery) tenantField() tenantField { return tenantField{"tenant_id", &q.TenantID, nil} }

// SkillList is a page of skills. A page may contain fewer records than the limit;
// the last one has no next_cursor.
type SkillList struct {
	Skills     []jsontext.Value `json:"skills"`
	NextCursor *string          `json:"next_cursor" doc:"null on the last page"`
}

// ToolList is a page of tools.
type ToolList struct {
	Tools      []jsontext.Value `json:"tools"`
	NextCursor *string          `json:"next_cursor" doc:"null on the last page"`
}
