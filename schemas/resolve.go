package schemas

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DefaultTopK is how many hits a search answers with when it does not say.
const DefaultTopK = 5

// What a search compares: words and vectors, or one of them alone. Text embeds
// nothing; vector is ErrUnavailable while there are no vectors.
const (
	SearchHybrid = "hybrid"
	SearchText   = "text"
	SearchVector = "vector"
)

// What a degraded search says that it had to do without.
const (
	TextOnly    = "text-only"    // vectors: words alone were compared
	IndexBehind = "index-behind" // what was registered last: the worker's index could not take it in
	IndexAway   = "index-away"   // the index that workers share, away or not full yet: a worker went by the words of its records
)

// Asking is part of every resolve request: for whom, and whether to explain.
type Asking struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"absent or null: the global collection alone"`
	Explain  bool    `json:"explain,omitzero" doc:"also say where each part came from"`
}

// Tenant is the tenant asked for; empty is global.
func (a Asking) Tenant() string {
	if a.TenantID == nil {
		return ""
	}
	return *a.TenantID
}

// SkillQuery asks for one skill by id, or for the skills that fit a query.
type SkillQuery struct {
	SkillID string `json:"skill_id,omitzero" doc:"direct form: the skill"`
	Query   string `json:"query,omitzero" doc:"search form: what the skill should do"`
	TopK    *int   `json:"top_k,omitzero" doc:"search form: 1 to 100, 5 by default"`
	Search  string `json:"search,omitzero" doc:"search form: what is compared: hybrid (default), or text or vector alone"`
	Asking
}

// Limit is the number of hits asked for.
func (q SkillQuery) Limit() int {
	if q.TopK == nil {
		return DefaultTopK
	}
	return *q.TopK
}

// SkillAnswer answers a SkillQuery: exactly one of its fields is set.
type SkillAnswer struct {
	Package *SkillPackage
	Hits    *SkillHits
	Written jsontext.Value // a package as JSON
}

// MarshalJSON writes the field that is set.
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

// UnmarshalJSON reads the form that the members show.
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

// SkillPackage is a skill with everything that serves it.
type SkillPackage struct {
	SkillID         string           `json:"skill_id"`
	Manifest        jsontext.Value   `json:"manifest" doc:"the skill record"`
	ContextBuilders []jsontext.Value `json:"context_builders"`
	Guardrails      []jsontext.Value `json:"guardrails" doc:"global and the tenant's"`
	Template        jsontext.Value   `json:"template" doc:"{} when there is none"`
	Tools           []jsontext.Value `json:"tools" doc:"of the context builders and of the skill, once each"`
	Explained
}

// SkillHits are the skills that a search found, best first.
type SkillHits struct {
	Skills   []jsontext.Value `json:"skills" doc:"each record with its score in [0,1]"`
	Degraded string           `json:"degraded,omitzero" doc:"what the search had to do without: text-only, index-behind or index-away"`
	Explained
}

// Explained is part of every resolve answer.
type Explained struct {
	Explain []Explanation `json:"explain,omitempty" doc:"where each part came from, when asked"`
}

// Explanation says where one part of an answer came from.
type Explanation struct {
	Kind       string `json:"kind"`
	ID         string `json:"id"`
	Scope      string `json:"scope" doc:"tenant or global: the collection it came from"`
	Via        string `json:"via" doc:"the link or rule that led to it"`
	TextRank   int    `json:"text_rank,omitzero" doc:"search: its place among the hits by words; absent: not among them"`
	VectorRank int    `json:"vector_rank,omitzero" doc:"search: its place among the hits by meaning"`
}

// The values of Explanation.Scope.
const (
	ScopeTenant = "tenant"
	ScopeGlobal = "global"
)

// AgentQuery asks for the agent whose capabilities fit a query.
type AgentQuery struct {
	Query  string `json:"query"`
	Search string `json:"search,omitzero" doc:"what is compared: hybrid (default), or text or vector alone"`
	Asking
}

// AgentAnswer is the agent that fits best.
type AgentAnswer struct {
	AgentID       string         `json:"agent_id"`
	Capabilities  []string       `json:"capabilities"`
	OwnedSkillIDs []string       `json:"owned_skill_ids"`
	Score         float64        `json:"score"`
	Degraded      string         `json:"degraded,omitzero" doc:"what the search had to do without: text-only, index-behind or index-away"`
	Record        jsontext.Value `json:"record,omitzero" doc:"the agent record"`
	Explained
}

// ContextQuery asks for the context builders of a skill.
type ContextQuery struct {
	SkillID      string   `json:"skill_id"`
	ContextTypes []string `json:"context_types,omitempty" doc:"only these types; absent or empty: all"`
	Asking
}

// ContextAnswer has the context builders of a skill.
type ContextAnswer struct {
	ContextBuilders []jsontext.Value `json:"context_builders"`
	Explained
}

// ToolsQuery asks for tools by id.
type ToolsQuery struct {
	ToolIDs []string `json:"tool_ids"`
	Asking
}

// ToolsAnswer has the tools found, in the order asked, and the ids that were
// not found.
type ToolsAnswer struct {
	Tools   []jsontext.Value `json:"tools"`
	Missing []string         `json:"missing"`
	Explained
}

// ToolClassQuery asks for all tools of a class.
type ToolClassQuery struct {
	ToolClass string `json:"tool_class"`
	Provider  string `json:"provider,omitzero" doc:"only this provider's"`
	Asking
}

// ToolClassAnswer has the tools of a class, ordered by id.
type ToolClassAnswer struct {
	Tools []jsontext.Value `json:"tools"`
	Explained
}

// SkillRef names a skill for which something is asked.
type SkillRef struct {
	SkillID string `json:"skill_id"`
	Asking
}

// TemplateAnswer has the template of a skill.
type TemplateAnswer struct {
	Template jsontext.Value `json:"template"`
	Explained
}

// GuardrailAnswer has the guardrails of a skill; none is an answer.
type GuardrailAnswer struct {
	Guardrails []jsontext.Value `json:"guardrails"`
	Explained
}
