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

// health responds with the health of Cairn and its services. Requests within 250 ms
// share one check (see bus.Check).
func health(e *edge) action {
	check := bus.NewCheck(healthTimeout, func(ctx context.Context) schemas.Health { return checkHealth(ctx, e) })
	return action{
		Spec: describe.Spec{
			Open: true, Reply: reflect.TypeFor[schemas.Health](), Invalid: schemas.ErrMalformed,
			Summary: "Health of Cairn and its services",
		},
		answer: func(x *exchange) error {
			h := schemas.Health{Service: "cairn", Status: schemas.StatusDown, Version: bus.Version,
				Degraded: []string{"not connected to NATS"}}
			if e.conn.Connected() { // a lost connection is reported immediately
				h = check.Result(x.r.Context())
			}
			if !hasAllTenants(x) { // the rest contains ids of records
				h = schemas.Health{Service: h.Service, Status: h.Status, Version: h.Version}
			}
			if h.Status == schemas.StatusDown {
				setRetryAfter(x.w, time.Second)
			}
			return writeHealth(x, h)
		},
	}
}

// writeHealth responds with h, with status 503 if it is down.
func writeHealth(x *exchange, h schemas.Health) error {
	body, err := json.Marshal(h, json.Deterministic(true))
	if err == nil {
		x.write(healthStatus(h), mediaJSON, body)
	}
	return err
}

// healthStatus returns the HTTP status of a response with h.
func healthStatus(h schemas.Health) int {
	if h.Status == schemas.StatusDown {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// checkHealth queries the health of every service.
func checkHealth(ctx context.Context, e *edge) schemas.Health {
	h := schemas.Health{Service: "cairn", Status: schemas.StatusOK, Version: bus.Version}
	problem, quorum := e.clusterHealth()
	if !quorum {
		h.Status, h.Degraded = schemas.StatusDown, []string{problem}
		return h
	}
	var errs []error
	h.Services, errs = checkServices(ctx, e.conn)
	if problem != "" {
		h.Status, h.Degraded = schemas.StatusDegraded, []string{problem}
	}
	summarize(&h)
	compareCatalogs(&h)
	replied := func(err error) bool { return !errors.Is(err, schemas.ErrTimeout) } // also with a no-responders error
	if !slices.ContainsFunc(errs, replied) {
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

// checkServices queries the health of each service. It returns a health of status down for a service with an error.
func checkServices(ctx context.Context, conn *bus.Conn) (list []schemas.Health, errs []error) {
	list, errs = make([]schemas.Health, len(services)), make([]error, len(services))
	var checks sync.WaitGroup
	for i, name := range services {
		checks.Go(func() {
			if list[i], errs[i] = bus.Health(name).Call(ctx, conn, schemas.Nothing{}); errs[i] != nil {
				list[i] = schemas.Health{Service: name, Status: schemas.StatusDown, Degraded: []string{errorDetail(errs[i])}}
			}
		})
	}
	checks.Wait()
	return list, errs
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
	_, errs := checkServices(ctx, conn)
	missing := make([]string, len(services))
	for i, err := range errs {
		if err == nil {
			return nil
		}
		missing[i] = services[i] + ": " + errorDetail(err)
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
		answer: func(x *exchange) error { return writeHealth(x, probeHealth(missing(x))) },
	}
}

// probeHealth returns the body of the response to a probe.
func probeHealth(missing []string) schemas.Health {
	if len(missing) > 0 {
		return schemas.Health{Service: "cairn", Status: schemas.StatusDown, Degraded: missing}
	}
	return schemas.Health{Service: "cairn", Status: schemas.StatusOK}
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
