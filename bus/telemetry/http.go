package telemetry

import (
	"context"

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
