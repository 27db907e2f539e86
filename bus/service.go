package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus/admission"
	"cairn/bus/telemetry"
)

// Service is a group of endpoints that are discovered, counted and stopped together.
type Service struct {
	conn      *Conn
	discovery *discovery
	log       *slog.Logger
	admitted  *admission.Pool // requests and streams in flight
	running   *admission.Pool // admitted requests whose handlers run
	checks    *admission.Pool // health checks in flight, which are admitted regardless of the load
	uploads   *admission.Pool // bytes of granted chunks that have not arrived
	handlers  sync.WaitGroup
	work      chan func()     // to an idle goroutine
	idlers    chan struct{}   // an element per idle goroutine
	ctx       context.Context // parent of the contexts of requests
	cancel    context.CancelFunc
	draining  chan struct{} // closed when Stop is called
	stop      sync.Once

	mu   sync.Mutex
	subs []*nats.Subscription // subscriptions of the endpoints and of discovery
}

// runningPerCPU is the concurrency limit of the handlers of a service, for each CPU. Handlers wait for backends
// such as Elasticsearch most of their time, so the limit is high. A request of 1 ms of CPU time takes 128 ms
// while a single tenant runs as many as it may.
const runningPerCPU = 128

// Start registers the service on c under name. It admits at most slots requests and streams at a time, divided
// among tenants (AdmissionKey), and rejects further ones with schemas.ErrUnavailable. Of the admitted requests at most
// runningPerCPU run for each CPU, and the others wait in queues per tenant. The caller stops the service.
func Start(c *Conn, name string, slots int, log *slog.Logger) (*Service, error) {
	s := &Service{
		conn: c, discovery: newDiscovery(name), log: slog.New(LogHandler(log.Handler())).With("service", name),
		draining: make(chan struct{}), work: make(chan func()), idlers: make(chan struct{}, maxIdle),
	}
	var err error
	if s.subs, err = s.discovery.subscribe(c.nc); err != nil {
		return nil, fmt.Errorf("start service %s: %w", name, err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.admitted, s.checks = admission.NewPool(int64(slots)), admission.NewPool(maxChecks)
	s.running = admission.NewPool(int64(runningPerCPU * runtime.GOMAXPROCS(0)))
	s.uploads = admission.NewPool(uploadBytes)
	telemetry.Slots(name, slots, s.admitted.Used)
	return s, nil
}

// maxIdle is the maximum number of goroutines of a service that wait for the next request.
const maxIdle = 32

// do runs work in an idle goroutine or a new one. The stack of a new one grows step by step while it decodes its first
// request, which takes several microseconds.
func (s *Service) do(work func()) {
	select {
	case s.work <- work:
	default:
		s.handlers.Go(func() { s.runAll(work) })
	}
}

// runAll runs work and then that of further requests until maxIdle other goroutines are idle or s stops.
func (s *Service) runAll(work func()) {
	for {
		work()
		select {
		case s.idlers <- struct{}{}:
		default:
			return
		}
		select {
		case work = <-s.work:
			<-s.idlers
		case <-s.ctx.Done():
			return
		}
	}
}

// maxChecks is the maximum number of health checks in flight. They are cheap, and some wait for a backend.
const maxChecks = 1024

// add runs handle for each admitted request of the responder in a separate goroutine until s stops.
func (s *Service) add(d *responder, handle func(context.Context, *request)) error {
	d.conn, d.log, d.draining = s.conn, s.log, s.draining
	d.metrics = telemetry.NewSubject(d.Subject, d.admitted == s.admitted) // health checks start no trace
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
		if r == nil {
			cancel()
			return
		}
		s.do(func() {
			defer r.close()
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
		s.admitted.Drain() // before Wait, so that no handler is added during it
		s.checks.Drain()
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
		return errors.Join(err, fmt.Errorf("%w: a handler did not return within %v of its cancellation", ErrDrainTimeout,
			cancelTimeout))
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
		n := int(s.admitted.Used())
		if ended || n == 0 && idleBefore {
			return n
		}
		idleBefore = n == 0
	}
}
