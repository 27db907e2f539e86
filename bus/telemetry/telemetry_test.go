package telemetry_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"cairn/bus/bustest"
	"cairn/bus/telemetry"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestTracePropagation propagates the trace of a caller while tracing is off.
func TestTracePropagation(t *testing.T) {
	ctx := telemetry.Extract(t.Context(), parent, "a=b")
	ctx, span := telemetry.StartRequest(ctx, "subject")
	span.End()
	headers := map[string]string{}
	telemetry.Inject(ctx, func(key, value string) { headers[key] = value })
	if headers["traceparent"] != parent || headers["tracestate"] != "a=b" {
		t.Errorf("injected %v", headers)
	}
	if trace, span := telemetry.IDs(ctx); trace != "0af7651916cd43dd8448eb211c80319c" || span != "b7ad6b7169203331" {
		t.Errorf("ids %q %q", trace, span)
	}
	telemetry.Inject(t.Context(), func(key, _ string) { t.Errorf("%s is set without a trace", key) })
	for _, invalid := range []string{"", "00-1-2-3", strings.Repeat("0", 55)} {
		if trace, _ := telemetry.IDs(telemetry.Extract(t.Context(), invalid, "")); trace != "" {
			t.Errorf("%q is trace %s", invalid, trace)
		}
	}
}

// collectorStub is a collector that replies with a status.
type collectorStub struct {
	status   atomic.Int32
	mu       sync.Mutex
	names    []string
	requests int
}

func (c *collectorStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	_ = proto.Unmarshal(body, &request)
	c.mu.Lock()
	c.requests++
	if c.status.Load() == 200 {
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					c.names = append(c.names, span.Name)
				}
			}
		}
	}
	c.mu.Unlock()
	w.WriteHeader(int(c.status.Load()))
}

// start traces to a collector until flush, and returns the log.
func start(t *testing.T, status int, env ...string) (*collectorStub, *strings.Builder, func()) {
	t.Helper()
	c := &collectorStub{}
	c.status.Store(int32(status))
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	var lines strings.Builder
	flush, err := telemetry.Trace(t.Context(), "test", "1", slog.New(slog.NewTextHandler(&lines, nil)))
	bustest.Must(t, err)
	return c, &lines, func() { flush(context.Background()) }
}

func work(ctx context.Context, times int) {
	for range times {
		ctx, span := telemetry.NewRoute("GET", "/tags/{request_id}", 200).Serve(ctx, false)
		_, inner := telemetry.StartRequest(ctx, "cairn.tags.read")
		inner.End()
		span.Responded(200)
		span.End()
	}
}

func TestSpansAreFlushed(t *testing.T) {
	c, lines, flush := start(t, 200)
	work(t.Context(), 2)
	flush()
	if got := strings.Join(c.names, ", "); strings.Count(got, "send cairn.tags.read") != 2 ||
		strings.Count(got, "GET /tags/{request_id}") != 2 {
		t.Errorf("spans: %s", got)
	}
	work(t.Context(), 1) // tracing has ended
	if lines.Len() > 0 {
		t.Errorf("logged %s", lines)
	}
}

func TestSampling(t *testing.T) {
	c, _, flush := start(t, 200, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0")
	work(t.Context(), 5)
	work(telemetry.Extract(t.Context(), strings.TrimSuffix(parent, "1")+"0", ""), 5)
	work(telemetry.Extract(t.Context(), parent, ""), 1)
	flush()
	if len(c.names) != 2 {
		t.Errorf("spans %v; want those of the sampled trace only", c.names)
	}
}

func TestCollectorFailureIsLoggedOnce(t *testing.T) {
	c, lines, flush := start(t, 400)
	work(t.Context(), 5)
	flush()
	if n := strings.Count(lines.String(), "traces are not exported"); n != 1 || c.requests < 5 {
		t.Errorf("%d log lines for %d failures:\n%s", n, c.requests, lines)
	}
}

func TestTracingOff(t *testing.T) {
	for _, off := range []string{"OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_EXPORTER_OTLP_ENDPOINT="} {
		t.Run(off, func(t *testing.T) {
			c, lines, flush := start(t, 200, off)
			ctx, span := telemetry.NewRoute("GET", "/health", 200).Serve(t.Context(), false)
			span.End()
			flush()
			if trace, _ := telemetry.IDs(ctx); trace != "" || c.requests > 0 {
				t.Errorf("trace %q, %d requests", trace, c.requests)
			}
			if logged := strings.Contains(lines.String(), "expected http/protobuf"); logged != strings.HasSuffix(off, "grpc") {
				t.Errorf("logged %q", lines)
			}
		})
	}
}

func TestModelOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]telemetry.Model{
		"ollama://host:11434/qwen3:8b?num_ctx=1": {Provider: "ollama", Name: "qwen3:8b", Host: "host"},
		"openai+https://user:word@host/a/b":      {Provider: "openai", Name: "a/b", Host: "host"},
		"offline:":                               {Provider: "offline", Name: "offline"},
		"::":                                     {Provider: "unknown", Name: "unknown"},
	} {
		if got := telemetry.ModelOf(url); got != want {
			t.Errorf("%s: %+v, want %+v", url, got, want)
		}
	}
}

func TestMemoryBudget(t *testing.T) {
	telemetry.MemoryBudget("test", 10, func() int64 { return 3 })
	families, err := telemetry.Registry.Gather()
	bustest.Must(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if len(m.Label) == 1 && m.Label[0].GetValue() == "test" {
				got[f.GetName()] = m.Gauge.GetValue()
			}
		}
	}
	want := map[string]float64{"cairn_memory_budget_used_bytes": 3, "cairn_memory_budget_bytes": 10}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestConcurrentFailures: parts of a request may fail at the same time.
func TestConcurrentFailures(t *testing.T) {
	t.Parallel()
	ctx, work := telemetry.NewSubject("cairn.test.failures", true).Begin(t.Context(), "r")
	var parts sync.WaitGroup
	for range 8 {
		parts.Go(func() { telemetry.Failed(ctx, 503, "CE-011") })
	}
	parts.Wait()
	work.End()
}
