package schemas

import (
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// DefaultSearchLimit is the page length of a RecordSearch without a limit.
	DefaultSearchLimit = 10
	// MaxSearchOffset is the highest offset of a RecordSearch: a search ranks at most 100
	// records of each of five kinds in each of two scopes.
	MaxSearchOffset = 1000
	maxSearchLimit  = 100
)

// RecordSearch requests a page of the records of several kinds that match a query, best first. Records
// of the tenant and global records are ranked together.
type RecordSearch struct {
	Query string   `json:"query"`
	Kinds []string `json:"kinds,omitempty" doc:"skill, agent, tool, guardrail and template, or some of them; by default skill, agent and tool"`
	QueryOptions
	Scope  string `json:"scope,omitzero" doc:"tenant or global: only this scope; both by default"`
	Search string `json:"search,omitzero" doc:"method: hybrid (default), text or vector"`
	Filter Filter `json:"filter,omitzero" doc:"the records to consider"`
	Any    AnyOf  `json:"any,omitzero" doc:"further conditions on the records to consider"`
	Limit  *int   `json:"limit,omitzero" doc:"page length, 1 to 100; 10 by default"`
	Offset int    `json:"offset,omitzero" doc:"next_offset of the previous page"`
}

// AnyOf selects the records with at least one value of each list that is not empty.
type AnyOf struct {
	IDs          []string   `json:"ids,omitempty"`
	DisplayNames []string   `json:"display_names,omitempty" doc:"compared without case"`
	Versions     []string   `json:"versions,omitempty"`
	Domains      []string   `json:"domains,omitempty"`
	Statuses     []string   `json:"statuses,omitempty" doc:"active includes records without a status"`
	Capabilities []string   `json:"capabilities,omitempty"`
	Labels       [][]string `json:"labels,omitempty" doc:"lists of labels as name=value"`
}

// UnmarshalJSON rejects unknown members.
func (a *AnyOf) UnmarshalJSON(data []byte) error {
	type plain AnyOf
	return decodeConditions(data, (*plain)(a), "any",
		"ids, display_names, versions, domains, statuses, capabilities or labels")
}

// maxValue is the maximum length in characters of a value to compare with: a label.
const maxValue = 2*maxID + 1

// RecordHits is a page of the records found by a RecordSearch.
type RecordHits struct {
	Hits       []RecordHit `json:"hits" doc:"best first"`
	NextOffset *int        `json:"next_offset" doc:"null on the last page"`
	Degraded   string      `json:"degraded,omitzero" doc:"reason for a degraded result: text-only, index-behind or index-unavailable"`
	Explained
}

// RecordHit is a record that matches a query.
type RecordHit struct {
	Kind   string         `json:"kind"`
	Score  float64        `json:"score" doc:"relevance in [0,1]"`
	Record jsontext.Value `json:"record" doc:"without instructions, and without the content of resources"`
}
