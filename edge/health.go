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

	"cairn/bus"
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
			Open: true, Reply: reflect.TypeFor[schemas.Health](), Invalid: schemas.ErrMalformed, Summary: "Health of Cairn and its services",
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
