package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// FuzzAnswer checks that every command handles any response of a server: it prints the
// response or an error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		answered + done, "id: \x00\nevent: text_delta\ndata: {\"text\":1}\n\n" + done,
		"event: error\ndata: {}\n\n" + done, "event: tool_result\r\ndata: {\"result\":\"\xff\"}\r\n\r\n", "data\n\n:",
		`{"skills":[{"skill_id":"a.b","score":1e400},7,null],"degraded":"text-only","explain":[{"kind":"skill","id":"a.b","scope":"x","via":"y","text_rank":-1}]}`,
		`{"skill_id":"a","manifest":null,"context_builders":[{"tool_ids":["\n\t"]}],"tools":[[]],"template":7}`,
		`{"agent_id":"a","capabilities":["\u001b"],"score":-1}`, `{"tools":[{}],"missing":[]}`,
		`{"service":"cairn","status":"ok","services":[{"service":"tags","status":"down","degraded":["a"],"services":[{}]}]}`,
		`{"code":"CE-001","status":7}`, `null`, ``, "\xff",
	} {
		f.Add(200, []byte(seed))
		f.Add(400, []byte(seed))
	}
	var body atomic.Pointer[[]byte]
	var status atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write(*body.Load())
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, code int, text []byte) {
		if code < 200 || code > 599 {
			return // not a valid response status
		}
		body.Store(&text)
		status.Store(int64(code))
		for _, command := range []string{"search x", "resolve x.y", "search x --kind agent", "search x --kind tool",
			"resolve --tool-class x", "ask x --estate -", "ask x --estate - -o json", "status", "status -o json"} {
			got := do(t, "{}", append(strings.Fields(command), "--url", server.URL)...)
			if got.code == 0 && code >= 300 && !strings.HasPrefix(command, "status") ||
				got.code != 0 && got.err == "" && got.out == "" {
				t.Errorf("%s of %d %q: %+v", command, code, text, got)
			}
			for line := range strings.Lines(got.out) {
				if strings.HasPrefix(command, "ask") && strings.HasSuffix(command, "json") && !json.Valid([]byte(line)) {
					t.Errorf("%s of %q prints %q", command, text, line)
				}
			}
		}
	})
}
