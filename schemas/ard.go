package schemas

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The types of the specification Agentic Resource Discovery (ARD) v0.9, with its names of
// members.

// ARDManifest is the catalog of published records (section 4.1).
type ARDManifest struct {
	SpecVersion string     `json:"specVersion" doc:"1.0, the version of the format"`
	Host        ARDHost    `json:"host"`
	Entries     []ARDEntry `json:"entries"`
}

// ARDHost describes the operator of a catalog (section 4.3).
type ARDHost struct {
	DisplayName      string `json:"displayName"`
	Identifier       string `json:"identifier" doc:"domain of the publisher"`
	DocumentationURL string `json:"documentationUrl" doc:"the manual of Cairn"`
}

// ARDEntry is a published record (section 4.2). It has either a URL or data.
type ARDEntry struct {
	Identifier            string            `json:"identifier" doc:"urn:air:PUBLISHER:KIND:ID, or urn:air:PUBLISHER:tenant:TENANT:KIND:ID"`
	DisplayName           string            `json:"displayName"`
	Type                  string            `json:"type" doc:"media type of the artifact"`
	URL                   string            `json:"url,omitzero" doc:"of the artifact: the SKILL.md of a skill"`
	Data                  jsontext.Value    `json:"data,omitzero" doc:"the artifact: the card of an agent, or the server.json of an MCP server"`
	Description           string            `json:"description,omitzero"`
	Tags                  []string          `json:"tags,omitempty" doc:"the domain"`
	Capabilities          []string          `json:"capabilities,omitempty"`
	RepresentativeQueries []string          `json:"representativeQueries,omitempty" doc:"2 to 5 example queries"`
	Version               string            `json:"version,omitzero"`
	Metadata              map[string]string `json:"metadata,omitempty" doc:"the labels of the record"`
	Status                string            `json:"status,omitzero" doc:"deprecated, or absent; an extension of the specification"`
}

// ARDSearch requests the published records that match a query (section 7.2).
type ARDSearch struct {
	Query      ARDQuery `json:"query"`
	Federation string   `json:"federation,omitzero" doc:"auto (default), referrals or none; Cairn searches its own records"`
	PageSize   *int     `json:"pageSize,omitzero" doc:"1 to 100; 10 by default"`
	PageToken  string   `json:"pageToken,omitzero" doc:"pageToken of the previous page of the same query"`
}

// ARDQuery selects entries (section 7.1).
type ARDQuery struct {
	Text   string               `json:"text" doc:"description of the need"`
	Filter map[string]ARDValues `json:"filter,omitempty" doc:"values by path: identifier, displayName, type, publisher, tags, capabilities, version, status or metadata.NAME; an entry has one of the values of each path"`
}

// ARDValues are the values of a path of a filter. A string is a list of one.
type ARDValues []string

var errNotValues = errors.New("expected a string or an array of strings")

// UnmarshalJSON accepts a string or an array of strings.
func (v *ARDValues) UnmarshalJSON(data []byte) error {
	switch jsontext.Value(data).Kind() {
	case jsontext.KindString:
		*v = make(ARDValues, 1)
		return json.Unmarshal(data, &(*v)[0])
	case jsontext.KindBeginArray:
		return json.Unmarshal(data, (*[]string)(v))
	default:
		return errNotValues
	}
}

// Values of ARDSearch.Federation.
const (
	FederationAuto      = "auto"
	FederationReferrals = "referrals"
	FederationNone      = "none"
)

// Limits of a filter.
const (
	maxFilterPaths = 32
	maxPath        = maxID + 16 // of a label
)

// UnmarshalJSON rejects unknown members: a misspelt one would have no effect.
func (s *ARDSearch) UnmarshalJSON(data []byte) error {
	type plain ARDSearch
	err := json.Unmarshal(data, (*plain)(s), decodeOptions, json.RejectUnknownMembers(true))
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return err
	}
	switch field := fieldOf(semantic.JSONPointer); {
	case errors.Is(err, json.ErrUnknownName):
		return ErrMalformed.With(FieldError{field, "unknown member"})
	case strings.HasPrefix(field, "query.filter.") && !strings.HasSuffix(field, "]"):
		return ErrMalformed.With(FieldError{field,
			"expected a string or an array of strings, got " + kindName(semantic.JSONKind)})
	}
	return err
}

func (s *ARDSearch) validate(c *check) {
	c.items("query.filter", len(s.Query.Filter), 0, maxFilterPaths)
	for _, path := range slices.Sorted(maps.Keys(s.Query.Filter)) {
		field := "query.filter." + truncate(path, 100)
		c.length(field, path, 1, maxPath)
		if len(s.Query.Filter[path]) == 0 {
			c.fail(field, "expected at least one value")
		}
		values.check(c, field, reflect.ValueOf(s.Query.Filter[path]))
	}
}

// ARDResults is a page of the entries that match a query, best first.
type ARDResults struct {
	Results   []ARDResult `json:"results"`
	Referrals []ARDEntry  `json:"referrals,omitzero" doc:"with the federation referrals: an empty list"`
	PageToken string      `json:"pageToken,omitzero" doc:"absent on the last page"`
}

// ARDResult is an entry that matches a query.
type ARDResult struct {
	ARDEntry
	Score  int    `json:"score" doc:"relevance from 0 to 100"`
	Source string `json:"source" doc:"URL of this registry"`
}

// ARDListQuery requests a page of all entries (section 7.4).
type ARDListQuery struct {
	TenantID  *string `json:"tenant_id,omitzero" doc:"the entries of the tenant and global ones; absent: global ones"`
	Filter    string  `json:"filter,omitzero" doc:"not supported"`
	OrderBy   string  `json:"orderBy,omitzero" doc:"not supported: the order is by kind and id"`
	PageSize  *int    `json:"pageSize,omitzero" doc:"1 to 100; 20 by default"`
	PageToken string  `json:"pageToken,omitzero" doc:"pageToken of the previous page"`
}

func (q *ARDListQuery) validate(c *check) {
	for _, p := range []struct{ name, value string }{{"filter", q.Filter}, {"orderBy", q.OrderBy}} {
		if p.value != "" {
			c.fail(p.name, "not supported; POST /search filters and ranks")
		}
	}
}

// ARDList is a page of entries.
type ARDList struct {
	Items     []ARDEntry `json:"items"`
	PageToken string     `json:"pageToken,omitzero" doc:"absent on the last page"`
}

// ARDSkill names a published global skill.
type ARDSkill struct {
	SkillID string `json:"skill_id"`
}

// ARDTenantSkill names a published skill of a tenant.
type ARDTenantSkill struct {
	TenantID *string `json:"tenant_id"`
	ARDSkill
}

// ARDError is the body of an error response: an Error with the additional members of the
// specification.
type ARDError struct {
	Error
	ErrorCode string `json:"errorCode" doc:"such as INVALID_ARGUMENT"`
	Message   string `json:"message"`
}

// ardCodes are the error codes by HTTP status: the codes of appendix B, and gRPC codes for other
// statuses.
var ardCodes = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT",
	429: "RATE_LIMIT_EXCEEDED", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}
