package telemetry

import (
	"context"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0" // the last version with the generative AI conventions
	"go.opentelemetry.io/otel/trace"
)

// tracing creates the spans; nil: tracing is off.
var tracing atomic.Pointer[tracer]

type tracer struct {
	trace.Tracer
	parentBased bool // the sampling decisions of callers apply
}

// Headers of W3C Trace Context in the canonical form of NATS clients.
const (
	HeaderTraceParent = "traceparent"
	HeaderTraceState  = "tracestate"
)

// Extract returns ctx within the trace of the caller's headers, or ctx itself without one. It works
// without tracing, so that logs and further requests belong to the caller's trace.
func Extract(ctx context.Context, traceparent, tracestate string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx,
		propagation.MapCarrier{HeaderTraceParent: traceparent, HeaderTraceState: tracestate})
}

// Inject sets the headers of ctx's trace, if any.
func Inject(ctx context.Context, set func(key, value string)) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		headers := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, headers)
		for key, value := range headers {
			set(key, value)
		}
	}
}

// IDs returns the trace and span IDs of ctx; empty when there are none.
func IDs(ctx context.Context) (traceID, spanID string) {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return "", ""
	}
	return span.TraceID().String(), span.SpanID().String()
}

// Span is an operation within a trace. The methods of the zero Span do nothing.
type Span struct{ span trace.Span }

const serverError = 500 // lowest status that is the server's fault

// Span kinds, allocated once.
var (
	asServer   = trace.WithSpanKind(trace.SpanKindServer)
	asClient   = trace.WithSpanKind(trace.SpanKindClient)
	asInternal = trace.WithSpanKind(trace.SpanKindInternal)
)

// start starts a span named "operation target" and returns ctx within it. There is no span when
// tracing is off or the trace is not sampled. With root, work outside a trace starts one.
func start(ctx context.Context, kind trace.SpanStartOption, operation, target string,
	root bool) (context.Context, Span) {
	t := tracing.Load()
	if t == nil {
		return ctx, Span{}
	}
	incoming := trace.SpanContextFromContext(ctx)
	if !incoming.IsValid() && !root ||
		incoming.IsValid() && !incoming.IsSampled() && (t.parentBased || !incoming.IsRemote()) {
		return ctx, Span{}
	}
	ctx, span := t.Start(ctx, operation+" "+target, kind)
	if !span.IsRecording() {
		return ctx, Span{} // propagates the sampling decision
	}
	return ctx, Span{span}
}

func (s Span) set(list ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(list...)
	}
}

// RequestID sets the request id, as in the logs.
func (s Span) RequestID(id string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String("cairn.request_id", id))
	}
}

// fail sets the type of an error; its text may contain customer data.
func (s Span) fail(kind string) {
	if s.span != nil {
		s.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
		s.span.SetStatus(codes.Error, "")
	}
}

// Answered sets the outcome of the request: the status of an error, else 0.
func (s Span) Answered(status int, code string) {
	if status >= serverError {
		s.fail(code)
	}
}

// Responded sets the status of the response; server errors mark the span as failed.
func (s Span) Responded(status int) {
	if s.span == nil {
		return
	}
	s.set(semconv.HTTPResponseStatusCode(status))
	if status >= serverError {
		s.fail(strconv.Itoa(status))
	}
}

// Search starts the span of a request to Elasticsearch, named after the operation. Searched ends it.
func Search(ctx context.Context, request any, host string) (context.Context, Span) {
	operation := strings.ToLower(strings.TrimSuffix(reflect.TypeOf(request).Name(), "Request"))
	ctx, s := start(ctx, asClient, operation, "elasticsearch", false)
	s.set(semconv.DBSystemNameElasticsearch, semconv.DBOperationName(operation), semconv.ServerAddress(host))
	return ctx, s
}

// Searched ends the span with the HTTP status of the response; 0: none.
func (s Span) Searched(status int) {
	if status > 0 {
		s.set(semconv.DBResponseStatusCode(strconv.Itoa(status)))
	}
	if status == 0 || status >= 400 {
		s.fail(strconv.Itoa(status))
	}
	s.End()
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}
