package bus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

// listener is the caller's side of one stream.
type listener struct {
	conn    *Conn
	subject string // of the stream
	sub     *nats.Subscription
	ctx     context.Context
	cancel  context.CancelFunc
	end     context.CancelCauseFunc
	forget  func() bool
	quiet   *time.Timer // ends a wait for the worker's next message
	request *nats.Msg
	asked   int       // how often
	body    []byte    // still to be sent in chunks; nil when it went with the request
	control string    // where the worker is spoken to, from its first message
	last    uint64    // sequence of the last event
	said    time.Time // when the worker was told of it
	ended   bool      // by the worker

	// Of a run only:
	kept    *recall // nil: it is none
	reading bool    // what is kept, before what comes
	held    Event   // that came too early: for after the reading
	tries   int     // to find an event that must be there
	over    bool    // no worker is at it any more
}

// listen asks with body for events on the reply subject.
func (s Stream[Req]) listen(ctx context.Context, c *Conn, body []byte, reply string) (*listener, error) {
	l, err := s.open(ctx, c, reply)
	if err != nil {
		return nil, err
	}
	if run, ok := s.runOf(reply); ok {
		l.kept = s.recall(c, run)
	}
	l.request = s.message(ctx, body, int(c.nc.MaxPayload()-headerRoom))
	l.request.Reply = reply
	if l.request.Data == nil {
		l.body = body
	}
	if err := l.ask(); err != nil {
		l.leave()
		return nil, err
	}
	return l, nil
}

// message is the request with the body, or that announces it when it has more
// than most bytes.
func (s Stream[Req]) message(ctx context.Context, body []byte, most int) *nats.Msg {
	limited, stop := context.WithTimeout(ctx, s.Timeout)
	defer stop()
	msg := newMessage(limited, s.Subject, body)
	if len(body) > most {
		msg.Data = nil
		msg.Header.Set(HeaderBodySize, strconv.Itoa(len(body)))
	}
	msg.Header.Set(HeaderWindow, strconv.Itoa(window))
	return msg
}

// attach listens to a run that began before.
func (s Stream[Req]) attach(ctx context.Context, c *Conn, run string, after uint64) (*listener, error) {
	if !runName.MatchString(run) {
		return nil, schemas.ErrRunNotFound.Because("no run has such a name")
	}
	l, err := s.open(ctx, c, s.control(run)+eventToken)
	if err != nil {
		return nil, err
	}
	l.control, l.last, l.kept = s.control(run), after, s.recall(c, s.control(run))
	if err := l.reread(); err != nil {
		l.leave()
		return nil, err
	}
	return l, nil
}

// open begins to listen on the subject.
func (s Stream[Req]) open(ctx context.Context, c *Conn, subject string) (*listener, error) {
	if !c.Connected() {
		return nil, schemas.ErrUnavailable.Because("NATS is away")
	}
	l := &listener{conn: c, subject: s.Subject, said: time.Now()}
	var err error
	if l.sub, err = c.nc.SubscribeSync(subject); err != nil {
		return nil, transportError(s.Subject, err)
	}
	_ = l.sub.SetPendingLimits(backlog, -1) // fails only on a closed connection
	ctx, l.end = context.WithCancelCause(ctx)
	l.ctx, l.cancel = context.WithTimeout(ctx, s.Timeout+grace)
	l.forget = context.AfterFunc(c.lost(), func() { l.end(schemas.ErrUnavailable.Because("NATS went away")) })
	l.quiet = time.AfterFunc(silence, func() { l.end(schemas.ErrUnavailable.Because("the worker fell silent")) })
	return l, nil
}

// ask sends the request.
func (l *listener) ask() error {
	l.asked++
	if err := l.conn.nc.PublishMsg(l.request); err != nil {
		return transportError(l.subject, err)
	}
	return nil
}

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
		return msg, nil
	case errors.Is(err, nats.ErrSlowConsumer) && l.kept != nil:
		return nil, l.reread()
	case errors.As(context.Cause(l.ctx), &known):
		return nil, known
	default:
		return nil, transportError(l.subject, err)
	}
}

// answered notes where the worker is that took the request, and sends it what
// is left of the body.
func (l *listener) answered(control string) error {
	if control == "" || l.control != "" {
		return nil
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

// leave ends the caller's side, and the worker's when it is still at work and
// not at a run, which others may listen to.
func (l *listener) leave() {
	_ = l.sub.Unsubscribe() // fails only on a closed connection
	if !l.ended && l.kept == nil {
		l.tell(HeaderCancel, "1")
	}
	l.quiet.Stop()
	l.forget()
	l.cancel()
	l.end(nil)
}

// tell sends a header to the worker, once it is known. What is lost the worker
// finds out by itself: that nobody listens, or reads.
func (l *listener) tell(header, value string) {
	if l.control == "" {
		return
	}
	msg := nats.NewMsg(l.control)
	msg.Header.Set(header, value)
	_ = l.conn.nc.PublishMsg(msg)
}
