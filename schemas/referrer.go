package schemas

import (
	"fmt"
	"strings"
)

// ReferrerQuery requests a page of the records that link to an id.
type ReferrerQuery struct {
	Kind     string  `json:"kind" doc:"skill, agent, tool, context_builder, guardrail or template"`
	ID       string  `json:"id" doc:"the record of the id need not exist"`
	TenantID *string `json:"tenant_id,omitzero" doc:"absent: global scope only"`
	// Dangling needs no permission of its own: a credential for tenants is always in one of them.
	Dangling bool   `json:"dangling,omitzero" doc:"only links that would dangle without the record: to a tenant's record unless a global one replaces it, and without tenant_id those of all tenants, in one page"`
	Limit    *int   `json:"limit,omitzero" doc:"page length, 1 to 1000; 100 by default"`
	Cursor   string `json:"cursor,omitzero" doc:"next_cursor of the previous page"`
}

func (q *ReferrerQuery) validate(c *check) { c.kindID(q.Kind, q.ID) }

func (q *ReferrerQuery) tenantField() tenantField { return tenantField{"tenant_id", &q.TenantID, nil} }

// ReferrerList is a page of referrers.
type ReferrerList struct {
	Referrers  []Referrer `json:"referrers" doc:"records of any status: by kind, the tenant's before global ones, and by id"`
	NextCursor *string    `json:"next_cursor" doc:"null on the last page"`
	Count      int        `json:"count" doc:"number of referrers of all pages"`
}

// MaxReferrers is the maximum number of referrers that the answer to a deletion names.
const MaxReferrers = 20

// ReferrerSummary describes the referrers of a record.
type ReferrerSummary struct {
	Count int        `json:"count"`
	First []Referrer `json:"first" doc:"at most 20 of them"`
}

// String returns the number of referrers and the first ones.
func (s ReferrerSummary) String() string {
	names := make([]string, len(s.First))
	for i, r := range s.First {
		names[i] = r.Kind + "/" + r.ID
		if r.TenantID != "" {
			names[i] += " of tenant " + r.TenantID
		}
	}
	text := strings.Join(names, ", ")
	switch {
	case s.Count == 1:
		return "1 record links to it: " + text
	case s.Count > len(s.First):
		text += ", …"
	}
	return fmt.Sprintf("%d records link to it: %s", s.Count, text)
}

// DeleteRecord removes a record. Removing an absent record is not an error.
type DeleteRecord struct {
	Unregister
	Force bool `json:"force,omitzero" doc:"also a record without which links would dangle"`
}

// DanglingReferences are links by id to records that the scope of the linking record lacks.
type DanglingReferences struct {
	Count      int                 `json:"count"`
	First      []DanglingReference `json:"first" doc:"at most 20 of them"`
	Incomplete bool                `json:"incomplete,omitzero" doc:"there may be more: the catalog has too many links to follow all of them"`
}

// DanglingReference is a link to a record that does not exist.
type DanglingReference struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	TenantID string `json:"tenant_id,omitzero" doc:"absent: global"`
	Field    string `json:"field" doc:"field of the record with the link, such as tool_ids"`
	Target   string `json:"target" doc:"id that the record links to"`
}

// Referrer is a record that links to another one.
type Referrer struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	TenantID string `json:"tenant_id,omitzero" doc:"absent: global"`
	Field    string `json:"field" doc:"field of the record with the link, such as tool_ids"`
	Status   string `json:"status"`
}
