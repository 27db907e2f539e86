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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/edge"
	"cairn/schemas"
)

func TestAddressTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = taken.Close() }()
	err = edge.Serve(t.Context(), edge.Config{Addr: taken.Addr().String(), Conn: bustest.Open(t), Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "address already in use") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
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
	go func() { got <- f.ask(t, "GET", "/tags/r", nil) }()
	<-began
	f.stop()
	soon(t, "no new connection is taken", time.Second, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	close(next)
	if a := <-got; a.status != 200 {
		t.Errorf("%d %s, want 200", a.status, a.body)
	}
	<-f.stopped
}

func TestDrainIgnoresUnusedConnections(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.Drain = time.Minute })
	f.dial(t)
	f.ask(t, "GET", "/docs", nil) // on a connection accepted after it
	f.stop()
	select {
	case <-f.stopped:
	case <-time.After(3 * time.Second):
		t.Error("the edge waits for a connection on which nothing is asked")
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
	r := f.stream(t.Context(), t)
	r.until(t, "event: text_delta")
	waiting := make(chan answer)
	go func() { waiting <- f.ask(t, "GET", "/tags/r", nil) }()
	<-began
	f.stop()
	for r.lines.Scan() {
		if line := r.lines.Text(); strings.HasPrefix(line, "event:") {
			t.Errorf("%s: an analysis ends here that goes on at another edge", line)
		}
	}
	if !errors.Is(r.lines.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("the stream ends with %v, want it cut", r.lines.Err())
	}
	if a := <-waiting; a.status != 503 || a.problem(t).Code != "CE-011" {
		t.Errorf("%d %s, want 503 CE-011", a.status, a.body)
	}
	<-f.stopped
	<-ended
	if !errors.Is(f.served, bus.ErrCutOff) {
		t.Errorf("Serve returns %v, want %v", f.served, bus.ErrCutOff)
	}
}

func TestNATSReconnect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := bus.StartServer(dir, bustest.FreeAddress(t))
	must(t, err)
	address := strings.TrimPrefix(server.URL(), "nats://")
	conn, err := bus.Open(server.URL(), "edge")
	must(t, err)
	t.Cleanup(conn.Close)
	worker, err := bus.Open(server.URL(), "worker")
	must(t, err)
	t.Cleanup(worker.Close)
	must(t, conn.WaitConnected(t.Context()), worker.WaitConnected(t.Context()))
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
	analyses(t, f, func(_ context.Context, s bus.Sender) error {
		must(t, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "x"}))
		<-end
		return nil
	})
	soon(t, "the worker answers", 2*time.Second, func() bool { return f.ask(t, "GET", "/tags/r", nil).status == 200 })
	inFlight := make(chan answer)
	go func() { inFlight <- f.ask(t, "GET", "/tags/slow", nil) }()
	<-began
	r := f.stream(t.Context(), t)
	r.until(t, "event: text_delta")

	server.Stop()
	r.until(t, "event: error")
	r.until(t, "event: done")
	if a := <-inFlight; a.status != 503 || a.problem(t).Code != "CE-011" {
		t.Errorf("in flight: %d %s, want 503 CE-011", a.status, a.body)
	}
	for path, code := range map[string]string{"/tags/write": "CE-011", "/resolve/skill": "CE-011", "/api/v1/analyze": "AN-503"} {
		if a := f.ask(t, "POST", path, strings.NewReader(`{}`)); a.status != 503 || a.problem(t).Code != code {
			t.Errorf("POST %s: %d %s, want 503 %s", path, a.status, a.body, code)
		}
	}
	if a := f.ask(t, "GET", "/health", nil); a.status != 503 || !strings.Contains(a.body, `"status":"down"`) {
		t.Errorf("health: %d %s, want 503 down", a.status, a.body)
	}

	again, err := bus.StartServer(dir, address)
	must(t, err)
	t.Cleanup(again.Stop)
	soon(t, "all is well again", 5*time.Second, func() bool { return f.ask(t, "GET", "/tags/r", nil).status == 200 })
}

func TestHealth(t *testing.T) {
	t.Parallel()
	f := open(t)
	ask := func() (int, schemas.Health) {
		t.Helper()
		a := f.ask(t, "GET", "/health", nil)
		var h schemas.Health
		must(t, json.Unmarshal([]byte(a.body), &h))
		return a.status, h
	}
	state := map[string]schemas.Health{}
	for _, name := range []string{"tags", "register", "resolve"} {
		state[name] = schemas.Health{Service: name, Status: schemas.StatusOK}
		must(t, bus.Health(name).Serve(f.service, func(context.Context, schemas.Nothing) (schemas.Health, error) { return state[name], nil }))
	}
	status, h := ask()
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
	soon(t, "all services are healthy", 5*time.Second, func() bool {
		status, h = ask()
		return status == 200 && h.Status == "ok" && h.Degraded == nil && len(h.Services) == 4
	})
	state["resolve"] = schemas.Health{Service: "resolve", Status: schemas.StatusDegraded, Degraded: []string{"Elasticsearch is away"}}
	soon(t, "a service is degraded", 5*time.Second, func() bool {
		status, h = ask()
		return cmp.Equal([]string{"resolve: Elasticsearch is away"}, h.Degraded) && status == 200 && h.Status == "degraded"
	})
	state["analyze"] = schemas.Health{Status: "hangs"}
	soon(t, "a service hangs", 10*time.Second, func() bool {
		status, h = ask()
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
	if a := f.ask(t, "GET", "/health", nil); a.status != 503 || !strings.Contains(a.body, "NATS does not respond") {
		t.Errorf("%d %s, want 503", a.status, a.body)
	}
}

func TestKeptConnectionsServeManyRequests(t *testing.T) {
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
	if got := strings.Count(string(answers), "HTTP/1.1 501 "); got != 3 || !strings.Contains(string(answers), "HTTP/1.1 200 ") {
		t.Errorf("got %d times 501:\n%s", got, answers)
	}
}

func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	var lines lockedBuffer
	f := open(t, func(c *edge.Config) {
		c.Log = slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	f.ask(t, http.MethodPost, "/resolve/skill?x=secret", strings.NewReader(`{}`), "X-Request-Id: me")
	soon(t, "the request is logged", time.Second, func() bool { return strings.Contains(lines.String(), "request_id=me") })
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
