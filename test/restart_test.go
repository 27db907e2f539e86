package test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/wait"
)

// TestRestart stops a system and starts another on its data: no acknowledged write is
// lost.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, top := range systems(t) {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			before := newClient(t, start(t, top, setup{data: data}))
			for _, k := range kinds {
				before.do(t, "POST /register/"+k.kind, `{"`+k.wrapper+`":`+k.record+k.around+`}`)
			}
			before.put(t, [][2]string{{"skill", `{"skill_id":"$.removed","purpose":"$removed"}`},
				{"skill", `{"skill_id":"$.mine","tenant_id":"$","purpose":"mine"}`}}...)
			before.do(t, "DELETE /register/skill/$.removed", "")
			before.do(t, "POST /tags/write", `{"request_id":"$","flow":"f","tags":{"x":1}}`)
			before.do(t, "POST /tags/write", `{"request_id":"$short","flow":"f","ttl_seconds":1}`)
			must(t, before.stop())
			c := newClient(t, start(t, top, setup{data: data}))
			c.word = before.word
			var rows []row
			for _, k := range kinds {
				rows = append(rows, row{"the " + k.kind, k.read, k.question, 200, "",
					strings.ReplaceAll(k.part, "RECORD", k.record)})
			}
			c.rows(t, append(rows, []row{
				{"search", "POST /resolve/skill", `{"query":"audit p d a b","top_k":1}`, 200, "",
					`{"skills":[{"skill_id":"$.audit"}]}`},
				{"a tenant's record", "POST /resolve/skill", `{"skill_id":"$.mine","tenant_id":"$"}`, 200, "",
					`{"manifest":{"purpose":"mine"}}`},
				{"a deleted record stays deleted", "POST /resolve/skill", `{"skill_id":"$.removed"}`, 404, "CE-031", ""},
				{"a deleted record is not found", "POST /resolve/skill", `{"query":"$removed"}`, 404, "CE-031", ""},
				{"a tag", "GET /tags/$", "", 200, `{"tags":{"request_id":"$","flow":"f","tags":{"x":1}}}`, ""},
				{"a tag is still immutable", "POST /tags/write", `{"request_id":"$"}`, 409, "CE-021", ""},
				{"new records are accepted", "POST /register/skill", `{"record":{"skill_id":"$.new"}}`, 200, "",
					`{"skill_id":"$.new"}`},
			}...))
			wait.Until(t, "an older tag expires", func() bool { return c.call(t, "GET /tags/$short", "").status == 404 })
		})
	}
}

// TestNATSRestart stops the NATS server under a running system and restarts it.
func TestNATSRestart(t *testing.T) {
	t.Parallel()
	for _, top := range topologies {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, start(t, top, setup{data: t.TempDir(), model: "scripted", tcp: true}))
			c.put(t, [2]string{"skill", `{"skill_id":"$.a","purpose":"$"}`})
			c.do(t, "POST /tags/write", `{"request_id":"$","flow":"f"}`)
			analysis := c.follow(t, question(text(script{Say: "some words ", Await: c.word}), estate))
			theModel.received.await(t, 10*time.Second, c.word, "the model receives the request")

			c.crash()
			wait.Until(t, "the edge is disconnected", func() bool {
				a := c.call(t, "GET /health", "")
				return a.status == 503 && strings.Contains(a.body, `"status":"down"`)
			})
			var waiting sync.WaitGroup // requests that reach no worker take longer, but succeed
			for _, request := range []row{
				{request: "POST /resolve/skill", body: `{"skill_id":"$.a"}`, status: 200}, {request: "GET /tags/$", status: 200},
				{request: "POST /register/skill", body: `{"record":{"skill_id":"$.c"}}`, status: 200},
				{request: "POST /tags/write", body: `{"request_id":"$c"}`, status: 201},
			} {
				waiting.Go(func() {
					if a := c.call(t, request.request, request.body); a.status != request.status {
						t.Errorf("%s without NATS: %d %s, want %d", request.request, a.status, a.body, request.status)
					}
				})
			}
			if e := analysis.cut(t); len(all(e, "error")) > 0 {
				t.Errorf("the analysis in flight: %v, want the stream cut without an error event", e)
			}
			theModel.released.set(c.word)

			must(t, c.revive())
			waiting.Wait()
			wait.Until(t, "the system is healthy again", func() bool {
				a := c.call(t, "GET /health", "")
				return a.status == 200 && strings.Contains(a.body, `"service":"cairn","status":"ok"`)
			})
			c.rows(t, []row{
				{"earlier records are found", "POST /resolve/skill", `{"query":"$","top_k":1}`, 200, "",
					`{"skills":[{"skill_id":"$.a"}]}`},
				{"new records are accepted", "POST /register/skill", `{"record":{"skill_id":"$.b"}}`, 200, "",
					`{"skill_id":"$.b"}`},
				{"the new record is found", "POST /resolve/skill", `{"skill_id":"$.b"}`, 200, "", `{"skill_id":"$.b"}`},
				{"tags are accepted", "POST /tags/write", `{"request_id":"$new"}`, 201, `{"request_id":"$new","flow":""}`, ""},
			})
			inOrder(t, kindsOf(c.analyze(t, question(text(script{Say: "again"}), estate))))
		})
	}
}
