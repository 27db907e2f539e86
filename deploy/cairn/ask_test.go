package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
)

// answering returns the URL of a server that replies to an analysis with status and text.
func answering(t *testing.T, status int, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const answered = `id: 1
event: tool_use
data: {"tool_call_id":"1","name":"compute_stats","input":{"data_key":"hosts"}}

: still at work

id: 2
event: tool_result
data: {"tool_call_id":"1","result":{"total":3}}

id: 3
event: text_delta
data: {"text":"There are "}

id: 4
event: text_delta
data: {"text":"3 hosts."}

`

const done = "id: 9\nevent: done\ndata: {}\n\n"

func TestAsk(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		text   string
		args   []string
		want   result
	}{
		{"an answer", 200, answered + done, nil,
			result{"There are 3 hosts.\n", "compute_stats {\"data_key\":\"hosts\"}\n  → {\"total\":3}\n", 0}},
		{"an error after the beginning", 200, answered +
			"event: error\ndata: {\"code\":\"AN-500\",\"message\":\"the model is gone\"}\n\n" + done, nil,
			result{"There are 3 hosts.\n", "compute_stats {\"data_key\":\"hosts\"}\n  → {\"total\":3}\ncairn: AN-500 the model is gone\n", 1}},
		{"a plain answer in place of the rendering agent's", 200,
			"event: direct_response\ndata: {\"text\":\"3\",\"code\":\"AN-503\",\"reason\":\"it is away\"}\n\n" + done, nil,
			result{"3\n", "rendering agent unavailable: it is away\n", 0}},
		{"events for programs", 200, "event: text_delta\ndata: {\"text\":\"3\"}\n\n" + done, []string{"--json"},
			result{"{\"event\":\"text_delta\",\"data\":{\"text\":\"3\"}}\n{\"event\":\"done\",\"data\":{}}\n", "", 0}},
		{"an error for programs", 200, "event: error\ndata: {\"code\":\"AN-500\",\"message\":\"\"}\n\n" + done, []string{"--json"},
			result{"{\"event\":\"error\",\"data\":{\"code\":\"AN-500\",\"message\":\"\"}}\n{\"event\":\"done\",\"data\":{}}\n", "", 1}},
		{"a refusal", 413, `{"code": "AN-413", "status": 413, "title": "body too large", "detail": "want at most 10 bytes"}`, nil,
			result{"", "cairn: AN-413 body too large: want at most 10 bytes\n", 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			url := answering(t, row.status, row.text)
			got := do(t, `{"hosts": []}`, append([]string{"ask", "--url", url, "--estate", "-", "how many hosts?"}, row.args...)...)
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAskIncompleteReplay checks that a stream without an end event fails when
// the replay has no further events.
func TestAskIncompleteReplay(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/analyze", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(bus.HeaderRun, "r1")
		_, _ = io.WriteString(w, ": alive\n\n")
	})
	mux.HandleFunc("GET /api/v1/analyze/r1", func(w http.ResponseWriter, r *http.Request) {
		if seen, there := r.Header["Last-Event-Id"]; there {
			t.Errorf("asks for what follows %q, having seen nothing", seen)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	if got := do(t, `{}`, "ask", "--url", server.URL, "--estate", "-", "how many hosts?"); got.code != 1 ||
		!strings.Contains(got.err, "incomplete answer") {
		t.Errorf("%+v", got)
	}
}

func TestAskWithoutAnEnd(t *testing.T) {
	t.Parallel()
	got := do(t, `{}`, "ask", "--url", answering(t, 200, answered), "--estate", "-", "how many hosts?")
	if got.code != 1 || !strings.Contains(got.err, "unexpected EOF") {
		t.Errorf("%+v; want an error: the answer was cut", got)
	}
}

// TestAskResumes checks that an interrupted stream is resumed after the last event ID.
func TestAskResumes(t *testing.T) {
	t.Parallel()
	var asked []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/analyze", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(bus.HeaderRun, "r1")
		_, _ = io.WriteString(w, answered)
	})
	mux.HandleFunc("GET /api/v1/analyze/r1", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, strings.Join(r.Header["Last-Event-Id"], ",")) // requests are sequential
		switch len(asked) {
		case 1:
			_, _ = io.WriteString(w, "id: 5\nevent: text_delta\ndata: {\"text\":\" In all.\"}\n\n")
		case 2:
			_, _ = io.WriteString(w, done)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	got := do(t, `{"hosts": []}`, "ask", "--url", server.URL, "--estate", "-", "how many hosts?")
	if got.code != 0 || got.out != "There are 3 hosts. In all.\n" || fmt.Sprint(asked) != "[4 5]" {
		t.Errorf("%+v after asking for what follows %v", got, asked)
	}
}

// TestAskIsCancelled checks that SIGINT also cancels the analysis on the server.
func TestAskIsCancelled(t *testing.T) {
	t.Parallel()
	stopped := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("DELETE /api/v1/analyze/{run}", func(_ http.ResponseWriter, r *http.Request) { stopped <- r.PathValue("run") })
	mux.HandleFunc("POST /api/v1/analyze", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(bus.HeaderRun, "r1")
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a disconnect only after it has read the body
		_, _ = io.WriteString(w, "event: text_delta\ndata: {\"text\":\"wait\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	out := newBuffer()
	root := newRoot(func(string) string { return "" })
	root.SetArgs([]string{"ask", "--url", server.URL, "--estate", "-", "how many?"})
	root.SetIn(strings.NewReader("{}"))
	root.SetOut(out)
	root.SetErr(io.Discard)
	code := make(chan int, 1)
	go func() { code <- run(ctx, root) }()
	<-out.more
	cancel()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit %d; want %d", got, exitInterrupted)
	}
	select {
	case run := <-stopped:
		if run != "r1" {
			t.Errorf("the run %q is stopped", run)
		}
	case <-time.After(5 * time.Second):
		t.Error("the server was not told")
	}
}
