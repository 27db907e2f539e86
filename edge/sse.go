package edge

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

const (
	// mediaEvents is the media type of server-sent events.
	mediaEvents = "text/event-stream"
	// keepAlive is how long a stream may be silent before a comment shows that
	// it lives. After as long without a first event, the status is 200; what is begun
	// anew has as long again.
	keepAlive = 10 * time.Second
	// linger is how long an event may wait for others when the one before was
	// only just sent: many at once are few writes, and one alone does not wait.
	linger = time.Millisecond
	// enough is the most that is gathered for one write, in bytes.
	enough = 32 << 10
	// renew is how far the time that a write may take is left to run down.
	renew = time.Second
)

// events answers with the events of s.
func events[Req any](s bus.Stream[Req]) action {
	return action{
		needs: s.Permission, subject: s.Subject, request: reflect.TypeFor[Req](), media: mediaEvents, invalid: s.Invalid, say: s.Errors,
		answer: func(x *exchange) error {
			leave, err := x.enterStream()
			if err != nil {
				return err
			}
			defer leave()
			if x.data, err = x.body(s.MaxBody); err != nil {
				return err
			}
			run, err := begin(x, s)
			if x.status == 0 && x.left(err) { // nobody comes back to a run without having heard its name
				return errors.Join(err, s.Stop(context.WithoutCancel(x.ctx), x.edge.conn, run))
			}
			return err
		},
	}
}

// tries is how often an analysis is begun anew that no worker shows to have: until
// a machine that stands still has been cut off, and is asked no more.
const tries = 2

// begin forwards the events of a new run with the body in x.data. A run that no
// worker confirms is started again under another name.
func begin[Req any](x *exchange, s bus.Stream[Req]) (run string, err error) {
	for n := range tries + 1 {
		run = x.newRun()
		ask := s.TryRun
		if n == tries {
			ask = s.Run
		}
		err = follow(x, run, func(ctx context.Context) iter.Seq2[bus.Event, error] { return ask(ctx, x.edge.conn, run, x.data) })
		if x.status != 0 || !errors.Is(err, bus.ErrUnheard) {
			break
		}
	}
	return run, err
}

// follow passes on the events of the run, and listens no more when the client
// left, or is not let in any more.
func follow(x *exchange, run string, listen func(context.Context) iter.Seq2[bus.Event, error]) error {
	ctx, cancel := context.WithCancelCause(x.ctx)
	defer cancel(nil)
	if x.edge.gate != nil {
		go x.watch(ctx, cancel) // a provider may keep it longer than the stream lasts: nobody waits for it
	}
	out := &stream{x: x, run: run, control: http.NewResponseController(x.w), cancel: func() { cancel(nil) }, sent: time.Now()}
	out.mu.Lock()
	out.timer = time.AfterFunc(x.edge.silence, out.tend)
	out.mu.Unlock()
	defer out.end()
	defer telemetry.Streaming()()
	for event, err := range listen(ctx) {
		if err != nil {
			if why := context.Cause(ctx); errors.Is(why, schemas.ErrUnauthenticated) {
				err = why
			}
			return out.broken(err)
		}
		if err := out.pass(event); err != nil || event.Type == schemas.EventDone {
			return err
		}
	}
	return out.nothing()
}

// stream is an answer of server-sent events.
type stream struct {
	x       *exchange
	run     string
	control *http.ResponseController
	cancel  context.CancelFunc // of what is asked

	mu       sync.Mutex // the timer writes too
	timer    *time.Timer
	buffer   []byte    // not yet sent
	sent     time.Time // when something was, last; before that, when it began
	deadline time.Time // of the writes
	err      error     // of a write by the timer
	over     bool      // nothing more is written
}

// pass sends an event, with those that wait. One that follows another closely
// waits a little for more, so that many are sent at once.
func (s *stream) pass(e bus.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.x.releaseBody() // the worker has it, and the run is not started again
	first := len(s.buffer) == 0
	s.buffer = e.Append(s.buffer)
	now := time.Now()
	wait := linger - now.Sub(s.sent)
	if s.x.status == 0 || wait <= 0 || len(s.buffer) >= enough || e.Type == schemas.EventDone {
		return s.flush(now)
	}
	if first {
		s.timer.Reset(wait)
	}
	return nil
}

// tend sends what has waited, or breaks the silence.
func (s *stream) tend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	now := time.Now()
	silence := s.x.edge.silence
	if len(s.buffer) == 0 {
		if wait := silence - now.Sub(s.sent); wait > 0 {
			s.timer.Reset(wait)
			return
		}
		s.buffer = append(s.buffer, ": alive\n\n"...)
	}
	if s.err = s.flush(now); s.err != nil {
		s.cancel()
		return
	}
	s.timer.Reset(silence)
}

// end has the timer write no more.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.Stop()
}

// nothing is an end without a last event: the client has them all. A browser
// that is told 204 does not come back for more.
func (s *stream) nothing() error {
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

// broken ends the stream with err: as the answer when none began, and else as
// the last events. These have no id, for they are not of the run. The error is
// for an answer that did not begin, or of a client that left; and where the edge
// stops, the stream is cut: it goes on at another one.
func (s *stream) broken(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.err != nil {
		return s.err
	}
	if s.x.status == 0 || s.x.left(err) || s.x.edge.stopped() {
		return err
	}
	e := s.x.visible(err)
	s.x.err = err
	said, err := json.Marshal(schemas.StreamError{Code: e.Code, Message: e.Message()})
	if err != nil {
		return err
	}
	s.buffer = bus.Event{Type: schemas.EventError, Data: said}.Append(s.buffer)
	s.buffer = bus.Event{Type: schemas.EventDone, Data: []byte("{}")}.Append(s.buffer)
	return s.flush(time.Now())
}

// flush sends the buffer, after the head when it is the first.
func (s *stream) flush(now time.Time) error {
	if s.x.status == 0 {
		s.begin()
	}
	if s.deadline.Sub(now) < writeTime-renew {
		s.deadline = now.Add(writeTime)
		_ = s.control.SetWriteDeadline(s.deadline) // not possible: then there is none
	}
	if _, err := s.x.w.Write(s.buffer); err != nil {
		return err
	}
	s.buffer, s.sent = s.buffer[:0], now
	return s.control.Flush()
}

func (s *stream) begin() {
	h := s.x.w.Header()
	h.Set("Content-Type", mediaEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set(bus.HeaderRun, s.run)
	s.x.status = http.StatusOK
	s.x.w.WriteHeader(http.StatusOK)
}
