package test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
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

func TestReadYourWrites(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		byID, bySearch := 0, 0
		words := uniqueWords(t, 30)
		for i, w := range words {
			id := fmt.Sprintf("$.n%d", i)
			c.put(t, [2]string{"skill", `{"skill_id":"` + id + `","tenant_id":"$","purpose":"` + w + `"}`})
			if a := c.call(t, "POST /resolve/skill", `{"skill_id":"`+id+`","tenant_id":"$"}`); a.status == 200 {
				byID++
			}
			a := c.call(t, "POST /resolve/skill", `{"query":"`+w+`","tenant_id":"$","top_k":1}`)
			if a.status == 200 && strings.Contains(a.body, c.named(`"`+id+`"`)) {
				bySearch++
			}
		}
		if byID != len(words) || bySearch != len(words) {
			t.Errorf("of %d writes %d were read by id and %d by search", len(words), byID, bySearch)
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
			other.call(t, "POST /resolve/skill", `{"query":"`+w+`","top_k":1}`, bus.HeaderMinRevision+": "+revision).
				expect(t, 200, "", fmt.Sprintf(`{"skills":[{"skill_id":"$.n%d"}]}`, i))
		}
		if c.do(t, "DELETE /register/skill/$.n0", "").header.Get(bus.HeaderRevision) == "" {
			t.Error("a deletion returns no revision")
		}
		const foreign = "AnotherCatalog-1000000000"
		for _, request := range []string{"GET /skills", "GET /records/skill/$.n1"} {
			a := c.call(t, request, "", bus.HeaderMinRevision+": "+foreign)
			if got := a.header.Get(bus.HeaderIgnoredRevision); a.status != 200 || got != foreign {
				t.Errorf("%s with the token of another catalog: %d, %s %q; want 200 and the token", request, a.status, bus.HeaderIgnoredRevision, got)
			}
		}
		c.call(t, "GET /skills", "", bus.HeaderMinRevision+": soon").expect(t, 400, "CE-001 "+bus.HeaderMinRevision, "")
		c.call(t, "POST /resolve/skill", `{"skill_id":"$.n1"}`, bus.HeaderMinRevision+": 1000000000").
			expect(t, 400, "CE-001 "+bus.HeaderMinRevision, "")
	})
}
