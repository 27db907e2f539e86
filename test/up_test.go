package test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// TestUp restarts "cairn up" on the same data directory, which only one process can
// use at a time.
func TestUp(t *testing.T) {
	t.Parallel()
	program := cairntest.Program(t)
	data := t.TempDir()
	args := []string{"up", "--http", "127.0.0.1:0", "--nats-listen", "", "--data", data, "--model", "offline:"}
	word := word()
	for _, again := range []bool{false, true} {
		p := launch(program, args...)
		if err := p.WaitReady(); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the address is printed", func() bool { return p.URL() != "" })
		transport := &http.Transport{}
		c := &client{word: word, http: &http.Client{Transport: transport, Timeout: time.Minute}, base: p.URL()}
		if !again {
			c.put(t, [2]string{"skill", `{"skill_id":"$.a","purpose":"count hosts"}`})
			other := launch(program, args...)
			if err := other.Wait(); err == nil || !strings.Contains(other.Stderr.String(), data) {
				t.Errorf("a second cairn up on the same data: %v, want an error", err)
			}
		}
		c.rows(t, []row{
			{"health is ok", "GET /health", "", 200, "", `{"service":"cairn","status":"ok"}`},
			{"a skill is found", "POST /resolve/skill", `{"query":"count the hosts"}`, 200, "",
				`{"skills":[{"skill_id":"$.a"}]}`},
		})
		if got := textOf(t, c.analyze(t, question("How many hosts are there?", estate))); !strings.Contains(got, "3") {
			t.Errorf("the answer is %q", got)
		}
		transport.CloseIdleConnections()
		p.Terminate()
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestLogNamesTheRequest checks that a failure is logged once with its request id: by the worker,
// not by the edge.
func TestLogNamesTheRequest(t *testing.T) {
	t.Parallel()
	c := newClient(t, open(t, topologies[1], scripted))
	c.call(t, analyze, question(text(script{Fail: "boom"}), estate), "X-Request-Id: log-"+c.word).expect(t, 500, "AN-500",
		"")
	id := "request_id=log-" + c.word
	wait.Until(t, "the worker logs the request id", func() bool {
		return strings.Contains(c.workers[0].Stderr.String(), id)
	})
	if strings.Contains(c.edges[0].Stderr.String(), id) {
		t.Error("the edge logs the failure again")
	}
}
