package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/test/wait"
)

// response is a response to an analysis, and what a command about the estate on stdin makes of it.
type response struct {
	name   string
	status int
	text   string
	args   []string
	want   result
}

// check runs the command with the arguments of the response.
func (r response) check(t *testing.T, command string, args ...string) {
	t.Helper()
	args = slices.Concat([]string{command, "--url", answering(t, r.status, r.text), "--estate", "-"}, args, r.args)
	if diff := cmp.Diff(r.want, do(t, `{"hosts": []}`, args...), cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// answering returns the URL of a server that replies to an analysis with status and text.
func answering(t *testing.T, status int, text string) string {
	t.Helper()
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
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

// checked is a provenance event with a supported and two unsupported figures.
const checked = `id: 5
event: provenance
data: {"figures":[{"text":"3","from":"value"},{"text":"4711","from":"nowhere","flagged":true},
data: {"text":"7%","from":"nowhere","flagged":true},{"text":"4711","from":"nowhere","flagged":true}]}

`

const done = "id: 9\nevent: done\ndata: {}\n\n"

func TestAsk(t *testing.T) {
	t.Parallel()
	const called = "compute_stats {\"data_key\":\"hosts\"}\n  → {\"total\":3}\n"
	for _, row := range []response{
		{"an answer", 200, answered + done, nil,
			result{"There are 3 hosts.\n", called, 0}},
		{"an error after the first event", 200, answered +
			"event: error\ndata: {\"code\":\"AN-500\",\"message\":\"the model is gone\"}\n\n" + done, nil,
			result{"There are 3 hosts.\n", called + "cairn: AN-500 the model is gone\n", 1}},
		{"a direct_response", 200,
			"event: direct_response\ndata: {\"text\":\"3\",\"code\":\"AN-503\",\"reason\":\"it is unavailable\"}\n\n" + done,
			nil, result{"3\n", "rendering agent unavailable: it is unavailable\n", 0}},
		{"events as JSON", 200, "event: text_delta\ndata: {\"text\":\"3\"}\n\n" + done, []string{"-ojson"},
			result{"{\"event\":\"text_delta\",\"data\":{\"text\":\"3\"}}\n{\"event\":\"done\",\"data\":{}}\n", "", 0}},
		{"an error as JSON", 200, "event: error\ndata: {\"code\":\"AN-500\",\"message\":\"\"}\n\n" + done, []string{"-ojson"},
			result{"{\"event\":\"error\",\"data\":{\"code\":\"AN-500\",\"message\":\"\"}}\n{\"event\":\"done\",\"data\":{}}\n",
				"", 1}},
		{"unsupported figures", 200, answered + checked + done, nil,
			result{"There are 3 hosts.\nUnsupported by any tool result: 4711, 7%\n", called, 0}},
		{"unsupported figures with --strict", 200, answered + checked + done, []string{"--strict"},
			result{"There are 3 hosts.\nUnsupported by any tool result: 4711, 7%\n",
				called + "cairn: --strict: no tool result supports 4711, 7%\n", 1}},
		{"supported figures with --strict", 200, answered + "event: provenance\ndata: {\"figures\":[]}\n\n" + done,
			[]string{"--strict"}, result{"There are 3 hosts.\n", called, 0}},
		{"a server that checks no figures with --strict", 200, answered + done, []string{"--strict"},
			result{"There are 3 hosts.\n", called + "cairn: --strict: the server did not check the figures of the answer\n", 1}},
		{"unsupported figures with --strict as JSON", 200,
			"event: provenance\ndata: {\"figures\":[{\"text\":\"7\",\"flagged\":true}]}\n\n" + done,
			[]string{"--strict", "-ojson"},
			result{"{\"event\":\"provenance\",\"data\":{\"figures\":[{\"text\":\"7\",\"flagged\":true}]}}\n{\"event\":\"done\",\"data\":{}}\n",
				"cairn: --strict: no tool result supports 7\n", 1}},
		{"an error of an answer with unsupported figures and --strict", 200,
			checked + "event: error\ndata: {\"code\":\"AN-500\",\"message\":\"the model is gone\"}\n\n" + done,
			[]string{"--strict"},
			result{"Unsupported by any tool result: 4711, 7%\n", "cairn: AN-500 the model is gone\n", 1}},
		{"a refusal", 413, `{"code": "AN-413", "status": 413, "title": "body too large", "detail": "expected at most 10 bytes"}`, nil,
			result{"", "cairn: AN-413 body too large: expected at most 10 bytes\n", exitUsage}},
		{"an estate that is not JSON", 500, failed("context: not JSON"), nil,
			result{"", "cairn: AN-500 analysis failed: context: not JSON\n", exitUsage}},
		{"an estate that is not JSON, as JSON", 200,
			"event: error\ndata: {\"code\":\"AN-500\",\"message\":\"analysis failed: context: no\"}\n\n" + done,
			[]string{"-ojson"},
			result{"{\"event\":\"error\",\"data\":{\"code\":\"AN-500\",\"message\":\"analysis failed: context: no\"}}\n" +
				"{\"event\":\"done\",\"data\":{}}\n", "", exitUsage}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.check(t, "ask", "how many hosts?")
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
			t.Errorf("resumes after %q, before any event was received", seen)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	url := serving(t, mux.ServeHTTP)
	if got := do(t, `{}`, "ask", "--url", url, "--estate", "-", "how many hosts?"); got.code != 1 ||
		!strings.Contains(got.err, "incomplete answer") {
		t.Errorf("%+v", got)
	}
}

func TestAskIncompleteStream(t *testing.T) {
	t.Parallel()
	got := do(t, `{}`, "ask", "--url", answering(t, 200, answered), "--estate", "-", "how many hosts?")
	if got.code != exitUnavailable || !strings.Contains(got.err, "unexpected EOF") {
		t.Errorf("%+v; want an error: the answer is incomplete", got)
	}
}

// TestAskResumes checks that an interrupted stream is resumed after the last event ID.
func TestAskResumes(t *testing.T) {
	t.Parallel()
	var received []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/analyze", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(bus.HeaderRun, "r1")
		_, _ = io.WriteString(w, answered)
	})
	mux.HandleFunc("GET /api/v1/analyze/r1", func(w http.ResponseWriter, r *http.Request) {
		received = append(received, strings.Join(r.Header["Last-Event-Id"], ",")) // requests are sequential
		switch len(received) {
		case 1:
			_, _ = io.WriteString(w, "id: 5\nevent: text_delta\ndata: {\"text\":\" In all.\"}\n\n")
		case 2:
			_, _ = io.WriteString(w, done)
		}
	})
	url := serving(t, mux.ServeHTTP)
	got := do(t, `{"hosts": []}`, "ask", "--url", url, "--estate", "-", "how many hosts?")
	if got.code != 0 || got.out != "There are 3 hosts. In all.\n" || fmt.Sprint(received) != "[4 5]" {
		t.Errorf("%+v after resuming after %v", got, received)
	}
}

// TestAskIsCanceled checks that SIGINT also cancels the analysis on the server.
func TestAskIsCanceled(t *testing.T) {
	t.Parallel()
	stopped := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("DELETE /api/v1/analyze/{run}", func(_ http.ResponseWriter, r *http.Request) {
		stopped <- r.PathValue("run")
	})
	mux.HandleFunc("POST /api/v1/analyze", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(bus.HeaderRun, "r1")
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a disconnect only after it has read the body
		_, _ = io.WriteString(w, "event: text_delta\ndata: {\"text\":\"wait\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	url := serving(t, mux.ServeHTTP)
	ctx, cancel := context.WithCancel(t.Context())
	out := &buffer{}
	root := newRoot(func(string) string { return "" })
	// the text has no figures, which are kept back
	root.SetArgs([]string{"ask", "--url", url, "--estate", "-", "how many?"})
	root.SetIn(strings.NewReader("{}"))
	root.SetOut(out)
	root.SetErr(io.Discard)
	code := make(chan int, 1)
	go func() { code <- run(ctx, root) }()
	wait.Until(t, "the answer begins", func() bool { return out.String() != "" })
	cancel()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit %d; want %d", got, exitInterrupted)
	}
	select {
	case run := <-stopped:
		if run != "r1" {
			t.Errorf("the run %q was canceled", run)
		}
	case <-time.After(wait.Timeout):
		t.Error("the server received no cancellation")
	}
}

// TestAskChecksFigures checks the answer of a model that calls no tool.
func TestAskChecksFigures(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		for _, text := range []string{"There are 47", "11 ho", "sts."} {
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", text)
		}
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
	llm := serving(t, mux.ServeHTTP)
	s := startIsolated(t, "--model", "openai://"+strings.TrimPrefix(llm, "http://")+"/m?plan=tools&answers=forwarded")
	const marked = "There are 4711 hosts.\nUnsupported by any tool result: 4711\n"
	for _, row := range []struct {
		name string
		args []string
		want result
	}{
		{"by default", nil, result{marked, "", 0}},
		{"strictly", []string{"--strict"}, result{marked, "cairn: --strict: no tool result supports 4711\n", 1}},
		{"not at all", []string{"--provenance=false"}, result{"There are 4711 hosts.\n", "", 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, `{"hosts": []}`,
				append([]string{"ask", "--url", s.http, "--estate", "-", "how many hosts?"}, row.args...)...)
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := do(t, `{}`, "ask", "--url", s.http, "--estate", "-", "q", "--strict",
		"--provenance=false"); got.code != exitUsage ||
		!strings.Contains(got.err, "--strict requires --provenance") {
		t.Errorf("%+v; want --strict refused without --provenance", got)
	}
}
