package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus/admission"
	"cairn/bus/overload"
	"cairn/bus/retry"
)

const (
	// outageTimeout is the length of an outage after which requests fail immediately. Within it
	// a request waits until its deadline. The election of a leader, and the restart of a
	// server or a worker, take less.
	outageTimeout = 30 * time.Second
	// startTimeout is outageTimeout for a subject from which no worker has replied yet, and
	// for a connection that has not been established yet.
	startTimeout   = time.Second
	maxUndelivered = 256 // requests of a connection that wait in outages
)

// outage is the state of a subject that may have no worker, or of a connection. It may be used
// concurrently.
type outage struct {
	mu    sync.Mutex
	known bool      // it was available before
	since time.Time // of the current outage; zero: none
	last  time.Time // last failure
}

// end records that a worker has replied, or that the connection is established.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known, o.since = true, time.Time{}
}

// recordFailure starts or continues the outage, and returns when requests stop waiting for its end.
func (o *outage) recordFailure() (deadline time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.since.IsZero() || now.Sub(o.last) > outageTimeout { // the end of an earlier outage may not have been noticed
		o.since = now
	}
	o.last = now
	if !o.known {
		return o.since.Add(startTimeout)
	}
	return o.since.Add(outageTimeout)
}

// outages holds the outages of a connection and of its subjects, and bounds the number of requests
// that wait for their end.
type outages struct {
	conn       *Conn
	connection outage
	subjects   sync.Map // *outage by subject
	waiting    *admission.Pool
}

func (o *outages) subject(subject string) *outage {
	of, _ := o.subjects.LoadOrStore(subject, &outage{})
	return of.(*outage)
}

type callerKey struct{}

// WithCaller returns ctx for requests that stop waiting for a worker when caller is canceled.
// Requests that were delivered to a worker continue until ctx ends.
func WithCaller(ctx, caller context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// undelivered reports whether err means that a message reached no subscriber, so that it may
// be retried.
func undelivered(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrHeadersNotSupported) // before the server has identified itself
}

// deliver calls send until it succeeds, fails with an error that is not retryable, ctx ends, or the
// outage exceeds its timeout. It returns the error of the last call. Waiting requests release their
// slots (overload.WithoutSlot), and their number is divided among tenants.
func (o *outages) deliver(ctx context.Context, subject string, retryable func(error) bool, send func() error) error {
	tenant, waiting := AdmissionKey(Identity(ctx), nil), false
	defer func() {
		if waiting {
			o.waiting.Release(tenant, 1)
		}
	}()
	wait := func(ctx context.Context, interval time.Duration) error {
		return overload.WithoutSlot(ctx, func() error { return o.wait(ctx, subject, interval) })
	}
	return retry.DoAfter(ctx, wait, func(err error) bool {
		if !retryable(err) {
			return false
		}
		waiting = waiting || o.waiting.Acquire(tenant, 1)
		return waiting
	}, send)
}

// wait waits for the interval and then for a connection. It returns an error when ctx or the caller
// ends, or the outage exceeds its timeout.
func (o *outages) wait(ctx context.Context, subject string, interval time.Duration) error {
	of := &o.connection
	if o.conn.Connected() {
		of = o.subject(subject)
	}
	ctx, cancel := context.WithDeadline(ctx, of.recordFailure())
	defer cancel()
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		defer context.AfterFunc(caller, cancel)()
	}
	if err := retry.Sleep(ctx, interval); err != nil {
		return err
	}
	return o.conn.WaitConnected(ctx)
}
