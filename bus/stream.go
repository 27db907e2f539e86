package bus

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/replay"
	"cairn/schemas"
)

// window is the flow-control window in events. A client acknowledges each half of the window,
// and sooner if ackInterval has passed since its last acknowledgement.
const window = 128

// A run is a stream that outlives the client's connection. It has subjects of its own:
//
//	cairn.analyze.<run>         control, to the worker: acknowledgements, cancel
//	cairn.analyze.<run>.body    to the worker: chunks of the body
//	cairn.analyze.<run>.event   live events: the reply subject of the request
//	cairn.analyze.<run>.replay  the same events in batches, retained by the replay stream
//
// A client with an inbox as reply subject has no run.
const (
	bodyToken   = ".body"
	eventToken  = ".event"
	replayToken = ".replay"
)

// runName matches the run names that are valid subject tokens.
var runName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ErrNoRun is schemas.ErrRunNotFound for a run without stored events.
var ErrNoRun = schemas.ErrRunNotFound.Because("it does not exist, or its events have expired")

// maxRestarts is the maximum number of restarts of an unconfirmed run. Two cover the time in
// which NATS still routes requests to a suspended worker.
const maxRestarts = 2

var errUnconfirmed = errors.New("no worker has confirmed the request") // no heartbeat in time

// Stream is a subject that answers each Req with events, the last of type done. Any
// NATS client can read it: the events go to the reply subject.
type Stream[Req any] struct {
	Subject    string
	Summary    string             // of the stream, in one line
	Invalid    *schemas.Error     // for a request that cannot be read or is not valid
	Permission schemas.Permission // that the caller must have; empty admits everyone
	Timeout    time.Duration      // of the whole stream
	Grace      time.Duration      // grace period of a run without a client
	MaxBody    int                // largest request, in bytes
	// Runs bounds the requests in progress of one credential at a worker; 0: no
	// limit. Further ones fail with schemas.ErrTooManyRequests.
	Runs int
	// Admit, unless nil, admits a request by the size of its body in bytes, before the body is
	// received. The handler gets the context that it returns, and release is called when the handler
	// has returned. On an error the client tries other workers.
	Admit func(ctx context.Context, size int) (admitted context.Context, release func(), err error)
	// Errors maps an error to one of the stream's contract; nil: unchanged.
	Errors func(*schemas.Error) *schemas.Error
}

// Event is one event of a stream.
type Event = replay.Event

// Call sends req and yields the events as they arrive, including done. It yields at most one
// error, as the last element; if the error is the first element, no stream has started. Leaving
// the loop, or ending ctx, cancels the worker.
func (s Stream[Req]) Call(ctx context.Context, c *Conn, req Req) iter.Seq2[Event, error] {
	body, err := json.Marshal(req)
	if err != nil {
		return func(yield func(Event, error) bool) { yield(Event{}, err) }
	}
	return s.Forward(ctx, c, body)
}

// Forward is Call with a body that is already JSON. A body beyond the server's
// max_payload, or beyond 256 KiB in a run, is sent in chunks to the worker that accepted the request.
func (s Stream[Req]) Forward(ctx context.Context, c *Conn, body []byte) iter.Seq2[Event, error] {
	return s.start(ctx, c, opening{reply: c.nc.NewInbox(), body: body})
}

// Run is like Forward, but starts a run with the given name. Leaving the loop does not cancel the
// worker: it continues for the stream's Grace, within which a client may Resume.
func (s Stream[Req]) Run(ctx context.Context, c *Conn, run string, body []byte) iter.Seq2[Event, error] {
	return s.start(ctx, c, opening{reply: s.control(run) + eventToken, body: body})
}

// Start is like Run, but retries a run for which no worker sends a heartbeat within 2 s as a new
// run, at most twice and within the retry budget. Before each attempt it calls newName for the
// name of the run. An empty name ends the retries.
func (s Stream[Req]) Start(ctx context.Context, c *Conn, newName func() string, body []byte) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		run := newName()
		for restarts := 0; run != ""; restarts++ {
			next := ""
			o := opening{reply: s.control(run) + eventToken, body: body, mustConfirm: restarts < maxRestarts}
			for event, err := range s.start(ctx, c, o) {
				if errors.Is(err, errUnconfirmed) {
					next = newName()
				}
				if next == "" && !yield(event, err) {
					return
				}
			}
			run = next
		}
	}
}

func (s Stream[Req]) start(ctx context.Context, c *Conn, o opening) iter.Seq2[Event, error] {
	return s.events(func() (*listener, error) { return listen(ctx, c, Stream[any](s), o) })
}

// Resume yields the events of the run after the given sequence, as Forward does:
// stored ones first, then live ones. A run whose worker was lost ends with an error event and
// done. It yields nothing when the client has the last event. The error is
// schemas.ErrRunNotFound for a run that has ended and is not stored.
func (s Stream[Req]) Resume(ctx context.Context, c *Conn, run string, after uint64) iter.Seq2[Event, error] {
	return s.events(func() (*listener, error) { return attach(ctx, c, Stream[any](s), run, after) })
}

// Snapshot yields the events that the run has sent until now, as Resume does, and does not wait for
// further ones. The error is schemas.ErrRunNotFound for a run that has ended and is not stored.
func (s Stream[Req]) Snapshot(ctx context.Context, c *Conn, run string) iter.Seq2[Event, error] {
	return s.events(func() (*listener, error) {
		l, err := attach(ctx, c, Stream[any](s), run, 0)
		if err == nil {
			l.snapshot = true
		}
		return l, err
	})
}

// Stored returns the runs of the caller (OwnsRun) whose events are stored, in no order. It waits while the
// tenant reads another list.
func (s Stream[Req]) Stored(ctx context.Context, c *Conn, caller *schemas.Identity) ([]StoredRun, error) {
	if !c.Connected() {
		return nil, schemas.ErrUnavailable.Because("NATS is unavailable")
	}
	list, err := c.lister.List(ctx, c.ReadConn().js, replay.Query{
		Events: s.location(s.control("*")), Tenant: AdmissionKey(caller, nil),
		Owned: func(run string) bool { return OwnsRun(caller, run) },
	})
	if err != nil {
		return nil, transportError(s.Subject, err)
	}
	return list, nil
}

// Cancel cancels the run for all clients that follow it. It returns nil for a run that
// has ended or does not exist.
func (s Stream[Req]) Cancel(ctx context.Context, c *Conn, run string) error {
	if !runName.MatchString(run) {
		return nil
	}
	_, _, err := query(ctx, c, s.control(run), nats.Header{HeaderCancel: {"1"}})
	return s.translate(err)
}

// Serve answers the stream's requests with handle until svc stops. handle's ctx ends
// with the request's timeout, on cancellation, and when the client disconnects. If
// handle returns nil, the stream ends with done; if it fails before the first event,
// the error is the whole reply; later, the stream ends with an error event and done.
func (s Stream[Req]) Serve(svc *Service, handle func(context.Context, Req, Sender) error) error {
	return s.ServeBody(svc, func(ctx context.Context, body []byte, sender Sender) error {
		req, err := schemas.Decode[Req](body, s.Invalid)
		if err == nil {
			err = Identity(ctx).AuthorizeTenant(s.Permission, &req)
		}
		if err != nil {
			return err
		}
		sender.Begin()
		return handle(ctx, req, sender)
	})
}

// ServeBody is like Serve, but for a handle that decodes the request itself, and then calls Begin of its sender.
func (s Stream[Req]) ServeBody(svc *Service, handle func(context.Context, []byte, Sender) error) error {
	d := &responder{
		Operation: s.Operation(), timeout: s.Timeout, invalid: s.Invalid, mapError: s.mapError, admitted: svc.admitted,
		events: func(reply string) bool { _, ok := s.runOf(reply); return ok },
	}
	server := &streamServer{
		service: svc, responder: d, stream: Stream[any](s), handle: handle,
		runs: admission.NewLimit(s.Runs), share: admission.NewPool(replay.WorkerBytes),
	}
	return svc.add(d, server.serveSession)
}

func (s Stream[Req]) events(open func() (*listener, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := open()
		if err != nil {
			yield(Event{}, s.translate(err))
			return
		}
		defer l.close()
		for {
			event, err := l.next()
			if errors.Is(err, errComplete) {
				return
			}
			if err != nil {
				yield(Event{}, s.translate(err))
				return
			}
			if !yield(event, nil) || event.Type == schemas.EventDone {
				return
			}
		}
	}
}

// translate maps an error of the bus to the stream's contract.
func (s Stream[Req]) translate(err error) error {
	e, ok := errors.AsType[*schemas.Error](err)
	if !ok {
		return err
	}
	for _, sentinel := range []error{errUnconfirmed, ErrInterrupted, errLogged} {
		if errors.Is(err, sentinel) {
			return taggedError{s.mapError(e), sentinel}
		}
	}
	return s.mapError(e)
}

// Failure returns the error of the stream's contract for a handler that has returned err with its context: the cause of
// a cancellation is also that of err.
func (s Stream[Req]) Failure(ctx context.Context, err error) *schemas.Error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s.mapError(err)
}

// mapError returns the error of the stream's contract that a caller receives for err.
func (s Stream[Req]) mapError(err error) *schemas.Error {
	if s.Errors == nil {
		return visible(err)
	}
	return s.Errors(visible(err))
}

func (s Stream[Req]) control(run string) string { return s.Subject + "." + run }

// location returns where the events of the run with the control subject are stored.
func (s Stream[Req]) location(control string) replay.Location {
	return replay.Location{Stream: s.ReplayStream(), Subject: control + replayToken}
}

// runOf returns the control subject of the run whose event subject is reply; false if
// reply is not one.
func (s Stream[Req]) runOf(reply string) (control string, ok bool) {
	control, ok = strings.CutSuffix(reply, eventToken)
	run, ours := strings.CutPrefix(control, s.Subject+".")
	return control, ok && ours && runName.MatchString(run)
}

// Setup creates the replay stream, which retains the events of runs for Resume, or
// updates one that exists. It is in memory: a stand-alone server loses it on a restart,
// and until the next Setup no run can be resumed.
func (s Stream[Req]) Setup(ctx context.Context, c *Conn, replication bucket.Replication) error {
	return replay.Setup(ctx, c.js, s.location(s.control("*")), replication)
}

// ReplayStream returns the name of the JetStream stream with the events of runs.
func (s Stream[Req]) ReplayStream() string { return strings.ReplaceAll(s.Subject, ".", "_") }

// Operation describes the subject of s.
func (s Stream[Req]) Operation() Operation {
	return Operation{RequestEvents, s.Subject, s.Summary, s.Permission, reflect.TypeFor[Req](), nil}
}
