package edge_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/bus"
	"cairn/edge"
	"cairn/schemas"
	"cairn/test/wait"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	f := open(t)
	must(t, bus.ReadTag.Serve(f.service, func(context.Context, schemas.TagKey) (schemas.TagFound, error) {
		return schemas.TagFound{}, schemas.ErrTagNotFound
	}))
	f.request(t, "GET", "/tags/a-name-of-a-customer", nil)
	f.request(t, "GET", "/no/such/path-of-a-customer", nil)
	f.request(t, "BREW", "/health", nil)
	for _, want := range []string{
		`cairn_http_request_duration_seconds_count{method="GET",route="/tags/{request_id}",status="404"} `,
		`cairn_http_request_duration_seconds_count{method="other",route="none",status="404"} `,
		`cairn_http_request_duration_seconds_count{method="other",route="none",status="405"} `,
		`cairn_nats_request_duration_seconds_count{status="404",subject="cairn.tags.read"} `,
		`cairn_service_slots{service="stub"} `, "cairn_nats_connections ", "go_goroutines ", "process_cpu_seconds_total ",
	} {
		wait.Until(t, want, func() bool { return strings.Contains(f.request(t, "GET", "/metrics", nil).body, "\n"+want) })
	}
	if a := f.request(t, "GET", "/metrics", nil); strings.Contains(a.body, "customer") ||
		strings.Contains(a.body, "BREW") {
		t.Error("a label has a value from the client")
	}
}

func TestNoMetrics(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.NoMetrics = true })
	if a := f.request(t, "GET", "/metrics", nil); a.status != 404 {
		t.Errorf("metrics: %d, want 404", a.status)
	}
	if a := f.request(t, "GET", "/openapi.json", nil); strings.Contains(a.body, `"/metrics"`) {
		t.Error("the description has /metrics")
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	f := open(t)
	if a := f.request(t, "GET", "/health/live", nil); a.status != 200 || a.body != `{"service":"cairn","status":"ok"}` {
		t.Errorf("live: %d %s", a.status, a.body)
	}
	if a := f.request(t, "GET", "/health/ready", nil); a.status != 503 ||
		!strings.Contains(a.body, "resolve: no worker answers") {
		t.Errorf("ready without workers: %d %s, want 503", a.status, a.body)
	}
	for _, name := range []string{"tags", "register", "resolve"} {
		must(t, bus.Health(name).Serve(f.service, func(context.Context, schemas.Nothing) (schemas.Health, error) {
			return schemas.Health{Service: name, Status: schemas.StatusDegraded}, nil
		}))
	}
	wait.Until(t, "ready with a worker of some service", func() bool {
		a := f.request(t, "GET", "/health/ready", nil)
		return a.status == 200 && a.body == `{"service":"cairn","status":"ok"}`
	})
	f.conn.Close()
	if a := f.request(t, "GET", "/health/ready", nil); a.status != 503 ||
		!strings.Contains(a.body, "not connected to NATS") {
		t.Errorf("ready without NATS: %d %s, want 503", a.status, a.body)
	}
	if a := f.request(t, "GET", "/health/live", nil); a.status != 200 {
		t.Errorf("live without NATS: %d", a.status)
	}
}

// TestNotReadyWhileStopping sends a probe on an open connection during the drain.
func TestNotReadyWhileStopping(t *testing.T) {
	t.Parallel()
	f := open(t)
	began, answer := make(chan struct{}), make(chan struct{})
	must(t, bus.ReadTag.Serve(f.service, func(context.Context, schemas.TagKey) (schemas.TagFound, error) {
		close(began)
		<-answer
		return schemas.TagFound{}, nil
	}))
	conn := f.dial(t)
	_, err := io.WriteString(conn,
		"GET /tags/r HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
	must(t, err)
	<-began
	f.stop()
	f.waitDraining(t)
	close(answer)
	response, err := io.ReadAll(conn)
	must(t, err)
	if strings.Contains(string(response), `"status":"ok"`) {
		t.Errorf("the edge reports ready during the drain:\n%s", response)
	}
}

func TestMonitor(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	f := monitored(t, func(m *edge.Monitor) {
		m.Hosts = []string{"metrics.example"}
		m.Ready = func(context.Context) []string {
			if ready.Load() {
				return nil
			}
			return []string{"the services are starting"}
		}
	})
	for path, want := range map[string]int{"/metrics": 200, "/health/live": 200, "/health/ready": 503, "/tags/r": 404} {
		if a := f.request(t, "GET", path, nil); a.status != want {
			t.Errorf("%s: %d, want %d", path, a.status, want)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", f.url+"/metrics", nil)
	must(t, err)
	for host, want := range map[string]int{"metrics.example:9090": 200, "localhost": 200, "10.1.2.3:9090": 200,
		"evil.example:9090": 421} {
		req.Host = host
		res, err := f.client.Do(req)
		must(t, err)
		must(t, res.Body.Close())
		if res.StatusCode != want {
			t.Errorf("host %q: %d, want %d", host, res.StatusCode, want)
		}
	}
	ready.Store(true)
	wait.Until(t, "ready", func() bool { return f.request(t, "GET", "/health/ready", nil).status == 200 })
}
