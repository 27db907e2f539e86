package test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"testing"
)

// page is one page of a listing.
type page struct {
	Skills, Tools []struct {
		SkillID string `json:"skill_id"`
		ToolID  string `json:"tool_id"`
	}
	NextCursor *string `json:"next_cursor"`
}

func (p page) ids() []string {
	var ids []string
	for _, r := range append(p.Skills, p.Tools...) {
		ids = append(ids, r.SkillID+r.ToolID)
	}
	return ids
}

// list reads the page at cursor; the first one if it is empty.
func (c *client) list(t testing.TB, path, cursor string) page {
	t.Helper()
	if cursor != "" {
		path += "&cursor=" + url.QueryEscape(cursor)
	}
	var p page
	if err := json.Unmarshal([]byte(c.do(t, "GET "+path, "").body), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// listAll reads all pages and calls between after each but the last.
func (c *client) listAll(t testing.TB, path string, between func(page int)) []string {
	t.Helper()
	var all []string
	for n, cursor := 1, ""; ; n++ {
		p := c.list(t, path, cursor)
		all = append(all, p.ids()...)
		if p.NextCursor == nil {
			return all
		}
		cursor = *p.NextCursor
		between(n)
	}
}

func TestListings(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.b","extra":{"x":1}}`}, {"skill", `{"skill_id":"$.a","status":"active"}`},
			{"skill", `{"skill_id":"$.off","status":"draft"}`},
			{"skill", `{"skill_id":"$x.c"}`},
			{"tool", `{"tool_id":"$.s.b","tool_class":"k","provider":"$p","domain":"$"}`},
			{"tool", `{"tool_id":"$.s.a","tool_class":"l","provider":"$p","domain":"$"}`},
			{"tool", `{"tool_id":"$.s.c","tool_class":"k","provider":"$q","domain":"$"}`},
			{"tool", `{"tool_id":"$.s.off","provider":"$p","domain":"$","status":"retired"}`},
		}...)
		c.rows(t, []row{
			{"active skills of a domain by id, with all fields", "GET /skills?domain=$", "", 200,
				`{"skills":[{"skill_id":"$.a","status":"active","domain":"$"},{"skill_id":"$.b","extra":{"x":1},"domain":"$"}],"next_cursor":null}`,
				""},
			{"global skills for a tenant without skills", "GET /skills?domain=$&tenant_id=$", "", 200, "",
				`{"skills":[{"skill_id":"$.a"},{"skill_id":"$.b"}]}`},
			{"none", "GET /skills?domain=$none", "", 200, `{"skills":[],"next_cursor":null}`, ""},
			{"active tools of a domain", "GET /tools?domain=$", "", 200, "",
				`{"tools":[{"tool_id":"$.s.a"},{"tool_id":"$.s.b"},{"tool_id":"$.s.c"}],"next_cursor":null}`},
			{"active tools of a provider", "GET /tools?provider=$p", "", 200, "",
				`{"tools":[{"tool_id":"$.s.a"},{"tool_id":"$.s.b"}]}`},
			{"active tools of a provider and a class", "GET /tools?provider=$p&tool_class=k", "", 200, "",
				`{"tools":[{"tool_id":"$.s.b"}]}`},
			{"an unknown cursor is refused", "GET /skills?cursor=x", "", 400, "CE-001 cursor", ""},
			{"a modified cursor is refused", "GET /tools?cursor=!!", "", 400, "CE-001 cursor", ""},
			{"a limit is at least 1", "GET /skills?limit=0", "", 400, "CE-001 limit", ""},
			{"at most 1000", "GET /tools?limit=1001", "", 400, "CE-001 limit", ""},
			{"a number", "GET /skills?limit=many", "", 400, "CE-001 limit", ""},
			{"given once", "GET /skills?limit=1&limit=2", "", 400, "CE-001 limit", ""},
			{"other parameters are refused", "GET /skills?offset=3", "", 400, "CE-001 offset", ""},
			{"the tenant _global too", "GET /skills?tenant_id=_global", "", 400, "CE-001 tenant_id", ""},
		})
	})
}

func TestPagesAreStableUnderWrites(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const records = 25
		var want []string
		for i := range records {
			id := fmt.Sprintf("$.s.n%02d", i)
			c.put(t, [2]string{"tool", `{"tool_id":"` + id + `","domain":"$"}`})
			want = append(want, c.named(id))
		}
		read := c.listAll(t, "/tools?domain=$&limit=4", func(int) {})
		if !slices.Equal(read, want) {
			t.Errorf("got %q, want %q", read, want)
		}
		read = c.listAll(t, "/tools?domain=$&limit=4", func(page int) {
			c.put(t, [2]string{"tool", fmt.Sprintf(`{"tool_id":"$.s.a%d","domain":"$"}`, page)}) // before the cursor
			c.do(t, fmt.Sprintf("DELETE /register/tool/$.s.n%02d", 4*page-1), "")                // the last one read
		})
		if !slices.Equal(read, want) {
			t.Errorf("after changes before the cursor: got %q, want %q", read, want)
		}
		first := c.list(t, "/tools?domain=$&limit=2&tenant_id=$", "")
		c.put(t, [2]string{"tool", `{"tool_id":"$.s.own","domain":"$","tenant_id":"$"}`})
		second := c.list(t, "/tools?domain=$&limit=2&tenant_id=$", *first.NextCursor)
		if got := second.ids(); slices.Contains(got, c.named("$.s.own")) || len(got) != 2 {
			t.Errorf("the pages after a global one contain %q, want global records", got)
		}
	})
}
