package edge

import (
	"time"

	"cairn/bus/telemetry"
)

// trace begins the span of the exchange, within the client's trace if it names
// one. What the edge answers by itself has none: probes would fill the store.
func (x *exchange) trace() {
	x.ctx = telemetry.Continue(x.ctx, x.first("Traceparent"), x.first("Tracestate"))
	if x.route.subject != "" {
		x.ctx, x.span = x.route.told.Serve(x.ctx, x.r.TLS != nil)
		x.span.RequestID(x.id)
	}
}

// first is the value of a header; key is as net/http writes it.
func (x *exchange) first(key string) string {
	if given := x.r.Header[key]; len(given) > 0 {
		return given[0]
	}
	return ""
}

// count ends the span and counts the exchange.
func (x *exchange) count(began time.Time) {
	told := telemetry.Elsewhere
	if x.route != nil {
		told = x.route.told
	}
	told.Count(x.status, time.Since(began))
	x.span.Responded(x.status)
	x.span.End()
}
