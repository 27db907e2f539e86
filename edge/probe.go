package edge

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/edge/describe"
	"cairn/schemas"
)

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
		Spec: describe.Spec{Open: true, Reply: reflect.TypeFor[schemas.Health](), Invalid: schemas.ErrMalformed, Summary: summary},
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
