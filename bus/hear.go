package bus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

// next is the next event: of what is kept, while that is read, and then of
// what comes.
func (l *listener) next() (Event, error) {
	for {
		e, err := l.read()
		if err != nil || e.Type != "" {
			return e, err
		}
	}
}

// read is the next event, or nothing yet.
func (l *listener) read() (Event, error) {
	if !l.reading {
		return l.hear()
	}
	e, ok, err := l.kept.next(l.ctx)
	switch {
	case err != nil:
		return Event{}, err
	case ok:
		return l.take(e)
	}
	l.reading = false
	held := l.held
	l.held = Event{}
	switch {
	case held.Type != "":
		return l.take(held)
	case l.over:
		return Event{}, l.ending()
	case l.last < l.told && l.tries < recallTries: // what was said last is on its way into the store
		return Event{}, l.reread()
	}
	return Event{}, nil
}

// hear is the event in the next message that comes; none in a sign of life.
func (l *listener) hear() (Event, error) {
	msg, err := l.arriving()
	if err != nil || msg == nil {
		return Event{}, err
	}
	switch {
	case full(msg) && l.asked == 0:
		return Event{}, nil // another one takes the request
	case full(msg) && l.asked <= others:
		return Event{}, l.ask()
	}
	if err := readError(msg); err != nil {
		l.ended = true
		return Event{}, err
	}
	if err := l.answered(msg.Reply); err != nil {
		return Event{}, err
	}
	e, ok := l.event(msg)
	if !ok {
		return Event{}, nil
	}
	return l.take(e)
}

// event is the event in msg; false for a sign of life.
func (l *listener) event(msg *nats.Msg) (Event, bool) {
	kind := msg.Header.Get(HeaderEvent)
	if kind == "" {
		e, _, ok := readFrame(msg.Data)
		return e, ok
	}
	n, err := strconv.ParseUint(msg.Header.Get(HeaderSequence), 10, 64)
	if err != nil { // who serves a stream without our bus need not count
		n = l.last + 1
	}
	return Event{Type: kind, Sequence: n, Data: msg.Data}, true
}

// arriving is the next message that comes; none when some were dropped, and are
// read from what is kept.
func (l *listener) arriving() (*nats.Msg, error) {
	l.quiet.Reset(silence)
	msg, err := l.sub.NextMsgWithContext(l.ctx)
	l.quiet.Stop()
	var known *schemas.Error
	switch {
	case err == nil:
		if l.unheard != nil {
			l.unheard.Stop()
		}
		return msg, nil
	case errors.Is(err, nats.ErrSlowConsumer) && l.kept != nil:
		return nil, l.reread()
	case errors.Is(context.Cause(l.ctx), ErrUnheard):
		return nil, context.Cause(l.ctx)
	case errors.As(context.Cause(l.ctx), &known):
		return nil, known
	default:
		return nil, transportError(l.subject, err)
	}
}

// answered notes where the worker is that took the request, and sends it what
// is left of the body.
func (l *listener) answered(control string) error {
	switch {
	case control == "" || l.control != "":
		return nil
	case !isInbox(control) && (l.kept == nil || control != l.kept.run):
		return schemas.ErrUnavailable.Because("the worker named a control subject that is not an inbox")
	}
	l.control = control
	l.request = nil // it may be large
	return l.upload()
}

// upload sends the body to the worker that took the request.
func (l *listener) upload() error {
	size := int(min(chunkSize, l.conn.nc.MaxPayload()-headerRoom))
	for len(l.body) > 0 {
		n := min(size, len(l.body))
		if err := l.conn.nc.Publish(l.control, l.body[:n]); err != nil {
			return transportError(l.subject, err)
		}
		l.body = l.body[n:]
	}
	l.body = nil // an empty slice would keep the whole body
	return nil
}

// take gives the event to the caller; not one that the caller has, nor one that
// comes too early.
func (l *listener) take(e Event) (Event, error) {
	switch {
	case e.Sequence <= l.last:
		return Event{}, nil
	case e.Sequence > l.last+1:
		return Event{}, l.missed(e)
	}
	l.ended = e.Type == schemas.EventDone
	l.tries = 0
	l.last++
	if now := time.Now(); l.last%(window/2) == 0 || now.Sub(l.said) > readTime {
		l.tell(HeaderRead, strconv.FormatUint(l.last, 10))
		l.said = now
	}
	return e, nil
}
