package test

import (
	"testing"
	"time"

	"cairn/test/wait"
)

func TestTagLifecycle(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const tag = `{"request_id":"$","flow":"analysis","tags":{"phase":"routing","domain":null,"n":[1,{"deep":"> <"}]}}`
		c.rows(t, []row{
			{"an absent tag is not found", "GET /tags/$", "", 404, "CE-022", ""},
			{"a tag is stored", "POST /tags/write", tag, 201, `{"request_id":"$","flow":"analysis"}`, ""},
			{"the read tag equals the written one", "GET /tags/$", "", 200, `{"tags":` + tag + `}`, ""},
			{"a second write of the same request_id is refused", "POST /tags/write",
				`{"request_id":"$","flow":"other","tags":{}}`, 409,
				"CE-021", ""},
			{"the same write again is refused too", "POST /tags/write", tag, 409, "CE-021", ""},
			{"a refused write does not change the tag", "GET /tags/$", "", 200, `{"tags":` + tag + `}`, ""},
			{"a stored tag is removed", "DELETE /tags/$", "", 204, "", ""},
			{"a removed tag is not found", "GET /tags/$", "", 404, "CE-022", ""},
			{"removing an absent tag succeeds", "DELETE /tags/$", "", 204, "", ""},
			{"removing a tag that was never written succeeds", "DELETE /tags/$never", "", 204, "", ""},
			{"a removed request_id can be written again", "POST /tags/write", `{"request_id":"$","flow":"again","tags":{}}`, 201,
				`{"request_id":"$","flow":"again"}`, ""},
			{"a tag written again has the last value", "GET /tags/$", "", 200,
				`{"tags":{"request_id":"$","flow":"again","tags":{}}}`, ""},
		})
	})
}

func TestTagRequests(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const write = "POST /tags/write"
		c.rows(t, []row{
			{"a request_id is required", write, `{"flow":"f","tags":{}}`, 400, "CE-001 request_id", ""},
			{"a request_id must not be empty", write, `{"request_id":"","flow":"f","tags":{}}`, 400, "CE-001 request_id", ""},
			{"a request_id must be a string", write, `{"request_id":7,"flow":"f","tags":{}}`, 400, "CE-001 request_id", ""},
			{"flow is a string", write, `{"request_id":"$a","flow":{},"tags":{}}`, 400, "CE-001 flow", ""},
			{"tags are an object", write, `{"request_id":"$a","flow":"f","tags":[]}`, 400, "CE-001 tags", ""},
			{"duplicate members are refused", write, `{"request_id":"$a","request_id":"$b"}`, 400, "CE-001 request_id", ""},
			{"an array is refused", write, `[]`, 400, "CE-001 body", ""},
			{"malformed JSON is refused", write, `{"request_id":`, 400, "CE-001 request_id", ""},
			{"an empty body is refused", write, ``, 400, "CE-001", ""},
			{"no refused tag was stored", "GET /tags/$a", "", 404, "CE-022", ""},
			{"ttl_seconds is at least 1", write, `{"request_id":"$a","ttl_seconds":0}`, 400, "CE-001 ttl_seconds", ""},
			{"ttl_seconds is not negative", write, `{"request_id":"$a","ttl_seconds":-1}`, 400, "CE-001 ttl_seconds", ""},
			{"whole seconds", write, `{"request_id":"$a","ttl_seconds":1.5}`, 400, "CE-001 ttl_seconds", ""},
			{"ttl_seconds is a number", write, `{"request_id":"$a","ttl_seconds":"5"}`, 400, "CE-001 ttl_seconds", ""},
			{"ttl_seconds may equal the maximum", write, `{"request_id":"$a","ttl_seconds":1800}`, 201,
				`{"request_id":"$a","flow":""}`, ""},
			{"ttl_seconds must not exceed the maximum", write, `{"request_id":"$b","ttl_seconds":1801}`, 400,
				"CE-001 ttl_seconds", ""},
			{"a tag without flow and tags has empty ones", "GET /tags/$a", "", 200,
				`{"tags":{"request_id":"$a","flow":"","tags":{}}}`, ""},
		})
	})
}

func TestTagExpires(t *testing.T) {
	for name, r := range map[string]struct {
		setup *setup
		body  string
		ttl   time.Duration
	}{
		"ttl_seconds shortens the time to live": {usual, `{"request_id":"$","flow":"f","ttl_seconds":1}`,
			time.Second},
		"without ttl_seconds the default time to live applies": {scripted, `{"request_id":"$","flow":"f"}`, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, r.setup, func(t *testing.T, c *client) {
				sent := time.Now()
				c.do(t, "POST /tags/write", r.body)
				c.call(t, "GET /tags/$", "").expect(t, 200, `{"tags":{"request_id":"$","flow":"f","tags":{}}}`, "")
				wait.Until(t, "the tag expires", func() bool { return c.call(t, "GET /tags/$", "").status != 200 })
				if lived := time.Since(sent); lived < r.ttl {
					t.Errorf("expired after %v, want at least %v", lived, r.ttl)
				}
				c.rows(t, []row{
					{"an expired tag is not found", "GET /tags/$", "", 404, "CE-022", ""},
					{"an expired request_id can be written again", "POST /tags/write", r.body, 201, `{"request_id":"$","flow":"f"}`,
						""},
				})
			})
		})
	}
}
