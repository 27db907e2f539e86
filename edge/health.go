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

// healthTime bounds the health checks of all services together.
const healthTime = 800 * time.Millisecond

// report is an answer to /health.
type report struct {
	status      int
	full, brief []byte // brief is for callers that may not see all tenants
	err         error
}

// health answers with the health of Cairn and its services, which all requests of
// 250 ms share (see bus.Check).
func health() action {
	return action{
		open: true, reply: reflect.TypeFor[schemas.Health](), invalid: schemas.ErrMalformed,
		answer: func(x *exchange) error {
			r := x.edge.report(x.ctx)
			if r.err != nil {
				return r.err
			}
			if r.status == http.StatusServiceUnavailable {
				x.retryAfter(time.Second)
			}
			body := r.brief
			if x.sees() { // ids of records are in it
				body = r.full
			}
			x.write(r.status, mediaJSON, body)
			return nil
		},
	}
}

// report returns a recent report. That NATS is disconnected is known without a
// check and reported at once.
func (e *edge) report(ctx context.Context) report {
	if !e.conn.Connected() {
		return newReport(schemas.Health{Service: "cairn", Status: schemas.StatusDown, Version: bus.Version, Degraded: []string{"NATS is away"}})
	}
	return e.checked.Result(ctx)
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

// health asks every service.
func (e *edge) health(ctx context.Context) schemas.Health {
	h := schemas.Health{Service: "cairn", Status: schemas.StatusOK, Version: bus.Version}
	trouble, quorum := e.trouble()
	if !quorum {
		h.Status, h.Degraded = schemas.StatusDown, []string{trouble}
		return h
	}
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
