package edge

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// services are those behind the edge.
var services = bus.Services()

// healthTime is how long a service has to say how it is.
const healthTime = 800 * time.Millisecond

// health answers with how Cairn is. Nothing is remembered from one question to
// the next, so the answer is true when it is given.
func health() action {
	return action{
		open: true, reply: reflect.TypeFor[schemas.Health](), invalid: schemas.ErrMalformed,
		answer: func(x *exchange) error {
			h := x.edge.health(x.ctx)
			if !x.sees() { // ids of records are in it
				h = schemas.Health{Service: h.Service, Status: h.Status, Version: h.Version}
			}
			body, err := json.Marshal(h)
			if err != nil {
				return err
			}
			status := http.StatusOK
			if h.Status == schemas.StatusDown {
				status = http.StatusServiceUnavailable
				x.w.Header()["Retry-After"] = []string{"1"}
			}
			x.write(status, mediaJSON, body)
			return nil
		},
	}
}

// health asks every service.
func (e *edge) health(ctx context.Context) schemas.Health {
	h := schemas.Health{Service: "cairn", Status: schemas.StatusOK, Version: bus.Version}
	if !e.conn.Connected() {
		h.Status, h.Degraded = schemas.StatusDown, []string{"NATS is away"}
		return h
	}
	trouble, quorum := e.trouble()
	if !quorum {
		h.Status, h.Degraded = schemas.StatusDown, []string{trouble}
		return h
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	h.Services = make([]schemas.Health, len(services))
	silent := make([]bool, len(services))
	var asking sync.WaitGroup
	for i, name := range services {
		asking.Go(func() { h.Services[i], silent[i] = e.ask(ctx, name) })
	}
	asking.Wait()
	if trouble != "" {
		h.Status, h.Degraded = schemas.StatusDegraded, []string{trouble}
	}
	summarize(&h)
	if !slices.Contains(silent, false) { // not even that there are no workers: NATS itself is stuck
		h.Status, h.Degraded = schemas.StatusDown, []string{"nothing on NATS answers"}
	}
	return h
}

// summarize says of the whole what is said of its parts.
func summarize(h *schemas.Health) {
	for _, s := range h.Services {
		if s.Status == schemas.StatusOK {
			continue
		}
		h.Status = schemas.StatusDegraded
		for _, sentence := range s.Degraded {
			h.Degraded = append(h.Degraded, s.Service+": "+sentence)
		}
		if len(s.Degraded) == 0 {
			h.Degraded = append(h.Degraded, s.Service+": "+s.Status)
		}
	}
}

// ask is how one service is, and whether nothing at all answered.
func (e *edge) ask(ctx context.Context, name string) (schemas.Health, bool) {
	h, err := bus.Health(name).Call(ctx, e.conn, schemas.Nothing{})
	if err == nil {
		return h, false
	}
	down := schemas.Health{Service: name, Status: schemas.StatusDown, Degraded: []string{message(err)}}
	return down, errors.Is(err, schemas.ErrTimeout)
}

// message is err for a reader who knows no codes.
func message(err error) string {
	var e *schemas.Error
	if errors.As(err, &e) && e.Detail != "" {
		return e.Detail
	}
	return err.Error()
}
