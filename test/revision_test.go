package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
	"cairn/test/wait"
)

// uniqueWords returns n random words.
func uniqueWords(t testing.TB, n int) []string {
	t.Helper()
	words := make([]string, n)
	for i := range words {
		words[i] = word()
	}
	return words
}

// searchWritten searches for the skill of a registration. The first search finds it. With
// real backends on a busy machine, a later one does if the registration reported indexed as
// false or the search is unavailable.
func (c *client) searchWritten(t *testing.T, written answer, query, id string, headers ...string) {
	t.Helper()
	indexed := !strings.Contains(written.body, `"indexed":false`)
	var a answer
	wait.Until(t, "a search includes "+c.named(id), func() bool {
		a = c.call(t, "POST /resolve/skill", query, headers...)
		return !onReal(t) || indexed && a.status != http.StatusServiceUnavailable ||
			strings.Contains(a.body, `"`+c.named(id)+`"`)
	})
	a.expect(t, 200, "", `{"skills":[{"skill_id":"`+id+`"}]}`)
}

func TestReadYourWrites(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		words := uniqueWords(t, 30)
		for i, w := range words {
			id := fmt.Sprintf("$.n%d", i)
			written := c.do(t, "POST /register/skill", `{"record":{"skill_id":"`+id+`","tenant_id":"$","purpose":"`+w+`"}}`)
			c.call(t, "POST /resolve/skill", `{"skill_id":"`+id+`","tenant_id":"$"}`).expect(t, 200, "", `{"skill_id":"`+id+`"}`)
			c.searchWritten(t, written, `{"query":"`+w+`","tenant_id":"$","top_k":1}`, id)
		}
		for i := range words {
			c.do(t, fmt.Sprintf("DELETE /register/skill/$.n%d?tenant_id=$", i), "")
			c.call(t, "POST /resolve/skill", fmt.Sprintf(`{"skill_id":"$.n%d","tenant_id":"$"}`, i)).expect(t, 404, "CE-031", "")
		}
	})
}

func TestRevisions(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		other := c.at(c.secondEdge) // another edge, without the revision of the write
		for i, w := range uniqueWords(t, 20) {
			a := c.do(t, "POST /register/skill", fmt.Sprintf(`{"record":{"skill_id":"$.n%d","purpose":%q}}`, i, w))
			revision := a.header.Get(bus.HeaderRevision)
			token, err := schemas.ParseConsistencyToken(revision)
			if err != nil || token.Catalog == "" || token.Revision == 0 {
				t.Fatalf("token %q, %v, want the ID of a catalog and a number above 0", revision, err)
			}
			other.searchWritten(t, a, `{"query":"`+w+`","top_k":1}`, fmt.Sprintf("$.n%d", i),
				bus.HeaderMinRevision+": "+revision)
		}
		if c.do(t, "DELETE /register/skill/$.n0", "").header.Get(bus.HeaderRevision) == "" {
			t.Error("a deletion returns no revision")
		}
		const foreign = "AnotherCatalog-1000000000"
		for _, request := range []string{"GET /skills", "GET /records/skill/$.n1"} {
			a := c.call(t, request, "", bus.HeaderMinRevision+": "+foreign)
			if got := a.header.Get(bus.HeaderIgnoredRevision); a.status != 200 || got != foreign {
				t.Errorf("%s with the token of another catalog: %d, %s %q; want 200 and the token", request, a.status,
					bus.HeaderIgnoredRevision, got)
			}
		}
		c.call(t, "GET /skills", "", bus.HeaderMinRevision+": soon").expect(t, 400, "CE-001 "+bus.HeaderMinRevision, "")
		c.call(t, "POST /resolve/skill", `{"skill_id":"$.n1"}`, bus.HeaderMinRevision+": 1000000000").
			expect(t, 400, "CE-001 "+bus.HeaderMinRevision, "")
	})
}
