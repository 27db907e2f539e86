package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	conn       *Conn
	discovery  *discovery
	log        *slog.Logger
	gate       *overload.Gate
	healthGate *overload.Gate  // admits health checks, regardless of the load
	waiting    *admission.Pool // requests that wait without a slot
	uploads    *admission.Pool // bytes of granted chunks that have not arrived
	handlers   sync.WaitGroup  // goroutines of handlers, and the one that adjusts the gate
	ctx        context.Context // parent of the contexts of requests
	cancel     context.CancelFunc
	draining   chan struct{} // closed when Stop is called
	stop       sync.Once

	mu   sync.Mutex
	subs []*nats.Subscription // subscriptions of the endpoints and of discovery
}

// Start registers the service on c under name. It admits at most slots requests at a time, divided
// among tenants (AdmissionKey), and rejects further requests with schemas.ErrUnavailable. Under CPU load
// fewer of them run, and the others wait in queues per tenant. The caller stops the service.
func Start(c *Conn, name string, slots int, log *slog.Logger) (*Service, error) {
	s := &Service{
		conn: c, discovery: newDiscovery(name), log: slog.New(LogHandler(log.Handler())).With("service", name), draining: make(chan struct{}),
	}
	var err error
	if s.subs, err = s.discovery.subscribe(c.nc); err != nil {
		return nil, fmt.Errorf("start service %s: %w", name, err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.gate, s.healthGate = overload.New(slots), overload.New(healthSlots)
	s.waiting, s.uploads = admission.NewPool(maxWaiting), admission.NewPool(uploadBytes)
	telemetry.Slots(name, slots, s.gate.Used)
	s.handlers.Go(func() { overload.Run(s.ctx, s.gate) })
	return s, nil
}

// healthSlots is the number of slots for health checks. They are cheap, and some wait for a backend.
const healthSlots = 1024

// add runs handle for each request of the responder in a separate goroutine while a slot is
// free, until s stops.
func (s *Service) add(d *responder, handle func(context.Context, request)) error {
	d.service = s
	d.metrics = telemetry.NewSubject(d.Subject, d.gate == s.gate) // health checks start no trace
	base := context.WithValue(s.ctx, responderKey{}, d)
	if err := s.discovery.add(d); err != nil {
		return err
	}
	nc := s.conn.nc
	if d.bulk {
		bulk, err := s.conn.bulk()
		if err != nil {
			return err
		}
		nc = bulk.nc
	}
	sub, err := nc.QueueSubscribe(d.Subject, micro.DefaultQueueGroup, func(msg *nats.Msg) {
		ctx, r, cancel := d.admit(base, msg)
		if r.slot == nil {
			cancel()
			return
		}
		s.handlers.Go(func() {
			defer r.slot.Close()
			defer cancel()
			ctx, work := d.metrics.Begin(ctx, RequestID(ctx))
			defer work.End()
			handle(ctx, r)
		})
	})
	if err != nil {
		return fmt.Errorf("serve %s: %w", d.Subject, err)
	}
	s.mu.Lock()
	s.subs = append(s.subs, sub)
	s.mu.Unlock()
	s.conn.flush() // the subscription is active from here on; when disconnected, on reconnect
	return nil
}

// drainIdlePeriod is the time without a request in flight after which the service is drained:
// messages that the server has sent before have reached a handler by then.
const drainIdlePeriod = 20 * time.Millisecond

// ErrDrainTimeout is the error of a drain that timed out with requests in flight.
var ErrDrainTimeout = errors.New("drain timed out with requests in flight")

const cancelTimeout = 500 * time.Millisecond // bounds the wait for handlers after their cancellation

// Stop accepts no more requests and waits for those in flight. When ctx ends, it cancels the rest
// and returns an error that wraps ErrDrainTimeout. It returns when no handler runs, at the
// latest cancelTimeout after ctx ends, even if handlers ignore their context. A second Stop
// waits for the first and returns nil.
func (s *Service) Stop(ctx context.Context) (err error) {
	s.stop.Do(func() { err = s.drain(ctx) })
	return err
}

// Draining returns a channel that is closed when the service of the request of ctx accepts no
// more requests, so that long-running handlers can return.
func Draining(ctx context.Context) <-chan struct{} {
	if r, ok := ctx.Value(responderKey{}).(*responder); ok {
		return r.service.draining
	}
	return nil
}

func (s *Service) drain(ctx context.Context) error {
	close(s.draining)
	err := s.unsubscribe()
	if n := s.idle(ctx); n > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d requests", ErrDrainTimeout, n))
	}
	s.cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.gate.Close() // before Wait, so that no handler is added during it
		s.healthGate.Close()
		s.handlers.Wait()
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

// unsubscribe drains the subscriptions: requests that the server sent before it processed the UNSUB
// are still handled.
func (s *Service) unsubscribe() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if e := sub.Drain(); !errors.Is(e, nats.ErrConnectionClosed) {
			err = errors.Join(err, e)
		}
	}
	s.conn.flush()
	return err
}

// idle waits until no request has been in flight for drainIdlePeriod, or ctx ends. It returns the
// number of requests in flight.
func (s *Service) idle(ctx context.Context) int {
	tick := time.NewTicker(drainIdlePeriod)
	defer tick.Stop()
	for idleBefore := false; ; {
		var ended bool
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		n := int(s.waiting.Used() + s.gate.Used())
		if ended || n == 0 && idleBefore {
			return n
		}
		idleBefore = n == 0
	}
}

// maxWaiting is the maximum number of requests of a service that wait without a slot
// (see WaitWithoutSlot). Each holds a goroutine and its body.
const maxWaiting = 1024

// ErrNoSlot is wrapped by the errors of WaitWithoutSlot, except for an error of the wait function.
var ErrNoSlot = errors.New("no slot for a waiting request")

// WaitWithoutSlot releases the slot of the request of ctx, calls wait, and then acquires a slot of
// the service again. The waiting requests of a service are bounded and divided among tenants: the
// error wraps ErrNoSlot and schemas.ErrTooManyRequests when the tenant has too many, or
// schemas.ErrUnavailable when ctx ends before a slot is free. After an error of wait the slot is
// acquired too, unless ctx has ended. Outside of a request it only calls wait.
func WaitWithoutSlot(ctx context.Context, wait func(context.Context) error) error {
	r, ok := ctx.Value(responderKey{}).(*responder)
	slot := overload.SlotOf(ctx)
	if !ok || slot == nil {
		return wait(ctx)
	}
	s, key := r.service, slot.Owner()
	if !s.waiting.Acquire(key, 1) {
		return fmt.Errorf("%w: %w", ErrNoSlot, schemas.ErrTooManyRequests.Because("too many requests of the tenant are waiting"))
	}
	defer s.waiting.Release(key, 1)
	var failed error
	err := overload.WithoutSlot(ctx, func() error { failed = wait(ctx); return failed })
	if err != nil && failed == nil {
		return fmt.Errorf("%w: %w", ErrNoSlot, busy(r.Subject))
	}
	return err
}
