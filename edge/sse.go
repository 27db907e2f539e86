package edge

import (
	"bytes"
	"context"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

const (
	// keepAlive is how long a stream may be silent before a comment shows that
	// it lives. After as long without a first event, the status is 200.
	keepAlive = 10 * time.Second
	// ahead is how many events may wait for the client.
	ahead = 64
	// enough is the most that is gathered for one write, in bytes.
	enough = 32 << 10
)

// events answers with the events of s.
func events[Req any](s bus.Stream[Req]) action {
	return action{
		subject: s.Subject, request: reflect.TypeFor[Req](), media: "text/event-stream", invalid: s.Invalid, say: s.Errors,
		answer: func(x *exchange) error {
			body, err := x.body(s.MaxBody)
			if err != nil {
				return err
			}
			return follow(x, s, body)
		},
	}
}

// happening is an event, or the error that ended the stream.
type happening struct {
	event bus.Event
	err   error
}

// follow asks s and passes its events on. The worker is told when the client left.
func follow[Req any](x *exchange, s bus.Stream[Req], body []byte) error {
	ctx, cancel := context.WithCancel(x.ctx)
	come := make(chan happening, ahead)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(come)
		for event, err := range s.Forward(ctx, x.edge.conn, body) {
			select {
			case come <- happening{event, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	defer reading.Wait()
	defer cancel()
	out := &stream{x: x, control: http.NewResponseController(x.w)}
	return out.pass(come)
}

// stream is an answer of server-sent events.
type stream struct {
	x       *exchange
	control *http.ResponseController
	buffer  []byte // not yet sent
	last    uint64 // sequence of the last event
}

// pass writes what comes until the stream ends. The error is for an answer
// that did not begin, or of a client that left.
func (s *stream) pass(come <-chan happening) error {
	silence := time.NewTimer(s.x.edge.silence)
	defer silence.Stop()
	for {
		select {
		case h, open := <-come:
			if !open {
				h.err = context.Canceled
			}
			if h.err != nil {
				return s.broken(h.err)
			}
			done := h.event.Type == schemas.EventDone
			s.event(h.event)
			if err := s.flushUnless(len(come) > 0 && !done); err != nil || done {
				return err
			}
		case <-silence.C:
			s.buffer = append(s.buffer, ": alive\n\n"...)
			if err := s.flush(); err != nil {
				return err
			}
		}
		silence.Reset(s.x.edge.silence)
	}
}

// broken ends the stream with err: as the answer when none began, and else as
// the last events.
func (s *stream) broken(err error) error {
	began := s.x.status != 0 || len(s.buffer) > 0
	if !began || s.x.left(err) {
		return err
	}
	e := s.x.visible(err)
	s.x.err = err
	said, err := json.Marshal(schemas.StreamError{Code: e.Code, Message: e.Message()})
	if err != nil {
		return err
	}
	s.event(bus.Event{Type: schemas.EventError, Sequence: s.last + 1, Data: said})
	s.event(bus.Event{Type: schemas.EventDone, Sequence: s.last + 1, Data: []byte("{}")})
	return s.flush()
}

// event adds an event to what is to be sent.
func (s *stream) event(e bus.Event) {
	s.last = e.Sequence
	b := append(s.buffer, "id: "...)
	b = strconv.AppendUint(b, e.Sequence, 10)
	b = append(b, "\nevent: "...)
	b = append(b, e.Type...)
	b = append(b, "\ndata: "...)
	b = append(b, oneLine(e.Data)...)
	s.buffer = append(b, "\n\n"...)
}

// oneLine is JSON without line breaks, which can only be between its tokens.
func oneLine(data []byte) []byte {
	if !bytes.ContainsAny(data, "\r\n") {
		return data
	}
	return bytes.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return ' '
		}
		return r
	}, data)
}

// flushUnless leaves events that others follow at once to be sent with them,
// while they are few.
func (s *stream) flushUnless(more bool) error {
	if more && len(s.buffer) < enough {
		return nil
	}
	return s.flush()
}

// flush sends the buffer, after the head when it is the first.
func (s *stream) flush() error {
	if s.x.status == 0 {
		s.begin()
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := s.x.w.Write(s.buffer); err != nil {
		return err
	}
	s.buffer = s.buffer[:0]
	return s.control.Flush()
}

func (s *stream) begin() {
	h := s.x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s.x.status = http.StatusOK
	s.x.w.WriteHeader(http.StatusOK)
}
