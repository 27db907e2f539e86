package telemetry_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cairn/bus/bustest"
	"cairn/bus/telemetry"
)

// BenchmarkRequest measures the telemetry of one request from the edge to a worker:
// without tracing, and with 1 % of the requests traced.
func BenchmarkRequest(b *testing.B) {
	b.Run("off", request)
	b.Run("sampled=1%", func(b *testing.B) {
		collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer collector.Close()
		b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		b.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
		b.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.01")
		flush, err := telemetry.Trace(b.Context(), "bench", "1", slog.New(slog.DiscardHandler))
		bustest.Must(b, err)
		defer flush(context.Background())
		request(b)
	})
}

func request(b *testing.B) {
	route, subject := telemetry.NewRoute("POST", "/resolve/skill", 200), telemetry.NewSubject("cairn.resolve.skill", true)
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		ctx := telemetry.Extract(b.Context(), "", "")
		ctx, span := route.Serve(ctx, false)
		asking, asked := telemetry.StartRequest(ctx, "cairn.resolve.skill")
		parent := ""
		telemetry.Inject(asking, func(_, value string) { parent = value })
		_, work := subject.Begin(telemetry.Extract(b.Context(), parent, ""), "id")
		work.End()
		asked.End()
		route.Count(200, time.Since(began))
		span.Responded(200)
		span.End()
	}
}
