package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestReindex(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		status  int
		body    string
		args    []string
		code    int
		message string
	}{
		{"an index on a server", 200, `{"generation":"cairn-1","records":7}`, nil, 0, "indexing 7 records into cairn-1;"},
		{"that has caught up", 200, `{"generation":"cairn-1","records":7}`, []string{"--wait"}, 0,
			"indexed 7 records into cairn-1\n"},
		{"in memory, without a wait", 501, `{"code":"CE-005","status":501,"title":"not implemented"}`, []string{"--wait"}, 0,
			"nothing to reindex"},
		{"for programs", 200, `{"generation":"cairn-1","records":7}`, []string{"-ojson"}, 0, `"generation": "cairn-1"`},
		{"an index in memory", 501, `{"code":"CE-005","status":501,"title":"not implemented"}`, nil, 0,
			"nothing to reindex: the in-memory index"},
		{"in memory, for programs", 501, `{"code":"CE-005","status":501,"title":"not implemented"}`, []string{"-ojson"}, 0,
			`"records": 0`},
		{"an unavailable index", 503, `{"code":"CE-011","status":503,"title":"dependency unavailable"}`, nil, 5, "CE-011"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			polls := 0 // requests are sequential
			states := []string{
				`{"status":"ok","services":[{"service":"register","status":"ok"}]}`,
				"a proxy is restarted",
				`{"status":"ok","services":[{"service":"register","status":"ok","index":{"fingerprint":"2","live":"1","lag":3}}]}`,
				`{"status":"ok","services":[{"service":"register","status":"ok","index":{"fingerprint":"2","live":"2","lag":0}}]}`,
			}
			url := serving(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/health" && len(row.args) > 0 && row.args[0] == "--wait" {
					_, _ = io.WriteString(w, states[min(polls, len(states)-1)])
					polls++
					return
				}
				if r.Method != http.MethodPost || r.URL.Path != "/register/reindex" {
					t.Errorf("received %s %s", r.Method, r.URL.Path)
				}
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.body)
			})
			got := do(t, "", append([]string{"reindex", "--url", url}, row.args...)...)
			if waited := polls == len(states); waited != strings.HasPrefix(row.message, "indexed") {
				t.Errorf("read the health %d times", polls)
			}
			if got.code != row.code || !strings.Contains(got.out+got.err, row.message) {
				t.Errorf("%+v; want %q", got, row.message)
			}
		})
	}
}
