package telemetry

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0" // the last with the conventions of generative AI
	"go.opentelemetry.io/otel/trace"
)

// tracing makes the spans; nil: nobody wants any.
var tracing atomic.Pointer[maker]

type maker struct {
	trace.Tracer
	// obedient says that callers decide whether their traces are recorded.
	obedient bool
}

// The headers of W3C Trace Context, as NATS clients write them.
const (
	HeaderTraceParent = "traceparent"
	HeaderTraceState  = "tracestate"
)

// Continue is ctx within the trace that a caller names in its headers; ctx
// itself when it names none. It holds without tracing as well: what is asked
// further, and logged, is then of the caller's trace.
func Continue(ctx context.Context, traceparent, tracestate string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, headers{traceparent, tracestate})
}

// Carry sets the headers that name ctx's trace; none when it has none.
func Carry(ctx context.Context, set func(key, value string)) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, setter(set))
	}
}

// headers is a carrier that is only read.
type headers struct{ parent, state string }

func (h headers) Get(key string) string {
	switch key {
	case HeaderTraceParent:
		return h.parent
	case HeaderTraceState:
		return h.state
	}
	return ""
}

func (h headers) Set(string, string) {}
func (h headers) Keys() []string     { return []string{HeaderTraceParent, HeaderTraceState} }

// setter is a carrier that is only written to.
type setter func(key, value string)

func (s setter) Get(string) string     { return "" }
func (s setter) Set(key, value string) { s(key, value) }
func (s setter) Keys() []string        { return nil }

// IDs are the trace and the span that ctx is in; empty: in none.
func IDs(ctx context.Context) (traceID, spanID string) {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return "", ""
	}
	return at.TraceID().String(), at.SpanID().String()
}

// Span is a piece of work within a trace. The zero Span is none, and all its
// methods do nothing.
type Span struct{ span trace.Span }

// The kinds of spans, made once.
var (
	asServer   = trace.WithSpanKind(trace.SpanKindServer)
	asClient   = trace.WithSpanKind(trace.SpanKindClient)
	asInternal = trace.WithSpanKind(trace.SpanKindInternal)
)

// start begins a span called "operation target", and is ctx within it. There is
// none when nobody traces, or when this trace is not to be recorded: then a
// sampler has said so, and need not be asked again. With root, work outside of
// any trace begins one.
func start(ctx context.Context, kind trace.SpanStartOption, operation, target string, root bool) (context.Context, Span) {
	t := tracing.Load()
	if t == nil {
		return ctx, Span{}
	}
	in := trace.SpanContextFromContext(ctx)
	if !in.IsValid() && !root || in.IsValid() && !in.IsSampled() && (t.obedient || !in.IsRemote()) {
		return ctx, Span{}
	}
	ctx, span := t.Start(ctx, operation+" "+target, kind)
	if !span.IsRecording() {
		return ctx, Span{} // ctx tells those behind that they need not record
	}
	return ctx, Span{span}
}

// set gives the span attributes.
func (s Span) set(list ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(list...)
	}
}

// RequestID notes which request, as logs name it, the span is of.
func (s Span) RequestID(id string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String("cairn.request_id", id))
	}
}

// fail notes the kind of an error; its text could quote the customer.
func (s Span) fail(kind string) {
	if s.span != nil {
		s.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}
