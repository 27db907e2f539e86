package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus/admission"
	"cairn/bus/overload"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Version is the version of this build, set by the linker.
var Version = "0.0.0"

// Service is a group of endpoints that is found, counted and stopped as one.
type Service struct {
	conn  *Conn
	micro micro.Service
	log   *slog.Logger
	gate  *overload.Gate
	used  telemetry.Slots
	// beside admits the few requests that are answered however busy the rest is.
	beside  *overload.Gate
	parked  *admission.Pool // requests that wait without a slot
	workers *workers
	ctx     context.Context // of the requests in flight
	end     context.CancelFunc
	look    sync.WaitGroup // at how late the process is
	stop    sync.Once
}

// Start makes the service known on c under name. It admits at most slots
// requests at a time, divided among tenants (ShareKey); one more is refused at
// once as unavailable. While the processors are busy fewer of them run, and the
// others wait in the queues of their tenants. The caller stops it.
func Start(c *Conn, name string, slots int, log *slog.Logger) (*Service, error) {
	m, err := micro.AddService(c.nc, micro.Config{Name: "cairn-" + name, Version: Version, Description: "Cairn: " + name})
	if err != nil {
		return nil, fmt.Errorf("start service %s: %w", name, err)
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Service{
		conn: c, micro: m, log: slog.New(LogHandler(log.Handler())).With("service", name),
		gate: overload.New(slots), used: telemetry.NewSlots(name, slots), beside: overload.New(besideSlots),
		parked: admission.NewPool(parkedRequests), workers: newWorkers(), ctx: ctx, end: end,
	}
	s.look.Go(func() { s.gate.Run(ctx) })
	return s, nil
}

// besideSlots is how many requests are answered beside the others. They are
// cheap, and some wait.
const besideSlots = 1024

// endpoint is how requests of a subject are taken.
type endpoint struct {
	subject string
	timeout time.Duration
	row     func(error) *schemas.Error // what callers see of an error
	needs   schemas.Permission
	gate    *overload.Gate
	events  func(reply string) bool // whether reply is the event subject of a run; nil: the endpoint has none
}

// answers reports whether the endpoint may publish to the reply subject of a
// request. A request without one is handled, and its answer discarded.
func (e endpoint) answers(reply string) bool {
	return reply == "" || isInbox(reply) || e.events != nil && e.events(reply)
}

// request is a request that was admitted.
type request struct {
	micro.Request
	slot   *overload.Slot
	by     *schemas.Identity
	denied error // why the caller may not make it; nil: it may
}

// add runs each request in its own goroutine while a slot is free. It never
// blocks: a micro endpoint runs its handlers one after the other.
func (s *Service) add(e endpoint, handle func(context.Context, request)) error {
	told := telemetry.NewSubject(e.subject, e.gate == s.gate) // what is asked beside begins no trace: probes
	name := strings.ReplaceAll(strings.TrimPrefix(e.subject, "cairn."), ".", "-")
	err := s.micro.AddEndpoint(name, micro.HandlerFunc(func(r micro.Request) {
		if !e.answers(r.Reply()) {
			s.log.Warn("request ignored: the reply subject is not an inbox", "subject", e.subject, "reply", r.Reply())
			return
		}
		ctx, cancel := received(s.ctx, r.Headers().Get, e.timeout)
		ctx, by, denied := admit(ctx, r.Headers().Get, e.needs)
		slot := e.gate.Admit(ShareKey(by, nil))
		if slot == nil {
			told.Refused()
			err := busy(e.subject)
			s.refuse(ctx, r, e.row(err), err, nats.Header{HeaderBusy: {"1"}})
			cancel()
			return
		}
		ctx = context.WithValue(ctx, leaseKey{}, &lease{s, slot, e.subject})
		s.used.Take()
		s.workers.do(s.ctx, func() {
			defer s.used.Free()
			defer slot.Close()
			defer cancel()
			ctx, work := told.Begin(ctx, RequestID(ctx))
			defer work.End()
			handle(ctx, request{r, slot, by, denied})
		})
	}), micro.WithEndpointSubject(e.subject))
	if err != nil {
		return fmt.Errorf("serve %s: %w", e.subject, err)
	}
	if s.conn.Connected() {
		_ = s.conn.nc.FlushTimeout(time.Second) // requests of others arrive from here on; one that is away is told on its return
	}
	return nil
}

// settle is how long the service must have been idle before it counts as
// drained: messages that the server had sent are then in a handler.
const settle = 20 * time.Millisecond

// ErrCutOff says that a drain ended while requests were in flight.
var ErrCutOff = errors.New("work in flight was cut off at the end of the drain")

// cancelTimeout is how long handlers may run on once they are cancelled.
const cancelTimeout = 500 * time.Millisecond

// Stop takes no more requests, waits for those in flight until ctx ends, and
// then cancels the rest: the error wraps ErrCutOff. It returns when no handler
// runs, and at the latest cancelTimeout after ctx, with handlers that ignore
// their context still running. A second Stop waits for the first and returns nil.
func (s *Service) Stop(ctx context.Context) (err error) {
	s.stop.Do(func() { err = s.drain(ctx) })
	return err
}

func (s *Service) drain(ctx context.Context) error {
	err := s.micro.Stop()
	if s.conn.Connected() {
		_ = s.conn.nc.FlushTimeout(time.Second) // what the server sent before it knew has arrived
	}
	if n := s.idle(ctx); n > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d requests", ErrCutOff, n))
	}
	s.end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.wait()
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case <-ended:
		return err
	case <-time.After(cancelTimeout):
		return errors.Join(err, fmt.Errorf("%w: a handler did not return within %v of its cancellation", ErrCutOff, cancelTimeout))
	}
}

// wait returns when no handler runs. It closes the gates, so no request is
// admitted meanwhile.
func (s *Service) wait() {
	s.look.Wait()
	for _, gate := range []*overload.Gate{s.gate, s.beside} {
		gate.Close()
		for gate.Used() > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	s.workers.all.Wait()
	s.used.Close()
}

// idle returns when no request has been in flight for settle, or ctx ends, with
// the number of requests that are in flight.
func (s *Service) idle(ctx context.Context) int {
	tick := time.NewTicker(settle)
	defer tick.Stop()
	for quiet := false; ; {
		var ended bool
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		n := int(s.parked.Used() + s.gate.Used())
		if ended || n == 0 && quiet {
			return n
		}
		quiet = n == 0
	}
}
