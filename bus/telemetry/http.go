package telemetry

import (
	"context"
	"strconv"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Serve begins the span of an HTTP request to the route, which is a template.
func Serve(ctx context.Context, method, route string, tls bool) (context.Context, Span) {
	ctx, s := start(ctx, asServer, method, route, true)
	if s.span == nil {
		return ctx, s
	}
	scheme := "http"
	if tls {
		scheme = "https"
	}
	s.set(semconv.HTTPRequestMethodKey.String(method), semconv.HTTPRoute(route), semconv.URLScheme(scheme))
	return ctx, s
}

// serverError is the least status that is not the doing of the caller.
const serverError = 500

// Responded notes the status of the answer; those of the server are errors.
func (s Span) Responded(status int) {
	if s.span == nil {
		return
	}
	s.set(semconv.HTTPResponseStatusCode(status))
	if status >= serverError {
		s.fail(strconv.Itoa(status))
	}
}
