package telemetry

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Route holds the metrics of a route.
type Route struct {
	method, path string
	outcomes
}

// NewRoute registers a route, whose path is a template, with its status on success.
func NewRoute(method, path string, status int) *Route {
	return &Route{method, path, outcomesOf(httpDuration, status, prometheus.Labels{"method": method, "route": path})}
}

// UnknownRoute counts requests to unknown paths, so that clients cannot create labels.
var UnknownRoute = NewRoute("other", "none", 404)

// Count counts a request to the route.
func (r *Route) Count(status int, took time.Duration) { r.observe(status, took) }

// Serve starts the span of a request to the route.
func (r *Route) Serve(ctx context.Context, tls bool) (context.Context, Span) {
	ctx, s := start(ctx, asServer, r.method, r.path, true)
	if s.span == nil {
		return ctx, s
	}
	scheme := "http"
	if tls {
		scheme = "https"
	}
	s.set(semconv.HTTPRequestMethodKey.String(r.method), semconv.HTTPRoute(r.path), semconv.URLScheme(scheme))
	return ctx, s
}

// serverError is the lowest status that is the server's fault.
const serverError = 500

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
