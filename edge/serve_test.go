package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/edge"
	"cairn/schemas"
	"cairn/test/wait"
)

// waitDraining waits until the edge accepts no new connection.
func (f *testEdge) waitDraining(t *testing.T) {
	t.Helper()
	wait.Until(t, "no new connection is accepted", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

func TestDrainFinishesRequests(t *testing.T) {
	t.Parallel()
	f := open(t)
	began, next := make(chan struct{}), make(chan struct{})
	must(t, bus.ReadTag.Serve(f.service, func(context.Context, schemas.TagKey) (schemas.TagFound, error) {
		close(began)
		<-next
		return schemas.TagFound{}, nil
	}))
	got := make(chan answer)
	go func() { got <- f.request(t, "GET", "/tags/r", nil) }()
	<-began
	f.stop()
	f.waitDraining(t)
	close(next)
	if a := <-got; a.status != 200 {
		t.Errorf("%d %s, want 200", a.status, a.body)
	}
	<-f.stopped
}

func TestDrainIgnoresUnusedConnections(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.Drain = 2 * wait.Timeout })
	f.dial(t)
	f.request(t, "GET", "/docs", nil) // on a connection accepted after it
	f.stop()
	select {
	case <-f.stopped:
	case <-time.After(wait.Timeout):
		t.Error("the edge waits for an idle connection")
	}
}

func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.Drain = 50 * time.Millisecond })
	began, ended := make(chan struct{}), make(chan struct{})
	analyses(t, f, func(ctx context.Context, s bus.Sender) error {
		must(t, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "x"}))
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	must(t, bus.ReadTag.Serve(f.service, func(ctx context.Context, _ schemas.TagKey) (schemas.TagFound, error) {
		close(began)
		<-ended
		return schemas.TagFound{}, nil
	}))
	r := f.stream(t)
	r.until(t, "event: text_delta")
	waiting := make(chan answer)
	go func() { waiting <- f.request(t, "GET", "/tags/r", nil) }()
	<-began
	f.stop()
	for r.lines.Scan() {
		if line := r.lines.Text(); strings.HasPrefix(line, "event:") {
			t.Errorf("%s: the stream ended with done, although the analysis continues", line)
		}
	}
	if !errors.Is(r.lines.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("the stream ends with %v, want a truncated stream", r.lines.Err())
	}
	if a := <-waiting; a.status != 503 || a.problem(t).Code != "CE-011" {
		t.Errorf("%d %s, want 503 CE-011", a.status, a.body)
	}
	<-f.stopped
	<-ended
	if !errors.Is(f.served, bus.ErrDrainTimeout) {
		t.Errorf("Serve returns %v, want %v", f.served, bus.ErrDrainTimeout)
	}
}

func TestNATSReconnect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := natsserver.Start(dir, bustest.FreeAddress(t))
	must(t, err)
	address := strings.TrimPrefix(server.URL(), "nats://")
	conn, err := bus.Open(server.URL(), "edge")
	must(t, err)
	t.Cleanup(conn.Close)
	worker, err := bus.Open(server.URL(), "worker")
	must(t, err)
	t.Cleanup(worker.Close)
	must(t, conn.WaitConnected(t.Context()), worker.WaitConnected(t.Context()),
		bus.Analyze.Setup(t.Context(), conn, bucket.Replication{}))
	f := serve(t, conn)
	f.service = bustest.Service(t, worker, "stub")
	began, end := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(end) })
	must(t, bus.ReadTag.Serve(f.service, func(_ context.Context, k schemas.TagKey) (schemas.TagFound, error) {
		if k.RequestID == "slow" {
			began <- struct{}{}
			<-end
		}
		return schemas.TagFound{}, nil
	}))
	answered := make(chan struct{})
	// Without a grace period the run would be canceled if the worker reconnects before the edge.
	must(t, bus.Analyze.Serve(f.service, func(_ context.Context, _ schemas.Analysis, s bus.Sender) error {
		must(t, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "x"}))
		<-answered
		return s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "y"})
	}))
	wait.Until(t, "the worker answers", func() bool { return f.request(t, "GET", "/tags/r", nil).status == 200 })
	inFlight := make(chan answer)
	go func() { inFlight <- f.request(t, "GET", "/tags/slow", nil) }()
	<-began
	r := f.stream(t)
	r.until(t, "event: text_delta")

	server.Stop()
	if a := <-inFlight; a.status != 503 || a.problem(t).Code != "CE-011" {
		t.Errorf("in flight: %d %s, want 503 CE-011", a.status, a.body)
	}
	if a := f.request(t, "GET", "/health", nil); a.status != 503 || !strings.Contains(a.body, `"status":"down"`) {
		t.Errorf("health: %d %s, want 503 down", a.status, a.body)
	}

	again, err := natsserver.Start(dir, address)
	must(t, err)
	t.Cleanup(again.Stop)
	must(t, conn.WaitConnected(t.Context()), bus.Analyze.Setup(t.Context(), conn, bucket.Replication{}))
	wait.Until(t, "requests are answered again", func() bool { return f.request(t, "GET", "/tags/r", nil).status == 200 })
	close(answered)
	r.until(t, "event: text_delta")
	r.until(t, "event: done")

	again.Stop() // for longer than requests wait
	var waiting sync.WaitGroup
	for path, code := range map[string]string{"/tags/write": "CE-011", "/resolve/skill": "CE-011",
		"/api/v1/analyze": "AN-503"} {
		waiting.Go(func() {
			a := f.request(t, "POST", path, strings.NewReader(`{}`))
			began := strings.HasPrefix(a.body, ":") // a stream has a keep-alive on a busy machine
			if a.status != 503 && !began || !strings.Contains(a.body, `"code":"`+code) {
				t.Errorf("POST %s: %d %s, want 503 %s", path, a.status, a.body, code)
			}
		})
	}
	waiting.Wait()
}

func TestHealth(t *testing.T) {
	t.Parallel()
	f := open(t)
	health := func() (int, schemas.Health) {
		t.Helper()
		a := f.request(t, "GET", "/health", nil)
		var h schemas.Health
		must(t, json.Unmarshal([]byte(a.body), &h))
		return a.status, h
	}
	state := map[string]schemas.Health{}
	for _, name := range []string{"tags", "register", "resolve"} {
		state[name] = schemas.Health{Service: name, Status: schemas.StatusOK}
		must(t, bus.Health(name).Serve(f.service, func(context.Context, schemas.Nothing) (schemas.Health, error) {
			return state[name], nil
		}))
	}
	status, h := health()
	want := schemas.Health{Service: "cairn", Status: "degraded", Version: bus.Version,
		Degraded: []string{"analyze: no worker answers cairn.health.analyze"},
		Services: []schemas.Health{state["tags"], state["register"], state["resolve"],
			{Service: "analyze", Status: "down", Degraded: []string{"no worker answers cairn.health.analyze"}}}}
	if diff := cmp.Diff(want, h); diff != "" || status != 200 {
		t.Errorf("without a service: %d, -want +got\n%s", status, diff)
	}

	state["analyze"] = schemas.Health{Service: "analyze", Status: schemas.StatusOK}
	must(t, bus.Health("analyze").Serve(f.service, func(ctx context.Context, _ schemas.Nothing) (schemas.Health, error) {
		if state["analyze"].Status == "hangs" {
			<-ctx.Done()
		}
		return state["analyze"], ctx.Err()
	}))
	wait.Until(t, "all services are healthy", func() bool {
		status, h = health()
		return status == 200 && h.Status == "ok" && h.Degraded == nil && len(h.Services) == 4
	})
	state["resolve"] = schemas.Health{Service: "resolve", Status: schemas.StatusDegraded,
		Degraded: []string{"Elasticsearch is unavailable"}}
	wait.Until(t, "a service is degraded", func() bool {
		status, h = health()
		return cmp.Equal([]string{"resolve: Elasticsearch is unavailable"}, h.Degraded) && status == 200 &&
			h.Status == "degraded"
	})
	state["analyze"] = schemas.Health{Status: "hangs"}
	wait.Until(t, "a service hangs", func() bool {
		status, h = health()
		return status == 200 && h.Services[3].Status == "down"
	})
}

func TestHealthWithoutResponses(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, name := range []string{"tags", "register", "resolve", "analyze"} {
		must(t, bus.Health(name).Serve(f.service, func(ctx context.Context, _ schemas.Nothing) (schemas.Health, error) {
			<-ctx.Done()
			return schemas.Health{}, ctx.Err()
		}))
	}
	if a := f.request(t, "GET", "/health", nil); a.status != 503 || !strings.Contains(a.body, "NATS does not respond") {
		t.Errorf("%d %s, want 503", a.status, a.body)
	}
}

func TestKeepAliveConnections(t *testing.T) {
	t.Parallel()
	f := open(t)
	conn := f.dial(t)
	go func() {
		for range 3 {
			_, _ = io.WriteString(conn, "POST /search/playbooks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
		}
		_, _ = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	}()
	answers, err := io.ReadAll(conn)
	must(t, err)
	if got := strings.Count(string(answers), "HTTP/1.1 501 "); got != 3 ||
		!strings.Contains(string(answers), "HTTP/1.1 200 ") {
		t.Errorf("got %d times 501:\n%s", got, answers)
	}
}

func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	var lines lockedBuffer
	f := open(t, func(c *edge.Config) {
		c.Log = slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	f.request(t, http.MethodPost, "/resolve/skill?x=secret", strings.NewReader(`{}`), "X-Request-Id: me")
	wait.Until(t, "the request is logged", func() bool { return strings.Contains(lines.String(), "request_id=me") })
	got := lines.String()
	for _, want := range []string{"level=WARN", "method=POST", "path=/resolve/skill ", "status=503", "took=", "CE-011"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if strings.Count(got, "\n") != 1 || strings.Contains(got, "secret") {
		t.Errorf("want one line without the query: %s", got)
	}
}

// TestWriteDeadline checks that each response sets a write deadline, so that a client that does not
// read cannot hold a request indefinitely.
func TestWriteDeadline(t *testing.T) {
	t.Parallel()
	var l countingListener
	f := open(t, l.count)
	for _, path := range []string{"/health/live", "/health", "/metrics", "/docs", "/openapi.json", "/tags/r", "/none"} {
		before := l.writeDeadlines.Load()
		f.request(t, "GET", path, nil)
		if l.writeDeadlines.Load() == before {
			t.Errorf("GET %s sets no write deadline", path)
		}
	}
}
