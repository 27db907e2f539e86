package schemas

import (
	"fmt"
	"unicode/utf8"
)

// maxQuery is the maximum length of a query in characters, more than embedding
// models read.
const maxQuery = 10_000

// Validate returns ErrMalformed with the invalid fields.
func (q *SkillQuery) Validate() error {
	c := q.check()
	switch {
	case q.SkillID != "":
		c.id("skill_id", q.SkillID, 2)
	case q.Query == "":
		c.fail("query", "required without skill_id")
	default:
		c.query(q.Query)
	}
	c.between("top_k", q.TopK, 100)
	c.method(q.Search)
	c.filter(q.Filter)
	return c.as(ErrMalformed)
}

// Validate returns ErrMalformed with the invalid fields.
func (q *AgentQuery) Validate() error {
	c := q.check()
	c.query(q.Query)
	c.method(q.Search)
	c.filter(q.Filter)
	return c.as(ErrMalformed)
}

// Validate returns ErrMalformed with the invalid fields.
func (q *ContextQuery) Validate() error {
	c := q.check()
	c.id("skill_id", q.SkillID, 2)
	c.atMost("context_types", len(q.ContextTypes), maxItems)
	for i, s := range q.ContextTypes {
		c.length(fmt.Sprintf("context_types[%d]", i), s, 0, maxID)
	}
	return c.as(ErrMalformed)
}

// Validate returns ErrMalformed with the invalid fields.
func (q *ToolsQuery) Validate() error {
	c := q.check()
	if len(q.ToolIDs) == 0 {
		c.fail("tool_ids", "required, and must not be empty")
	}
	c.ids("tool_ids", q.ToolIDs)
	return c.as(ErrMalformed)
}

// Validate returns ErrMalformed with the invalid fields.
func (q *ToolClassQuery) Validate() error {
	c := q.check()
	c.length("tool_class", q.ToolClass, 1, maxID)
	c.length("provider", q.Provider, 0, maxID)
	return c.as(ErrMalformed)
}

// Validate returns ErrMalformed with the invalid fields.
func (q *SkillRef) Validate() error {
	c := q.check()
	c.id("skill_id", q.SkillID, 2)
	return c.as(ErrMalformed)
}

func (a QueryOptions) check() check {
	var c check
	c.tenant("tenant_id", a.TenantID)
	return c
}

func (c *check) query(s string) {
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		c.fail("query", "required, and must not be empty")
	case n > maxQuery:
		c.fail("query", "expected at most %d characters, got %d", maxQuery, n)
	}
}

func (c *check) method(s string) {
	if s != "" && s != SearchHybrid && s != SearchText && s != SearchVector {
		c.fail("search", "expected %s, %s or %s, got %q", SearchHybrid, SearchText, SearchVector, s)
	}
}
