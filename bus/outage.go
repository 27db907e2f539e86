package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"

	"cairn/bus/admission"
	"cairn/bus/overload"
)

const (
	// outageTimeout is the length of an outage after which requests fail at once. Within it
	// a request waits until its deadline. The election of a leader, and the restart of a
	// server or a worker, take less.
	outageTimeout = 30 * time.Second
	// startTimeout is outageTimeout for a subject from which no worker has replied yet, and
	// for a connection that has not been established yet.
	startTimeout = time.Second
	// maxUndelivered is the maximum number of requests of a connection that wait in outages.
	maxUndelivered = 256
	// minRetryInterval and maxRetryInterval bound the interval of retries in an outage.
	minRetryInterval = 50 * time.Millisecond
	maxRetryInterval = 500 * time.Millisecond
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

// outages are the requests of a connection that reached no worker, and wait for one.
type outages struct {
	connection outage
	subjects   sync.Map // of *outage by subject
	waiting    *admission.Pool
}

// subject returns the outage of a subject.
func (o *outages) subject(subject string) *outage {
	if of, ok := o.subjects.Load(subject); ok {
		return of.(*outage)
	}
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
// be sent again.
func undelivered(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrHeadersNotSupported) // before the server has identified itself
}

// deliver calls send until a worker has received the request, or ctx or the outage ends, and
// then returns its error. It sends again after an error for which again returns true.
// Requests that wait hold no slot (see overload.Slot.Leave), and are divided among tenants.
func (c *Conn) deliver(ctx context.Context, subject string, again func(error) bool, send func() error) error {
	err := send()
	if !again(err) {
		return err
	}
	tenant := ShareKey(Identity(ctx), nil)
	if !c.outages.waiting.Acquire(tenant, 1) {
		return err
	}
	defer c.outages.waiting.Release(tenant, 1)
	intervals := &backoff.ExponentialBackOff{
		InitialInterval: minRetryInterval, MaxInterval: maxRetryInterval, Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	intervals.Reset()
	for again(err) {
		leave := func() error { return c.awaitRetry(ctx, subject, err, intervals.NextBackOff()) }
		if e := overload.Leave(ctx, leave); e != nil {
			return e
		}
		err = send()
	}
	return err
}

// awaitRetry returns nil after the interval if the connection is established then. It returns
// err, the failure of the last attempt, when the outage has ended the wait.
func (c *Conn) awaitRetry(ctx context.Context, subject string, err error, interval time.Duration) error {
	of := &c.outages.connection
	if c.Connected() {
		of = c.outages.subject(subject)
	}
	ctx, cancel := context.WithDeadline(ctx, of.deadline())
	defer cancel()
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		defer context.AfterFunc(caller, cancel)()
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		if c.WaitConnected(ctx) == nil {
			return nil
		}
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return err
}
