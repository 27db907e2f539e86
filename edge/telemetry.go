package edge

import (
	"time"

	"cairn/bus/telemetry"
)

// trace starts the span of the exchange, as a child of the client's span if it sends
// one. Routes without a subject have no span: probes would fill the trace store.
func (x *exchange) trace() {
	x.ctx = telemetry.Extract(x.ctx, x.first("Traceparent"), x.first("Tracestate"))
	if x.route.subject != "" {
		x.ctx, x.span = x.route.telemetry.Serve(x.ctx, x.r.TLS != nil)
		x.span.RequestID(x.id)
	}
}

// first returns the first value of a header; key is in canonical form.
func (x *exchange) first(key string) string {
	if given := x.r.Header[key]; len(given) > 0 {
		return given[0]
	}
	return ""
}

// count ends the span and records the metrics of the exchange.
func (x *exchange) count(began time.Time) {
	route := telemetry.UnknownRoute
	if x.route != nil {
		route = x.route.telemetry
	}
	route.Count(x.status, time.Since(began))
	x.span.Responded(x.status)
	x.span.End()
}
