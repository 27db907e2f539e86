package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
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

// Service is a group of endpoints that are discovered, counted and stopped together.
type Service struct {
	conn      *Conn
	discovery *discovery
	log       *slog.Logger
	gate      *overload.Gate
	used      telemetry.Slots
	// healthGate admits health checks, regardless of the load.
	healthGate *overload.Gate
	waiting    *admission.Pool // requests that wait without a slot
	uploads    *admission.Pool // bytes of granted chunks that have not arrived
	workers    *workers
	ctx        context.Context // of the requests in flight
	end        context.CancelFunc
	draining   chan struct{}  // closed when Stop is called
	adjuster   sync.WaitGroup // the goroutine that adjusts the gate
	stop       sync.Once

	mu   sync.Mutex
	subs []*nats.Subscription // of the endpoints and of discovery
}

// Start registers the service on c under name. It admits at most slots requests at a
// time, divided among tenants (ShareKey), and rejects further requests with schemas.ErrUnavailable. Under CPU
// load fewer of them run, and the others wait in queues per tenant. The caller stops
// the service.
func Start(c *Conn, name string, slots int, log *slog.Logger) (*Service, error) {
	s := &Service{conn: c, discovery: newDiscovery(name), log: slog.New(LogHandler(log.Handler())).With("service", name)}
	var err error
	if s.subs, err = s.discovery.subscribe(c.nc); err != nil {
		return nil, fmt.Errorf("start service %s: %w", name, err)
	}
	ctx, end := context.WithCancel(context.Background())
	s.gate, s.healthGate, s.used = overload.New(slots), overload.New(healthSlots), telemetry.NewSlots(name, slots)
	s.waiting, s.uploads, s.workers = admission.NewPool(maxWaiting), admission.NewPool(uploadBytes), newWorkers()
	s.ctx, s.end, s.draining = ctx, end, make(chan struct{})
	s.adjuster.Go(func() { s.gate.Run(ctx) })
	return s, nil
}

// healthSlots is the number of slots of ServeHealthCheck. Its requests are cheap, and some
// wait for a backend.
const healthSlots = 1024

// endpoint configures how the requests of a subject are handled.
type endpoint struct {
	subject    string
	summary    string
	request    reflect.Type
	response   reflect.Type // nil: events
	timeout    time.Duration
	mapError   func(error) *schemas.Error // maps an error to the one that callers receive
	permission schemas.Permission
	gate       *overload.Gate
	events     func(reply string) bool // whether reply is the event subject of a run; nil: the endpoint has none
}

// answers reports whether the endpoint may publish to the reply subject of a request. A
// request without one is handled and its reply discarded; a stream needs one.
func (e endpoint) answers(reply string) bool {
	if reply == "" {
		return e.response != nil
	}
	return isInbox(reply) || e.events != nil && e.events(reply)
}

// request is an admitted request.
type request struct {
	*nats.Msg
	slot   *overload.Slot
	by     *schemas.Identity
	denied error // the error of authorization or of the headers; nil: none
}

// add runs each request in its own goroutine while a slot is free. It never
// blocks: a subscription runs its callbacks one after the other.
func (s *Service) add(e endpoint, handle func(context.Context, request)) error {
	counted := e.gate == s.gate // health checks start no trace and take no slot
	metrics := telemetry.NewSubject(e.subject, counted)
	base := context.WithValue(s.ctx, servingKey{}, &serving{s, e.subject})
	if err := s.discovery.add(e, metrics); err != nil {
		return err
	}
	sub, err := s.conn.nc.QueueSubscribe(e.subject, micro.DefaultQueueGroup, func(r *nats.Msg) {
		if !e.answers(r.Reply) {
			s.log.Debug("request ignored: the reply subject is not an inbox", "subject", e.subject, "reply", r.Reply)
			return
		}
		ctx, cancel := received(base, r.Header.Get, e.timeout)
		ctx, by, denied := authorize(ctx, r.Header.Get, e.permission)
		switch p, err := readPrecondition(r.Header.Values); {
		case err != nil:
			denied = cmp.Or(denied, err)
		case p != schemas.Precondition{}:
			ctx = WithPrecondition(ctx, p)
		}
		slot := e.gate.Admit(ShareKey(by, nil))
		if slot == nil {
			err := busy(e.subject)
			metrics.Refused(e.mapError(err).Code)
			s.refuse(ctx, r, e.mapError(err), err, nats.Header{HeaderBusy: {"1"}})
			cancel()
			return
		}
		ctx = overload.WithSlot(ctx, slot)
		if counted {
			s.used.Take()
		}
		s.workers.do(s.ctx, func() {
			if counted {
				defer s.used.Free()
			}
			defer slot.Close()
			defer cancel()
			ctx, work := metrics.Begin(ctx, RequestID(ctx))
			defer work.End()
			handle(ctx, request{r, slot, by, denied})
		})
	})
	if err != nil {
		return fmt.Errorf("serve %s: %w", e.subject, err)
	}
	s.mu.Lock()
	s.subs = append(s.subs, sub)
	s.mu.Unlock()
	if s.conn.Connected() {
		_ = s.conn.nc.FlushTimeout(time.Second) // the subscription is active from here on; when disconnected, on reconnect
	}
	return nil
}

// drainIdleTime is the idle time after which the service counts as drained: messages that the
// server has already sent are then in a handler.
const drainIdleTime = 20 * time.Millisecond

// ErrDrainTimeout is the error of a drain that timed out with requests in flight.
var ErrDrainTimeout = errors.New("drain timed out with requests in flight")

// cancelTimeout bounds the wait for handlers after their cancellation.
const cancelTimeout = 500 * time.Millisecond

// Stop accepts no more requests, waits for those in flight until ctx ends, and then
// cancels the rest: the error wraps ErrDrainTimeout. It returns when no handler runs, at the
// latest cancelTimeout after ctx, even if handlers ignore their context. A second Stop
// waits for the first and returns nil.
func (s *Service) Stop(ctx context.Context) (err error) {
	s.stop.Do(func() { err = s.drain(ctx) })
	return err
}

// Draining returns a channel that is closed when the service of the request of ctx accepts no
// more requests, so that a handler without an end of its own can return.
func Draining(ctx context.Context) <-chan struct{} {
	if r, ok := ctx.Value(servingKey{}).(*serving); ok {
		return r.service.draining
	}
	return nil
}

func (s *Service) drain(ctx context.Context) error {
	close(s.draining)
	err := s.unsubscribe()
	if s.conn.Connected() {
		_ = s.conn.nc.FlushTimeout(time.Second) // receive what the server sent before it processed the unsubscribe
	}
	if n := s.idle(ctx); n > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d requests", ErrDrainTimeout, n))
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
		return errors.Join(err, fmt.Errorf("%w: a handler did not return within %v of its cancellation", ErrDrainTimeout, cancelTimeout))
	}
}

// unsubscribe stops receiving requests.
func (s *Service) unsubscribe() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if e := sub.Drain(); !errors.Is(e, nats.ErrConnectionClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// wait returns when no handler runs. It closes the gates, so no request is
// admitted meanwhile.
func (s *Service) wait() {
	s.adjuster.Wait()
	for _, gate := range []*overload.Gate{s.gate, s.healthGate} {
		gate.Close()
		for gate.Used() > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	s.workers.all.Wait()
	s.used.Close()
}

// idle returns when no request has been in flight for drainIdleTime, or ctx ends, with
// the number of requests that are in flight.
func (s *Service) idle(ctx context.Context) int {
	tick := time.NewTicker(drainIdleTime)
	defer tick.Stop()
	for quiet := false; ; {
		var ended bool
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		n := int(s.waiting.Used() + s.gate.Used())
		if ended || n == 0 && quiet {
			return n
		}
		quiet = n == 0
	}
}
