package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/edge/describe"
	"cairn/edge/watch"
	"cairn/schemas"
)

const (
	// defaultKeepAlive is the time without an event after which a comment line keeps the
	// connection alive. If it passes before the first event, the response begins with status
	// 200. Each attempt to start a run has that time.
	defaultKeepAlive = 10 * time.Second
	// batchDelay is the batching delay of an event that closely follows another, so
	// that a burst takes few writes. A single event does not wait.
	batchDelay = time.Millisecond
	// maxBatch is the number of buffered bytes that are written at once.
	maxBatch = 32 << 10
	// deadlineSlack is the part of a write timeout after which the deadline is
	// set again, so that not every write sets it.
	deadlineSlack = time.Second
)

// events returns an action that responds with the events of s.
func events[Req any](s bus.Stream[Req]) action {
	return action{
		Spec: describe.Spec{
			Permission: s.Permission, Summary: s.Summary, Subject: s.Subject, Request: reflect.TypeFor[Req](),
			Stream: describe.Analysis, Invalid: s.Invalid, Translate: s.Errors,
		},
		answer: func(x *exchange) error {
			release, err := enterStream(x)
			if err != nil {
				return err
			}
			defer release()
			if x.body.data, err = x.readBody(s.MaxBody); err != nil {
				return err
			}
			out := newStream(x, "")
			err = out.relay(func(ctx context.Context) iter.Seq2[bus.Event, error] {
				return s.Start(ctx, x.edge.conn, out.newRun, x.body.data)
			})
			if x.status == 0 && x.clientDisconnected(err) { // the client has not received the run's name and cannot resume it
				return errors.Join(err, s.Cancel(x.ctx, x.edge.conn, out.run))
			}
			return err
		},
	}
}

// resume responds with the events of a run of s after the Last-Event-ID.
func resume[Req any](s bus.Stream[Req]) action {
	return runAction(s, describe.Analysis, func(x *exchange, run string) error {
		last, err := lastEventID(x)
		if err != nil {
			return err
		}
		release, err := enterStream(x)
		if err != nil {
			return err
		}
		defer release()
		return newStream(x, run).relay(func(ctx context.Context) iter.Seq2[bus.Event, error] {
			return s.Resume(ctx, x.edge.conn, run, last)
		})
	})
}

// cancelRun cancels a run of s.
func cancelRun[Req any](s bus.Stream[Req]) action {
	return runAction(s, nil, func(x *exchange, run string) error {
		if err := s.Cancel(x.ctx, x.edge.conn, run); err != nil {
			return err
		}
		x.reply(bus.Reply{})
		return nil
	})
}

// runAction returns an action on the run in the path. A run of another tenant has the response of one that does not
// exist, so that a caller cannot probe for it.
func runAction[Req any](s bus.Stream[Req], stream *describe.Stream, do func(*exchange, string) error) action {
	a := queryAction(func(x *exchange, key schemas.RunKey) error {
		switch {
		case bus.OwnsRun(x.caller, key.Run):
			return do(x, key.Run)
		case x.spec.Status == http.StatusNoContent:
			x.reply(bus.Reply{})
			return nil
		default:
			return bus.ErrNoRun
		}
	}, nil)
	a.Permission, a.Subject, a.Stream, a.Invalid, a.Translate = s.Permission, s.Subject+".{run}", stream, s.Invalid,
		s.Errors
	return a
}

var lastEventIDText = regexp.MustCompile(describe.LastEventIDPattern)

// lastEventID returns the id of the last event that the client received, 0 for none.
func lastEventID(x *exchange) (uint64, error) {
	given := x.r.Header[describe.HeaderLastEventID]
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(given[0], 10, 64)
	if err != nil || len(given) > 1 || !lastEventIDText.MatchString(given[0]) {
		return 0, x.spec.Invalid.With(schemas.FieldError{
			Field:   describe.HeaderLastEventID,
			Message: fmt.Sprintf("expected one event id, an unsigned integer, got %.140q", given)})
	}
	return n, nil
}

// watchCatalog returns an action that responds with the events of s, whose ids are revisions of the
// catalog. The stream ends when the edge begins to drain; the client resumes it at another edge.
func watchCatalog(s bus.Stream[schemas.Watch]) action {
	spec := describe.Spec{
		Permission: s.Permission, Summary: s.Summary, Subject: s.Subject, Request: reflect.TypeFor[schemas.Watch](),
		Stream: describe.Watch, Invalid: s.Invalid,
	}
	return inURL(spec, func(x *exchange, request []byte) error {
		request, message := watch.Resume(request, x.r.Header[describe.HeaderLastEventID])
		if message != "" {
			return s.Invalid.With(schemas.FieldError{Field: describe.HeaderLastEventID, Message: message})
		}
		release, err := enterStream(x)
		if err != nil {
			return err
		}
		defer release()
		return newStream(x, "").relay(func(ctx context.Context) iter.Seq2[bus.Event, error] {
			return watch.Events(ctx, x.edge.acceptCtx, func(ctx context.Context) iter.Seq2[bus.Event, error] {
				return s.Forward(ctx, x.edge.conn, request)
			})
		})
	})
}

// stream is a response of server-sent events.
type stream struct {
	x       *exchange
	control *http.ResponseController
	cancel  context.CancelFunc // of the subscription

	mu       sync.Mutex // guards the fields below: the timer writes too
	run      string
	timer    *time.Timer
	buffer   []byte    // not yet sent
	sent     time.Time // last write, or the start of the run
	deadline time.Time // for writes
	err      error     // of a write in the timer
	over     bool      // no more writes
}

// newStream returns the response with the events of a run; empty: there is none yet.
func newStream(x *exchange, run string) *stream {
	return &stream{x: x, run: run, control: http.NewResponseController(x.w)}
}

// relay relays the events until their end, or until the client disconnects or its credential
// becomes invalid.
func (s *stream) relay(subscribe func(context.Context) iter.Seq2[bus.Event, error]) error {
	ctx, cancel := streamContext(s.x)
	defer cancel()
	defer s.begin(cancel)()
	defer telemetry.StreamOpened()()
	for event, err := range subscribe(ctx) {
		if err != nil {
			return s.fail(streamError(ctx, err))
		}
		if err := s.send(event); err != nil || event.Type == schemas.EventDone {
			return err
		}
	}
	return s.noEvents()
}

// begin starts the timer, which calls cancel when a write fails. end stops it.
func (s *stream) begin(cancel context.CancelFunc) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel, s.sent = cancel, time.Now()
	s.timer = time.AfterFunc(s.x.edge.keepAlive, s.onTimer)
	return s.end
}

// newRun names a new run, unless the client has received the name of another one.
func (s *stream) newRun() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.x.status != 0 {
		return ""
	}
	s.run, s.sent = bus.NameRun(s.x.caller, bus.NewRun()), time.Now()
	return s.run
}

// send writes an event with the buffered ones, or buffers it for batchDelay when it
// closely follows another.
func (s *stream) send(e bus.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.x.body.release() // a worker has the request: the run is not started again
	first := len(s.buffer) == 0
	s.buffer = e.Append(s.buffer)
	now := time.Now()
	wait := batchDelay - now.Sub(s.sent)
	if s.x.status == 0 || wait <= 0 || len(s.buffer) >= maxBatch || e.Type == schemas.EventDone {
		return s.flush(now)
	}
	if first {
		s.timer.Reset(wait)
	}
	return nil
}

// onTimer writes the buffered events, or a comment when there are none.
func (s *stream) onTimer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	now := time.Now()
	keepAlive := s.x.edge.keepAlive
	if len(s.buffer) == 0 {
		if wait := keepAlive - now.Sub(s.sent); wait > 0 {
			s.timer.Reset(wait)
			return
		}
		s.buffer = append(s.buffer, ": alive\n\n"...)
	}
	if s.err = s.flush(now); s.err != nil {
		s.cancel()
		return
	}
	s.timer.Reset(keepAlive)
}

// end stops the timer.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.Stop()
}

// noEvents ends a stream whose client has received all events. Status 204 stops an
// EventSource from reconnecting.
func (s *stream) noEvents() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.x.status != 0 {
		return context.Canceled
	}
	s.x.w.Header().Set(bus.HeaderRun, s.run)
	s.x.write(http.StatusNoContent, nil, nil)
	return nil
}

// finish writes the buffered events of a stream that has no event done.
func (s *stream) finish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return cmp.Or(s.err, s.flush(time.Now()))
}

// fail ends the stream with err. Before the response has begun, it returns err for
// an error response; afterwards it sends an error and a done event, without ids
// since they are not part of the run. When the client disconnected, the edge shuts down
// or the run may continue, it returns err and interrupts the stream: the client resumes, at this
// edge or another.
func (s *stream) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.err != nil {
		return s.err
	}
	if s.x.status == 0 || s.x.clientDisconnected(err) || s.x.edge.stopped() || errors.Is(err, bus.ErrInterrupted) {
		return err
	}
	e := s.x.publicError(err)
	s.x.err = err
	data, err := json.Marshal(schemas.StreamError{Code: e.Code, Message: e.Message()})
	if err != nil {
		return err
	}
	s.buffer = bus.Event{Type: schemas.EventError, Data: data}.Append(s.buffer)
	s.buffer = bus.Event{Type: schemas.EventDone, Data: []byte("{}")}.Append(s.buffer)
	return s.flush(time.Now())
}

// flush writes the buffer, after the response header if that is not sent yet.
func (s *stream) flush(now time.Time) error {
	if s.x.status == 0 {
		s.writeHeader()
	}
	if s.deadline.Sub(now) < writeTimeout-deadlineSlack {
		s.deadline = now.Add(writeTimeout)
		_ = s.control.SetWriteDeadline(s.deadline) // fails where deadlines are not supported
	}
	if _, err := s.x.w.Write(s.buffer); err != nil {
		return err
	}
	s.buffer, s.sent = s.buffer[:0], now
	return s.control.Flush()
}

func (s *stream) writeHeader() {
	h := s.x.w.Header()
	h.Set("Content-Type", describe.MediaEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	if s.run != "" {
		h.Set(bus.HeaderRun, s.run)
	}
	s.x.status = http.StatusOK
	s.x.w.WriteHeader(http.StatusOK)
}
