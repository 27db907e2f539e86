package edge

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/edge/describe"
	"cairn/schemas"
)

// services are the names of all services.
var services = bus.Services()

// healthTimeout bounds the health checks of all services together.
const healthTimeout = 800 * time.Millisecond

// report is a response to /health.
type report struct {
	status      int
	full, brief []byte // brief is for callers that may not read data of all tenants
	err         error
}

// health responds with the health of Cairn and its services. Requests within 250 ms
// share one check (see bus.Check).
func health(e *edge) action {
	check := bus.NewCheck(healthTimeout, func(ctx context.Context) report { return newReport(checkHealth(ctx, e)) })
	return action{
		Spec: describe.Spec{
			Open: true, Reply: reflect.TypeFor[schemas.Health](), Invalid: schemas.ErrMalformed,
			Summary: "Health of Cairn and its services",
		},
		answer: func(x *exchange) error {
			r := recentReport(x.r.Context(), e.conn, check)
			if r.err != nil {
				return r.err
			}
			if r.status == http.StatusServiceUnavailable {
				setRetryAfter(x.w, time.Second)
			}
			body := r.brief
			if hasAllTenants(x) { // full contains ids of records
				body = r.full
			}
			x.write(r.status, mediaJSON, body)
			return nil
		},
	}
}

// recentReport returns a recent report. A lost NATS connection is reported immediately,
// without a check.
func recentReport(ctx context.Context, conn *bus.Conn, check *bus.Check[report]) report {
	if !conn.Connected() {
		return newReport(schemas.Health{
			Service:  "cairn",
			Status:   schemas.StatusDown,
			Version:  bus.Version,
			Degraded: []string{"not connected to NATS"},
		})
	}
	return check.Result(ctx)
}

func newReport(h schemas.Health) report {
	r := report{status: http.StatusOK}
	if h.Status == schemas.StatusDown {
		r.status = http.StatusServiceUnavailable
	}
	var fullErr, briefErr error
	r.full, fullErr = json.Marshal(h)
	r.brief, briefErr = json.Marshal(schemas.Health{Service: h.Service, Status: h.Status, Version: h.Version})
	r.err = errors.Join(fullErr, briefErr)
	return r
}

// checkHealth queries the health of every service.
func checkHealth(ctx context.Context, e *edge) schemas.Health {
	h := schemas.Health{Service: "cairn", Status: schemas.StatusOK, Version: bus.Version}
	problem, quorum := e.clusterHealth()
	if !quorum {
		h.Status, h.Degraded = schemas.StatusDown, []string{problem}
		return h
	}
	h.Services = make([]schemas.Health, len(services))
	timedOut := make([]bool, len(services))
	var checks sync.WaitGroup
	for i, name := range services {
		checks.Go(func() { h.Services[i], timedOut[i] = serviceHealth(ctx, e.conn, name) })
	}
	checks.Wait()
	if problem != "" {
		h.Status, h.Degraded = schemas.StatusDegraded, []string{problem}
	}
	summarize(&h)
	compareCatalogs(&h)
	if !slices.Contains(timedOut, false) { // not even a no-responders error arrived
		h.Status, h.Degraded = schemas.StatusDown, []string{"NATS does not respond"}
	}
	return h
}

// summarize derives the status and problems of h from its services.
func summarize(h *schemas.Health) {
	for _, s := range h.Services {
		if s.Status == schemas.StatusOK {
			continue
		}
		h.Status = schemas.StatusDegraded
		for _, problem := range s.Degraded {
			h.Degraded = append(h.Degraded, s.Service+": "+problem)
		}
		if len(s.Degraded) == 0 {
			h.Degraded = append(h.Degraded, s.Service+": "+s.Status)
		}
	}
}

// compareCatalogs reports services that use different catalogs, such as while workers
// restart after a restore.
func compareCatalogs(h *schemas.Health) {
	first := ""
	for _, s := range h.Services {
		if first != "" && s.Catalog != "" && s.Catalog != first {
			h.Status = schemas.StatusDegraded
			h.Degraded = append(h.Degraded, s.Service+": reads catalog "+s.Catalog+" instead of "+first)
		}
		first = cmp.Or(first, s.Catalog)
	}
}

// serviceHealth queries the health of one service and reports whether the query timed out.
func serviceHealth(ctx context.Context, conn *bus.Conn, name string) (schemas.Health, bool) {
	h, err := bus.Health(name).Call(ctx, conn, schemas.Nothing{})
	if err == nil {
		return h, false
	}
	down := schemas.Health{Service: name, Status: schemas.StatusDown, Degraded: []string{errorDetail(err)}}
	return down, errors.Is(err, schemas.ErrTimeout)
}

// errorDetail returns the detail of err without its code.
func errorDetail(err error) string {
	if e, ok := errors.AsType[*schemas.Error](err); ok && e.Detail != "" {
		return e.Detail
	}
	return err.Error()
}

// Ready returns a message for each unavailable dependency that all requests need: the
// NATS connection, or else every service. The list is empty while at least one
// service has a worker: if an edge were not ready because of one service, all
// others would be unavailable too.
func Ready(ctx context.Context, conn *bus.Conn) []string {
	if !conn.Connected() {
		return []string{"not connected to NATS"}
	}
	missing := make([]string, len(services))
	var checks sync.WaitGroup
	for i, name := range services {
		checks.Go(func() {
			if _, err := bus.Health(name).Call(ctx, conn, schemas.Nothing{}); err != nil {
				missing[i] = name + ": " + errorDetail(err)
			}
		})
	}
	checks.Wait()
	if slices.Contains(missing, "") {
		return nil
	}
	return missing
}

// live responds while the process runs.
func live() action {
	return probe("Liveness of this process", func(*exchange) []string { return nil })
}

// ready responds with 200 while requests can be served.
func ready(e *edge) action {
	check := bus.NewCheck(healthTimeout, func(ctx context.Context) []string { return Ready(ctx, e.conn) })
	const summary = "Readiness: NATS is connected, at least one service has a worker, and the edge is not shutting down"
	return probe(summary, func(x *exchange) []string {
		if x.edge.draining() {
			return []string{"the edge is shutting down"}
		}
		if !x.edge.conn.Connected() {
			return []string{"not connected to NATS"}
		}
		return check.Result(x.r.Context())
	})
}

// probe responds with 200, or with 503 and the missing dependencies.
func probe(summary string, missing func(*exchange) []string) action {
	return action{
		Spec: describe.Spec{Open: true, Reply: reflect.TypeFor[schemas.Health](), Invalid: schemas.ErrMalformed,
			Summary: summary},
		answer: func(x *exchange) error {
			status, body, err := probeResponse(missing(x))
			if err == nil {
				x.write(status, mediaJSON, body)
			}
			return err
		},
	}
}

// probeResponse returns the response to a probe.
func probeResponse(missing []string) (status int, body []byte, err error) {
	h := schemas.Health{Service: "cairn", Status: schemas.StatusOK, Degraded: missing}
	status = http.StatusOK
	if len(missing) > 0 {
		h.Status, status = schemas.StatusDown, http.StatusServiceUnavailable
	}
	body, err = json.Marshal(h)
	return status, body, err
}

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
