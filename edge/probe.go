package edge

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// Ready lists the dependencies without which no request can be served, one
// sentence each: NATS, or a worker of any service. The list is empty while some
// service has a worker: an edge that reported itself unready for one service
// would take all others with it.
func Ready(ctx context.Context, conn *bus.Conn) []string {
	if !conn.Connected() {
		return []string{"NATS is away"}
	}
	said := make([]string, len(services))
	var asking sync.WaitGroup
	for i, name := range services {
		asking.Go(func() {
			if _, err := bus.Health(name).Call(ctx, conn, schemas.Nothing{}); err != nil {
				said[i] = name + ": " + message(err)
			}
		})
	}
	asking.Wait()
	if slices.Contains(said, "") {
		return nil
	}
	return said
}

// live answers that the process runs.
func live() action {
	return probe(func(*exchange) []string { return nil })
}

// ready answers whether requests can be served.
func ready() action {
	return probe(func(x *exchange) []string {
		if x.edge.draining() {
			return []string{"the edge is stopping"}
		}
		if !x.edge.conn.Connected() {
			return []string{"NATS is away"}
		}
		return x.edge.readiness.Result(x.ctx)
	})
}

// probe answers 200, or 503 with what is missing.
func probe(missing func(*exchange) []string) action {
	return action{open: true, reply: reflect.TypeFor[schemas.Health](), invalid: schemas.ErrMalformed, answer: func(x *exchange) error {
		status, body, err := probed(missing(x))
		if err == nil {
			x.write(status, mediaJSON, body)
		}
		return err
	}}
}

// probed is the answer to a probe.
func probed(missing []string) (status int, body []byte, err error) {
	h := schemas.Health{Service: "cairn", Status: schemas.StatusOK, Degraded: missing}
	status = http.StatusOK
	if len(missing) > 0 {
		h.Status, status = schemas.StatusDown, http.StatusServiceUnavailable
	}
	body, err = json.Marshal(h)
	return status, body, err
}
