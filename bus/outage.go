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
	startTimeout = time.Second
	// maxUndelivered is the maximum number of requests of a connection that wait in outages.
	maxUndelivered = 256
)

// outage is the state of a subject that may have no worker, or of a connection. It may be used
// concurrently.
type outage struct {
	mu    sync.Mutex
	known bool      // it was available before
	since time.Time // of the current outage; zero: none
	last  time.Time // last failure
}

// ended records that a worker has replied, or that the connection is established.
func (o *outage) ended() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known, o.since = true, time.Time{}
}

// deadline records a failure and returns when requests no longer wait.
func (o *outage) deadline() time.Time {
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

// outages holds the outages of a connection and of its subjects, and bounds the requests that
// wait in them to be sent again.
type outages struct {
	conn       *Conn
	connection outage
	subjects   sync.Map // of *outage by subject
	waiting    *admission.Pool
}

// subject returns the outage of a subject.
func (o *outages) subject(subject string) *outage {
	of, _ := o.subjects.LoadOrStore(subject, &outage{})
	return of.(*outage)
}

type callerKey struct{}

// WithCaller returns ctx for requests that do not wait in an outage after caller has ended.
// Unlike the end of ctx, that does not end a request that a worker has received.
func WithCaller(ctx, caller context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// undelivered reports whether err means that a message reached no subscriber, so that it may
// be retried.
func undelivered(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrHeadersNotSupported) // before the server has identified itself
}

// deliver calls send until it succeeds, its error is not retryable, or ctx or the outage ends,
// and then returns its error.
// Requests that wait hold no slot (see overload.Leave), and are divided among tenants.
func (o *outages) deliver(ctx context.Context, subject string, retryable func(error) bool, send func() error) error {
	tenant, waits := ShareKey(Identity(ctx), nil), false
	defer func() {
		if waits {
			o.waiting.Release(tenant, 1)
		}
	}()
	wait := func(ctx context.Context, interval time.Duration) error {
		return overload.Leave(ctx, func() error { return o.wait(ctx, subject, interval) })
	}
	return retry.DoAfter(ctx, wait, func(err error) bool {
		if !retryable(err) {
			return false
		}
		waits = waits || o.waiting.Acquire(tenant, 1)
		return waits
	}, send)
}

// wait returns nil after the interval if the connection is established then, or an error when
// the outage has ended the wait.
func (o *outages) wait(ctx context.Context, subject string, interval time.Duration) error {
	of := &o.connection
	if o.conn.Connected() {
		of = o.subject(subject)
	}
	ctx, cancel := context.WithDeadline(ctx, of.deadline())
	defer cancel()
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		defer context.AfterFunc(caller, cancel)()
	}
	if err := retry.Sleep(ctx, interval); err != nil {
		return err
	}
	return o.conn.WaitConnected(ctx)
}
