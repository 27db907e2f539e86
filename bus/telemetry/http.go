package telemetry

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Route is what is told of the requests to a route.
type Route struct {
	method, path string
	outcomes
}

// NewRoute begins to tell of a route, whose path is a template, by the status
// of its success.
func NewRoute(method, path string, status int) *Route {
	return &Route{method, path, outcomesOf(httpDuration, status, prometheus.Labels{"method": method, "route": path})}
}

// Elsewhere is for requests to where no route is: what clients make up is told
// to them alone.
var Elsewhere = NewRoute("other", "none", 404)

// Count counts a request to the route.
func (r *Route) Count(status int, took time.Duration) { r.observe(status, took) }

// Serve begins the span of a request to the route.
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
