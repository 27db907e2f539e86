package schemas

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DefaultTopK is the number of hits of a search without top_k.
const DefaultTopK = 5

// Search methods: words and vectors, or one of them. SearchText does not call the
// embedder; SearchVector returns ErrUnavailable while there are no vectors.
const (
	SearchHybrid = "hybrid"
	SearchText   = "text"
	SearchVector = "vector"
)

// Values of Degraded in a search response.
const (
	TextOnly    = "text-only"    // no vectors: only words were compared
	IndexBehind = "index-behind" // the worker's index lacks the newest registrations
	// the shared index is unavailable or incomplete: the worker searched its own records by words
	IndexUnavailable = "index-unavailable"
)

// maxQuery is the maximum length of a query in characters, more than embedding
// models read.
const maxQuery = 10_000

// QueryOptions contains the fields of all resolve requests.
type QueryOptions struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"absent or null: global scope only"`
	Explain  bool    `json:"explain,omitzero" doc:"include the source of each part"`
}

// Tenant returns the tenant of the request; empty for the global scope.
func (a QueryOptions) Tenant() string { return ValueOr(a.TenantID, "") }

// SkillQuery requests one skill by id, or the skills that match a query.
type SkillQuery struct {
	SkillID string `json:"skill_id,omitzero" doc:"direct form: id of the skill, or id@version for a version in its history or an alias"`
	Query   string `json:"query,omitzero" doc:"search form: description of the wanted capability"`
	TopK    *int   `json:"top_k,omitzero" doc:"search form: number of hits, 1 to 100; 5 by default"`
	Search  string `json:"search,omitzero" doc:"search form: method, hybrid (default), text or vector"`
	Filter  Filter `json:"filter,omitzero" doc:"search form: the skills to consider"`
	Scope   string `json:"scope,omitzero" doc:"search form: both ranks skills of the tenant and global ones together"`
	QueryOptions
}

// Limit returns the maximum number of hits.
func (q SkillQuery) Limit() int { return ValueOr(q.TopK, DefaultTopK) }

// SkillAnswer is the response to a SkillQuery. Exactly one of its fields is set.
type SkillAnswer struct {
	Package *SkillPackage
	Hits    *SkillHits
	Written jsontext.Value // an encoded SkillPackage
}

// MarshalJSON encodes the field that is set.
func (a SkillAnswer) MarshalJSON() ([]byte, error) {
	switch {
	case a.Written != nil:
		return a.Written, nil
	case a.Package != nil:
		return json.Marshal(a.Package)
	default:
		return json.Marshal(a.Hits)
	}
}

// UnmarshalJSON decodes SkillHits if data has the member skills, and a SkillPackage otherwise.
func (a *SkillAnswer) UnmarshalJSON(data []byte) error {
	var probe struct {
		Skills jsontext.Value `json:"skills"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return err
	}
	if probe.Skills != nil {
		a.Hits = &SkillHits{}
		return json.Unmarshal(data, a.Hits)
	}
	a.Package = &SkillPackage{}
	return json.Unmarshal(data, a.Package)
}

func (SkillAnswer) encodedTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[SkillPackage](), reflect.TypeFor[SkillHits]()}
}

// SkillPackage is a skill with its context builders, tools, guardrails and template.
type SkillPackage struct {
	SkillID         string           `json:"skill_id"`
	Manifest        jsontext.Value   `json:"manifest" doc:"the skill record"`
	ContextBuilders []jsontext.Value `json:"context_builders"`
	Guardrails      []jsontext.Value `json:"guardrails" doc:"guardrails of the global scope and of the tenant"`
	Template        jsontext.Value   `json:"template" doc:"{} if the skill has none"`
	Tools           []jsontext.Value `json:"tools" doc:"tools of the context builders and of the skill, without duplicates"`
	Missing         []MissingRecord  `json:"missing,omitempty" doc:"records that the skill or its context builders link to and that the package lacks; absent: none"`
	Explained
}

// MissingRecord is a record that a package lacks, because the scope has none of its id, or only a draft or retired one.
type MissingRecord struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Via  string `json:"via" doc:"field with the link, such as tool_ids"`
}

// EncodedPackage is an encoded SkillPackage.
type EncodedPackage struct{ Written jsontext.Value }

// MarshalJSON returns the package.
func (p EncodedPackage) MarshalJSON() ([]byte, error) { return p.Written, nil }

// UnmarshalJSON stores a copy of data.
func (p *EncodedPackage) UnmarshalJSON(data []byte) error {
	p.Written = jsontext.Value(data).Clone()
	return nil
}

func (EncodedPackage) encodedTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[SkillPackage]()}
}

// SkillHits are the skills found by a search, best first.
type SkillHits struct {
	Skills   []jsontext.Value `json:"skills" doc:"records with a score in [0,1]"`
	Degraded string           `json:"degraded,omitzero" doc:"reason for a degraded result: text-only, index-behind or index-unavailable"`
	Explained
}

// Explained contains the fields of all resolve responses.
type Explained struct {
	Explain []Explanation `json:"explain,omitempty" doc:"source of each part, if requested"`
}

// Explanation names the source of one part of a response.
type Explanation struct {
	Kind       string `json:"kind"`
	ID         string `json:"id"`
	Scope      string `json:"scope" doc:"scope of the record: tenant or global"`
	Via        string `json:"via" doc:"link or rule that selected it"`
	TextRank   int    `json:"text_rank,omitzero" doc:"search: rank among the text hits; absent if not a text hit"`
	VectorRank int    `json:"vector_rank,omitzero" doc:"search: rank among the vector hits; absent if not a vector hit"`
}

// Scopes of records; ScopeBoth is that of a search only.
const (
	ScopeTenant = "tenant"
	ScopeGlobal = "global"
	ScopeBoth   = "both"
)

// ScopeOf returns the scope of the records of a tenant; empty: of global ones.
func ScopeOf(tenant string) string {
	if tenant == "" {
		return ScopeGlobal
	}
	return ScopeTenant
}

// AgentQuery requests the agent whose capabilities match a query best.
type AgentQuery struct {
	Query  string `json:"query"`
	Search string `json:"search,omitzero" doc:"method: hybrid (default), text or vector"`
	Filter Filter `json:"filter,omitzero" doc:"the agents to consider"`
	Scope  string `json:"scope,omitzero" doc:"both compares agents of the tenant and global ones"`
	QueryOptions
}

// AgentAnswer is the agent with the highest score.
type AgentAnswer struct {
	AgentID       string         `json:"agent_id"`
	Capabilities  []string       `json:"capabilities"`
	OwnedSkillIDs []string       `json:"owned_skill_ids"`
	Score         float64        `json:"score"`
	Degraded      string         `json:"degraded,omitzero" doc:"reason for a degraded result: text-only, index-behind or index-unavailable"`
	Record        jsontext.Value `json:"record,omitzero" doc:"the agent record"`
	Explained
}

// ContextQuery requests the context builders of a skill.
type ContextQuery struct {
	SkillID      string   `json:"skill_id"`
	ContextTypes []string `json:"context_types,omitempty" doc:"only these types; absent or empty: all types"`
	QueryOptions
}

// ContextAnswer contains the context builders of a skill.
type ContextAnswer struct {
	ContextBuilders []jsontext.Value `json:"context_builders"`
	Explained
}

// ToolsQuery requests tools by id.
type ToolsQuery struct {
	ToolIDs []string `json:"tool_ids"`
	QueryOptions
}

// ToolsAnswer contains the tools found, in the order of the request, and the ids
// that were not found.
type ToolsAnswer struct {
	Tools   []jsontext.Value `json:"tools"`
	Missing []string         `json:"missing"`
	Explained
}

// ToolClassQuery requests all tools of a class.
type ToolClassQuery struct {
	ToolClass string `json:"tool_class"`
	Provider  string `json:"provider,omitzero" doc:"only tools of this provider"`
	QueryOptions
}

// ToolClassAnswer contains the tools of a class, ordered by id.
type ToolClassAnswer struct {
	Tools []jsontext.Value `json:"tools"`
	Explained
}

// SkillRef requests the package or the guardrails of a skill.
type SkillRef struct {
	SkillID string `json:"skill_id"`
	QueryOptions
}

// TemplateAnswer contains a template.
type TemplateAnswer struct {
	Template jsontext.Value `json:"template"`
	Text     *string        `json:"text,omitzero" doc:"the body with the values of the variables; absent without variables in the request"`
	Explained
}

// GuardrailAnswer contains the guardrails of a skill, possibly none.
type GuardrailAnswer struct {
	Guardrails []jsontext.Value `json:"guardrails"`
	Explained
}

func (q *SkillQuery) validate(c *check) {
	if q.SkillID == "" && q.Query == "" {
		c.fail("query", "required without skill_id")
	}
}

func (a *QueryOptions) tenantField() tenantField { return tenantField{"tenant_id", &a.TenantID, nil} }
