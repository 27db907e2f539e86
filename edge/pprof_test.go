package edge_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"cairn/edge"
	"cairn/test/wait"
)

// monitored serves the listener for operators and stops it with the test.
func monitored(t *testing.T, change func(*edge.Monitor)) *testEdge {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	m := edge.Monitor{Listener: listener, Ready: func(context.Context) []string {
		return nil
	}, Log: slog.New(slog.DiscardHandler)}
	change(&m)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- m.Serve(ctx) }()
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &testEdge{url: "http://" + listener.Addr().String(), client: &http.Client{Transport: transport}}
}

func TestPprofIsOff(t *testing.T) {
	t.Parallel()
	f := monitored(t, func(*edge.Monitor) {})
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile", "/debug/pprof/trace",
		"/debug/pprof/cmdline"} {
		if a := f.request(t, "GET", path, nil); a.status != http.StatusNotFound {
			t.Errorf("%s without --pprof: %d, want 404", path, a.status)
		}
	}
}

func TestPprofDuration(t *testing.T) {
	t.Parallel()
	f := monitored(t, func(m *edge.Monitor) { m.Pprof = true })
	for path, want := range map[string]int{
		"/debug/pprof/heap": 200, "/debug/pprof/profile?seconds=31": 400, "/debug/pprof/trace?seconds=30.5": 400,
		"/debug/pprof/heap?seconds=3600": 400,
		"/debug/pprof/trace?seconds=inf": 400, "/debug/pprof/trace?seconds=nan": 400, "/debug/pprof/trace?seconds=1e300": 400,
	} {
		if a := f.request(t, "GET", path, nil); a.status != want {
			t.Errorf("%s: %d, want %d", path, a.status, want)
		}
	}
	// A duration in a form would bypass the limit: the response to an invalid one shows that it is not read.
	form := strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"seconds\"\r\n\r\nx\r\n--b--\r\n")
	if a := f.request(t, "GET", "/debug/pprof/heap", form,
		"Content-Type: multipart/form-data; boundary=b"); a.status != http.StatusOK {
		t.Errorf("%d %.200s", a.status, a.body)
	}
}

func TestPprofOneAtATime(t *testing.T) {
	t.Parallel()
	f := monitored(t, func(m *edge.Monitor) { m.Pprof = true })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil { // retried when the request below was first
			// the URL is valid
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/debug/pprof/trace?seconds=25", nil)
			if res, err := f.client.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		}
	}()
	var refused answer
	wait.Until(t, "a second profile is refused", func() bool {
		refused = f.request(t, "GET", "/debug/pprof/goroutine", nil)
		return refused.status == http.StatusTooManyRequests
	})
	if e := refused.problem(t); e.Code != "CE-008" || e.Detail == "" || refused.header.Get("Retry-After") == "" {
		t.Errorf("refused with %v", refused)
	}
	cancel()
	<-ended
	wait.Until(t, "the next profile is accepted",
		func() bool { return f.request(t, "GET", "/debug/pprof/goroutine", nil).status == http.StatusOK })
}
