package test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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

func TestTagRequestIDs(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		for _, id := range []string{
			"*>. /", "..", ".", "/", "%2F", "%", "a b", " ", "a.b.c", "$KV.cairn_tags.>", "_global", "?x=y#z", "+",
			"日本語 🙂 é", "e\u0301", "tab\tand\nline", "\u0000", `"quoted\"`, strings.Repeat("é", 256),
		} {
			t.Run(truncated(id), func(t *testing.T) {
				path := "/tags/" + escaped(id)
				body := text(map[string]any{"request_id": id, "flow": id, "tags": map[string]any{id: id}})
				c := c.plain()
				c.call(t, "POST /tags/write", body).expect(t, 201, text(map[string]string{"request_id": id, "flow": id}), "")
				c.call(t, "GET "+path, "").expect(t, 200, `{"tags":`+body+`}`, "")
				c.call(t, "POST /tags/write", body).expect(t, 409, "CE-021", "")
				c.call(t, "DELETE "+path, "").expect(t, 204, "", "")
				c.call(t, "GET "+path, "").expect(t, 404, "CE-022", "")
			})
		}
		long := strings.Repeat("é", 257)
		c.rows(t, []row{
			{"257 characters are too many to write", "POST /tags/write", `{"request_id":"` + long + `"}`, 400,
				"CE-001 request_id", ""},
			{"257 characters are too many to read", "GET /tags/" + escaped(long), "", 400, "CE-001 request_id", ""},
			{"257 characters are too many to remove", "DELETE /tags/" + escaped(long), "", 400, "CE-001 request_id", ""},
			{"a path that is not UTF-8 is refused", "GET /tags/%FF", "", 400, "CE-001 request_id", ""},
		})
	})
}

// escaped percent-encodes every byte that is not an ASCII letter or digit.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func TestTagIsWrittenOnce(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const writers = 24
		answers := make(chan answer, writers)
		for i := range writers {
			go func() {
				a, err := c.try(context.Background(), "POST /tags/write",
					fmt.Sprintf(`{"request_id":"$","flow":"f%d","tags":{"n":%d}}`, i, i))
				if err != nil {
					t.Errorf("write %d: %v", i, err)
				}
				answers <- a
			}()
		}
		var first []answer
		for range writers {
			if a := <-answers; a.status == http.StatusCreated {
				first = append(first, a)
			} else {
				a.expect(t, 409, "CE-021", "")
			}
		}
		if len(first) != 1 {
			t.Fatalf("%d of %d writes were accepted, want 1: %v", len(first), writers, first)
		}
		c.call(t, "GET /tags/$", "").expect(t, 200, "", `{"tags":`+first[0].body+`}`)
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
