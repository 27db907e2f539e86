package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Trace exports spans as configured by the OpenTelemetry environment variables
// (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER and others). Without an endpoint,
// tracing is off. flush exports the remaining spans within its ctx and ends tracing.
// service is the service name unless OTEL_SERVICE_NAME is set.
func Trace(ctx context.Context, service, version string, log *slog.Logger) (flush func(context.Context), err error) {
	if !configured() {
		return func(context.Context) {}, nil
	}
	p := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if p != "" && p != "http/protobuf" {
		log.Warn("traces are not exported: expected http/protobuf in OTEL_EXPORTER_OTLP_PROTOCOL", "protocol", p)
		return func(context.Context) {}, nil
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: 10 * time.Second,
	}))
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", "err", err) }))
	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithBatcher(&exporter{SpanExporter: client, log: log}))
	sampler := os.Getenv("OTEL_TRACES_SAMPLER") // empty: the default, which is parent-based
	tracing.Store(&tracer{provider.Tracer("cairn"), sampler == "" || strings.HasPrefix(sampler, "parentbased_")})
	return func(ctx context.Context) {
		tracing.Store(nil)
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("the last traces are not exported", "err", err)
		}
	}, nil
}

// configured reports whether the environment configures a collector.
func configured() bool {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// exporter logs once when the collector becomes unavailable, and once when it is available again.
type exporter struct {
	sdk.SpanExporter
	log     *slog.Logger
	failing atomic.Bool
}

// ExportSpans implements sdk.SpanExporter. It never fails: lost spans affect no request.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil:
		if !e.failing.Swap(true) {
			e.log.Warn("traces are not exported", "err", err)
		}
	case e.failing.Swap(false):
		e.log.Info("trace export resumed")
	}
	return nil
}
