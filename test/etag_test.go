package test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestPreconditions has rows with a header that refers to entity tags by name: OLD is the tag of
// the first revision of a record, NOW the tag of the last one.
func TestPreconditions(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const put, register, remove = "PUT /records/tool/$.s.a", "POST /register/tool", "DELETE /records/tool/$.s.a"
		const body = `{"tool_data":{"tool_id":"$.s.a"}}`
		tags := map[string]string{}
		for _, r := range []struct {
			name, request, body string
			header, value       string
			status              int
		}{
			{"an absent record is not replaced", put, `{}`, "If-Match", "*", 412},
			{"nor one with a tag", register, body, "If-Match", `"x-1"`, 412},
			{"nor deleted", remove, "", "If-Match", "*", 412},
			{"but created", put, `{}`, "If-None-Match", "*", 200},
			{"once", put, `{}`, "If-None-Match", "*", 412},
			{"and not by a registration either", register, body, "If-None-Match", "*", 412},
			{"the current tag permits a write", put, `{"n":2}`, "If-Match", "OLD", 200},
			{"the old one does not", put, `{"n":3}`, "If-Match", "OLD", 412},
			{"nor for a registration", register, body, "If-Match", "OLD", 412},
			{"nor for a deletion", remove, "", "If-Match", "OLD", 412},
			{"nor for a deletion by the route of registrations", "DELETE /register/tool/$.s.a", "", "If-Match", "OLD", 412},
			{"a weak tag permits no write", put, `{"n":3}`, "If-Match", "W/NOW", 412},
			{"one tag of several does", put, `{"n":3}`, "If-Match", "OLD, NOW", 200},
			{"any record may be replaced", register, body, "If-Match", "*", 200},
			{"unless its tag is excluded", register, body, "If-None-Match", "OLD, NOW", 412},
			{"a current record is not read again", "GET /records/tool/$.s.a", "", "If-None-Match", "W/NOW", 304},
			{"an older one is", "GET /records/tool/$.s.a", "", "If-None-Match", "OLD", 200},
			{"any is current", "GET /records/tool/$.s.a", "", "If-None-Match", "*", 304},
			{"a tag has quotes", put, `{}`, "If-Match", "NOW, x", 400},
			{"also in a read", "GET /records/tool/$.s.a", "", "If-None-Match", "x", 400},
			{"a deletion of the current record", remove, "", "If-Match", "NOW", 204},
			{"happens once", remove, "", "If-Match", "NOW", 412},
			{"several records have no precondition", "POST /records", `{"kind":"tool","record":{"tool_id":"$.s.a"}}`,
				"If-None-Match", "*", 400},
			{"nor a tag", "POST /records", `{"kind":"tool","record":{"tool_id":"$.s.a"}}`, "If-Match", "NOW", 400},
			{"a deleted record may be created", put, `{}`, "If-None-Match", "*", 200},
		} {
			value := strings.NewReplacer("OLD", tags["OLD"], "NOW", tags["NOW"]).Replace(r.value)
			a := c.call(t, r.request, r.body, r.header+": "+value)
			if a.status != r.status || r.status == 412 && !strings.Contains(a.body, "CE-013") ||
				r.status == 304 && a.body != "" {
				t.Errorf("%s: %d %s, want %d", r.name, a.status, truncated(a.body), r.status)
			}
			tag := a.header.Get("ETag")
			if (r.status == 200 || r.status == 304) != (tag != "") {
				t.Errorf("%s: the entity tag is %q", r.name, tag)
			}
			if r.status == 200 && !strings.HasPrefix(r.request, http.MethodGet) {
				if tags["OLD"] == "" {
					tags["OLD"] = tag
				}
				tags["NOW"] = tag
			}
		}
	})
}

func TestPackageTag(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{{"tool", `{"tool_id":"$.s.a"}`}, {"skill", `{"skill_id":"$.a","tool_ids":["$.s.a"]}`}}...)
		const read = "GET /packages/$.a"
		first := c.call(t, read, "")
		tag := first.header.Get("ETag")
		if resolved := c.do(t, "POST /resolve/skill", `{"skill_id":"$.a"}`); resolved.body != first.body || tag == "" {
			t.Errorf("got %s with the tag %q, want %s", first.body, tag, resolved.body)
		}
		c.put(t, [2]string{"tool", `{"tool_id":"$.s.other"}`})
		if a := c.call(t, read, "", "If-None-Match: "+tag); a.status != 304 || a.body != "" || a.header.Get("ETag") != tag {
			t.Errorf("an unchanged package: %d %s", a.status, truncated(a.body))
		}
		c.put(t, [2]string{"tool", `{"tool_id":"$.s.a","changed":true}`})
		a := c.call(t, read, "", "If-None-Match: "+tag)
		if a.status != 200 || !strings.Contains(a.body, "changed") || a.header.Get("ETag") == tag {
			t.Errorf("a changed part: %d %s", a.status, truncated(a.body))
		}
		c.rows(t, []row{
			{"an unknown skill", "GET /packages/$.no", "", 404, "CE-031", ""},
			{"an explanation", read + "?explain=true", "", 200, "", `{"explain":[{"kind":"skill"},{"kind":"tool"}]}`},
			{"that is no boolean", read + "?explain=1", "", 400, "CE-001 explain", ""},
			{"an id of another shape", "GET /packages/$", "", 400, "CE-001 skill_id", ""},
		})
	})
}

// TestPreconditionOfConcurrentWriters increments a counter in a record from several
// clients: with If-Match no increment is lost.
func TestPreconditionOfConcurrentWriters(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const writers, each = 4, 5
		const path = "/records/template/$"
		c.do(t, "PUT "+path, `{"notes":""}`)
		var refused atomic.Int64
		var writing sync.WaitGroup
		for range writers {
			writing.Go(func() {
				for done := 0; done < each; {
					now, err := c.try(t.Context(), "GET "+path, "")
					next := strings.Replace(now.body, `"notes":"`, `"notes":"+`, 1)
					a := now
					if err == nil {
						a, err = c.try(t.Context(), "PUT "+path, next, "If-Match: "+now.header.Get("ETag"))
					}
					switch {
					case err != nil || a.status != 200 && a.status != 412:
						t.Errorf("%d %s: %v", a.status, truncated(a.body), err)
						return
					case a.status == 412:
						refused.Add(1)
					default:
						done++
					}
				}
			})
		}
		writing.Wait()
		if got := strings.Count(c.call(t, "GET "+path, "").body, "+"); got != writers*each {
			t.Errorf("%d increments of %d, %d writes were refused", got, writers*each, refused.Load())
		}
	})
}

func TestPreconditionOverNATS(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		msg := nats.NewMsg("cairn.register.tool")
		msg.Data = []byte(c.named(`{"tool_data":{"tool_id":"$.s.a"}}`))
		msg.Header.Set("If-None-Match", "*")
		nc := c.dial(t)
		for _, want := range []string{"", "412"} {
			reply, err := nc.RequestMsg(msg, 10*time.Second)
			must(t, err)
			if got := reply.Header.Get("Nats-Service-Error-Code"); got != want {
				t.Errorf("got %q, want %q: %s", got, want, reply.Data)
			}
		}
	})
}

func TestMalformedHeadersOverNATS(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		nc := c.dial(t)
		for _, row := range []struct{ subject, body, header, value, want string }{
			{"cairn.register.tool", `{"tool_data":{"tool_id":"$.s.a"}}`, "If-Match", "bogus", `"code":"CE-061"`},
			{"cairn.records.list", `{"kind":"tool","tenant_id":"$"}`, "Cairn-Min-Revision", "x", `"field":"Cairn-Min-Revision"`},
			{"cairn.records.list", `{"kind":"tool","tenant_id":"$"}`, "Cairn-Min-Revision", "1,,",
				`"field":"Cairn-Min-Revision"`},
			{"cairn.records.list", `{"kind":"tool","tenant_id":"$"}`, "Cairn-Min-Revision", "1, 1", `"records":[`},
			{"cairn.analyze", `{}`, "Cairn-Min-Revision", "x", `"code":"AN-400"`},
		} {
			msg := nats.NewMsg(row.subject)
			msg.Data = []byte(c.named(row.body))
			msg.Header.Set(row.header, row.value)
			reply, err := nc.RequestMsg(msg, 10*time.Second)
			must(t, err)
			if !strings.Contains(string(reply.Data), row.want) {
				t.Errorf("%s with %s: %s: got %s, want %s", row.subject, row.header, row.value, reply.Data, row.want)
			}
		}
	})
}
