package test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestErrorResponses(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		for _, path := range []string{"/search/playbooks", "/answer/knowledge", "/resolve/domain_knowledge"} {
			c.rows(t, []row{
				{path + " is not implemented", "POST " + path, `{"query":"x"}`, 501, "CE-005", ""},
				{path + " is not implemented, with any body", "POST " + path, `{`, 501, "CE-005", ""},
			})
		}
		c.rows(t, []row{
			{"an unknown path", "GET /unknown", "", 404, "CE-004", ""},
			{"the root", "GET /", "", 404, "CE-004", ""},
			{"a path below a known one", "POST /resolve/skill/more", "{}", 404, "CE-004", ""},
			{"a path with a trailing slash", "POST /resolve/skill/", "{}", 404, "CE-004", ""},
			{"a planned path", "POST /resolve/playbook", "{}", 404, "CE-004", ""},
			{"another planned path", "POST /answer/rag", "{}", 404, "CE-004", ""},
			{"a tag without a name", "GET /tags/", "", 404, "CE-004", ""},
			{"an escaped path", "GET /%E2%82%AC%2F", "", 404, "CE-004", ""},
		})
		for request, allow := range map[string]string{
			"GET /resolve/skill": "POST", "POST /health": "GET", "PUT /tags/$": "DELETE", "PATCH /api/v1/analyze": "POST",
			"POST /skills": "GET", "GET /register/skill": "POST", "GET /search/playbooks": "POST",
		} {
			a := c.call(t, request, "")
			if !strings.Contains(a.header.Get("Allow"), allow) {
				t.Errorf("%s: Allow %q, want %s in it", request, a.header.Get("Allow"), allow)
			}
			a.expect(t, 405, "CE-003", "")
		}
	})
}

func TestBodyLimit(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const most = 1 << 20
		head, foot := c.named(`{"request_id":"$","flow":"f","tags":{"x":"`), `"}}`
		fits := head + strings.Repeat("x", most-len(head)-len(foot)) + foot
		c.call(t, "POST /tags/write", fits).expect(t, 201, `{"request_id":"$","flow":"f"}`, "")
		if a := c.call(t, "GET /tags/$", ""); a.status != 200 || len(a.body) < most {
			t.Errorf("%d with %d bytes for a tag of 1 MiB", a.status, len(a.body))
		}
		for _, path := range []string{"/tags/write", "/register/skill", "/resolve/skill", "/resolve/tools"} {
			c.call(t, "POST "+path, fits+" ").expect(t, 413, "CE-002", "")
		}
		res, err := c.send(t.Context(), "POST /register/tool", endless{}) // no Content-Length
		must(t, err)
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("an endless body: %d, want 413", res.StatusCode)
		}
	})
}

// endless is a body without end and without Content-Length.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat(" ", len(p))), nil }

func TestCrossOriginRequests(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const elsewhere = "Sec-Fetch-Site: cross-site"
		c.call(t, "POST /tags/write", `{"request_id":"$"}`, elsewhere).expect(t, 403, "CE-007", "")
		c.call(t, "POST /api/v1/analyze", `{}`, elsewhere).expect(t, 403, "AN-403", "")
		c.call(t, "GET /tags/$", "", elsewhere).expect(t, 404, "CE-022", "")
	})
}

func TestJSONBodies(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [2]string{"skill", `{"skill_id":"$.a","purpose":"a > b & \"c\" < é  "}`})
		a := c.do(t, "POST /resolve/skill", `{"skill_id":"$.a"}`)
		if !strings.Contains(a.body, `a > b & \"c\" < é`) {
			t.Errorf("text is returned escaped: %s", a.body)
		}
		if !json.Valid([]byte(a.body)) {
			t.Errorf("no JSON: %s", a.body)
		}
		c.rows(t, []row{
			{"a body that is not UTF-8", "POST /register/skill", "{\"record\":{\"skill_id\":\"$.\xff\"}}", 400,
				"CE-061 record.skill_id", ""},
			{"a query that is not UTF-8", "POST /resolve/skill", "{\"query\":\"\xff\"}", 400, "CE-001 query", ""},
		})
	})
}
