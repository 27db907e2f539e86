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
	lost    context.Context
	forget  func() bool
	request *nats.Msg
	asked   int       // how often
	body    []byte    // still to be sent in chunks; nil when it went with the request
	control string    // where the worker is spoken to, from its first message
	last    uint64    // sequence of the last event
	said    time.Time // when the worker was told of it
	ended   bool      // by the worker

	// Of a run only:
	kept    *recall   // nil: it is none
	reading bool      // what is kept, before what comes
	held    *nats.Msg // that came too early: for after the reading
	tries   int       // to find an event that must be there
	over    bool      // no worker is at it any more
}

// listen asks with body for events on the reply subject.
func (s Stream[Req]) listen(ctx context.Context, c *Conn, body []byte, reply string) (*listener, error) {
	subject := reply
	run, isRun := s.runOf(reply)
	if isRun {
		subject = run + ".*"
	}
	l, err := s.open(ctx, c, subject)
	if err != nil {
		return nil, err
	}
	if isRun {
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
	l, err := s.open(ctx, c, s.control(run)+".*")
	if err != nil {
		return nil, err
	}
	l.control, l.last, l.kept = s.control(run), after, s.recall(c, s.control(run))
	heard, err := s.speak(ctx, c, run, HeaderRead, strconv.FormatUint(after, 10))
	if err != nil {
		l.leave()
		return nil, err
	}
	l.over = !heard
	l.reread()
	return l, nil
}

// open begins to listen on the subject.
func (s Stream[Req]) open(ctx context.Context, c *Conn, subject string) (*listener, error) {
	if !c.Connected() {
		return nil, schemas.ErrUnavailable.Because("NATS is away")
	}
	l := &listener{conn: c, subject: s.Subject, lost: c.lost(), said: time.Now()}
	var err error
	if l.sub, err = c.nc.SubscribeSync(subject); err != nil {
		return nil, transportError(s.Subject, err)
	}
	_ = l.sub.SetPendingLimits(backlog, -1) // fails only on a closed connection
	l.ctx, l.cancel = context.WithTimeout(ctx, s.Timeout+grace)
	l.forget = context.AfterFunc(l.lost, l.cancel)
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

// next is the next event; signs of life are passed over.
func (l *listener) next() (Event, error) {
	for {
		msg, err := l.receive()
		if err != nil {
			return Event{}, err
		}
		if msg.Reply != "" && l.control == "" {
			l.control = msg.Reply
			if err := l.upload(); err != nil {
				return Event{}, err
			}
		}
		switch {
		case full(msg) && l.reading:
			continue // another one took the request
		case full(msg) && l.asked <= others:
			if err := l.ask(); err != nil {
				return Event{}, err
			}
			continue
		}
		if err := readError(msg); err != nil {
			l.ended = true
			return Event{}, err
		}
		event, err := l.event(msg)
		if err != nil || event.Type != "" {
			return event, err
		}
	}
}

// receive is the next message: of what is kept, while that is read, and then
// of what comes.
func (l *listener) receive() (*nats.Msg, error) {
	for l.reading {
		if msg, err := l.kept.next(l.ctx); msg != nil || err != nil {
			return msg, err
		}
		l.reading = false
		if msg := l.held; msg != nil {
			l.held = nil
			return msg, nil
		}
		if l.over {
			if err := l.ending(); err != nil {
				return nil, err
			}
		}
	}
	return l.arriving()
}

// arriving is the next message that comes.
func (l *listener) arriving() (*nats.Msg, error) {
	ctx, stop := context.WithTimeout(l.ctx, silence)
	defer stop()
	msg, err := l.sub.NextMsgWithContext(ctx)
	switch {
	case err == nil:
		return msg, nil
	case errors.Is(err, nats.ErrSlowConsumer) && l.kept != nil:
		l.reread() // some messages were dropped, perhaps the last ones
		return l.receive()
	case l.lost.Err() != nil:
		return nil, schemas.ErrUnavailable.Because("NATS went away")
	case l.ctx.Err() == nil && ctx.Err() != nil:
		return nil, schemas.ErrUnavailable.Because("the worker fell silent")
	default:
		return nil, transportError(l.subject, err)
	}
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

// sequence is the place of msg in its stream; 0 when it does not say.
func sequence(msg *nats.Msg) uint64 {
	n, _ := strconv.ParseUint(msg.Header.Get(HeaderSequence), 10, 64)
	return n
}

// event is the event in msg; none in a sign of life, in an event that the
// caller has, and in one that comes too early.
func (l *listener) event(msg *nats.Msg) (Event, error) {
	kind := msg.Header.Get(HeaderEvent)
	if kind == "" {
		return Event{}, nil
	}
	switch n := sequence(msg); {
	case n > 0 && n <= l.last:
		return Event{}, nil
	case n > l.last+1:
		return Event{}, l.missed(msg)
	}
	l.ended = kind == schemas.EventDone
	l.tries = 0
	l.last++
	if now := time.Now(); l.last%(window/2) == 0 || now.Sub(l.said) > readTime {
		l.tell(HeaderRead, strconv.FormatUint(l.last, 10))
		l.said = now
	}
	return Event{Type: kind, Sequence: l.last, Data: msg.Data}, nil
}

// leave ends the caller's side, and the worker's when it is still at work and
// not at a run, which others may listen to.
func (l *listener) leave() {
	_ = l.sub.Unsubscribe() // fails only on a closed connection
	if !l.ended && l.kept == nil {
		l.tell(HeaderCancel, "1")
	}
	l.forget()
	l.cancel()
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
