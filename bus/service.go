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
	slots chan struct{}
	used  telemetry.Slots
	door  *overload.Gate
	// beside are for the few requests that are answered however busy the rest is.
	beside  chan struct{}
	parked  *admission.Pool // requests that wait without a slot
	workers *workers
	ctx     context.Context // of the requests in flight
	end     context.CancelFunc
	look    sync.WaitGroup // at how late the process is
	stop    sync.Once
}

// patience is how long all must be late before requests are refused: longer
// than that of an edge, which in the same process is to refuse first.
const patience = 3 * time.Second

// Start makes the service known on c under name. It handles at most slots
// requests at a time, and fewer while the process has no processor time left;
// beyond that it answers "unavailable" at once. The caller stops it.
func Start(c *Conn, name string, slots int, log *slog.Logger) (*Service, error) {
	m, err := micro.AddService(c.nc, micro.Config{Name: "cairn-" + name, Version: Version, Description: "Cairn: " + name})
	if err != nil {
		return nil, fmt.Errorf("start service %s: %w", name, err)
	}
	ctx, end := context.WithCancel(context.Background())
	door := overload.New(patience)
	s := &Service{
		conn: c, micro: m, log: slog.New(LogHandler(log.Handler())).With("service", name),
		slots: make(chan struct{}, slots), used: telemetry.NewSlots(name, slots), beside: make(chan struct{}, besideSlots),
		parked: admission.NewPool(parkedRequests), door: door, workers: newWorkers(), ctx: ctx, end: end,
	}
	s.look.Go(func() { door.Run(ctx) })
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
	slots   chan struct{}
	enter   func() bool // whether there is processor time
	leave   func()      // after enter
}

func always() bool { return true }

func nothing() {}

// add runs each request in its own goroutine while a slot is free. It never
// blocks: a micro endpoint runs its handlers one after the other.
func (s *Service) add(e endpoint, handle func(context.Context, micro.Request)) error {
	told := telemetry.NewSubject(e.subject, e.slots == s.slots) // what is asked beside begins no trace: probes
	name := strings.ReplaceAll(strings.TrimPrefix(e.subject, "cairn."), ".", "-")
	err := s.micro.AddEndpoint(name, micro.HandlerFunc(func(r micro.Request) {
		ctx, cancel := received(s.ctx, r.Headers().Get, e.timeout)
		if !s.take(e) {
			told.Refused()
			err := busy(e.subject)
			s.refuse(ctx, r, e.row(err), err, nats.Header{HeaderBusy: {"1"}})
			cancel()
			return
		}
		slot := &lease{service: s, endpoint: e, held: true}
		ctx = context.WithValue(ctx, leaseKey{}, slot)
		s.workers.do(s.ctx, func() {
			defer slot.release()
			defer cancel()
			ctx, work := told.Begin(ctx, RequestID(ctx))
			defer work.End()
			handle(ctx, r)
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

// take reports whether there is a slot, and processor time; free gives it back.
func (s *Service) take(e endpoint) bool {
	if !e.enter() {
		return false
	}
	select {
	case e.slots <- struct{}{}:
		s.used.Take()
		return true
	default:
		e.leave()
		return false
	}
}

func (s *Service) free(e endpoint) {
	<-e.slots
	s.used.Free()
	e.leave()
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

// wait returns when no handler runs. No request may be taken meanwhile: the
// service takes all slots.
func (s *Service) wait() {
	s.look.Wait()
	for _, slots := range []chan struct{}{s.slots, s.beside} {
		for range cap(slots) {
			slots <- struct{}{}
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
		parked, _ := s.parked.Held()
		n := int(parked) + len(s.slots)
		if ended || n == 0 && quiet {
			return n
		}
		quiet = n == 0
	}
}
