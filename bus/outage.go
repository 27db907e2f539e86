package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"

	"cairn/bus/admission"
	"cairn/bus/retry"
	"cairn/schemas"
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
	mu      sync.Mutex
	reached bool      // it was available before
	since   time.Time // of the current outage; zero: none
	last    time.Time // last failure
}

// end records that a worker has replied, or that the connection is established.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reached, o.since = true, time.Time{}
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
	if !o.reached {
		return o.since.Add(startTimeout)
	}
	return o.since.Add(outageTimeout)
}

// outages holds the outages of a connection and of its subjects, and bounds the number of requests
// that wait for their end.
type outages struct {
	nc         *nats.Conn // set after the first connect
	connection outage
	subjects   sync.Map // *outage by subject
	waiting    *admission.Pool
}

func (o *outages) subject(subject string) *outage {
	if value, ok := o.subjects.Load(subject); ok {
		return value.(*outage)
	}
	value, _ := o.subjects.LoadOrStore(subject, &outage{})
	return value.(*outage)
}

type callerKey struct{}

// WithCaller returns ctx for requests that stop waiting for a worker when caller is canceled.
// Requests that were delivered to a worker continue until ctx ends.
func WithCaller(ctx, caller context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// withCaller returns ctx, which also ends when its caller (WithCaller) is canceled. The caller of withCaller calls
// cancel.
func withCaller(ctx context.Context) (limited context.Context, cancel func()) {
	limited, end := context.WithCancel(ctx)
	caller, ok := ctx.Value(callerKey{}).(context.Context)
	if !ok {
		return limited, end
	}
	stop := context.AfterFunc(caller, end)
	return limited, func() { stop(); end() }
}

// errConnectionLost is the error of requests and streams whose connection was lost.
var errConnectionLost = fmt.Errorf("%w", schemas.ErrUnavailable.Because("the connection to NATS was lost"))

// undelivered reports whether err means that a message reached no subscriber, so that it may
// be retried.
func undelivered(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		// before the server has identified itself
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrHeadersNotSupported)
}

// delivery is a request on its way to a worker, which may be sent again.
type delivery struct {
	outages   *outages
	subject   string
	tenant    string
	intervals backoff.BackOff // between the attempts; nil: there was one
}

// deliver begins the delivery of a request. The caller ends it.
func (o *outages) deliver(ctx context.Context, subject string) delivery {
	return delivery{outages: o, subject: subject, tenant: AdmissionKey(Identity(ctx), nil)}
}

// wait waits until a request that reached no worker can be sent again, and returns nil. It returns err, the error of
// the last attempt, when ctx or the outage exceeds its timeout, or too many requests of the tenant wait, and
// context.Canceled when ctx or the caller is canceled.
func (d *delivery) wait(ctx context.Context, err error) error {
	if d.intervals == nil {
		if !d.outages.waiting.Acquire(d.tenant, 1) {
			return err
		}
		d.intervals = retry.Intervals()
	}
	current := &d.outages.connection
	if d.outages.nc.IsConnected() {
		current = d.outages.subject(d.subject)
	}
	limited, cancel := withCaller(ctx)
	defer cancel()
	limited, expire := context.WithDeadline(limited, current.recordFailure())
	defer expire()
	stopped := cmp.Or(retry.Sleep(limited, d.intervals.NextBackOff()), waitConnected(limited, d.outages.nc), ctx.Err())
	if stopped == nil || errors.Is(stopped, context.Canceled) {
		return stopped
	}
	return err
}

// waitConnected waits until the connection is established or ctx ends, and then returns its error.
func waitConnected(ctx context.Context, nc *nats.Conn) error {
	changes := nc.StatusChanged(nats.CONNECTED)
	defer nc.RemoveStatusListener(changes)
	for !nc.IsConnected() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes:
		}
	}
	return nil
}

func (d *delivery) end() {
	if d.intervals != nil {
		d.outages.waiting.Release(d.tenant, 1)
	}
}
