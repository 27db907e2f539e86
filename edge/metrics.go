package edge

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cairn/bus/telemetry"
	"cairn/edge/describe"
	"cairn/schemas"
)

// metricsHandler serves the metrics of the process in the Prometheus text format.
var metricsHandler = promhttp.HandlerFor(telemetry.Registry, promhttp.HandlerOpts{})

// metricsPath is the path of the metrics on both listeners.
const metricsPath = "/metrics"

// metrics responds with the metrics of this process. They include all tenants, so
// the route needs the operate permission.
func metrics() action {
	return action{
		Spec: describe.Spec{
			Permission: schemas.PermissionOperate, Media: "text/plain", Invalid: schemas.ErrMalformed,
			Summary: "Metrics of this process in the Prometheus text format",
		},
		answer: func(x *exchange) error {
			x.limitWrite()
			x.status = http.StatusOK
			metricsHandler.ServeHTTP(x.w, x.r)
			return nil
		},
	}
}
