package bus

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus/telemetry"
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
	span    telemetry.Span
	quiet   *time.Timer // ends a wait for the worker's next message
	unheard *time.Timer // ends that for a first one; nil: as long as for the others
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
	told    uint64  // the last event that the worker had said when it was asked
	over    bool    // no worker is at it any more
}

// listen asks with body for events on the reply subject; a try soon gives up.
func (s Stream[Req]) listen(ctx context.Context, c *Conn, body []byte, reply string, try bool) (*listener, error) {
	ctx, span := telemetry.Ask(ctx, s.Subject)
	l, err := s.open(ctx, c, reply)
	if err != nil {
		asked(span, err)
		return nil, err
	}
	l.span = span
	if run, ok := s.runOf(reply); ok {
		l.kept = s.recall(c, run)
	}
	if try {
		l.unheard = time.AfterFunc(firstSign, func() {
			if c.inbox.spend() {
				l.end(errUnheard)
			}
		})
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
	// A channel of our own: that of SubscribeSync takes half a megabyte.
	if l.sub, err = c.nc.ChanSubscribe(subject, make(chan *nats.Msg, backlog)); err != nil {
		return nil, transportError(s.Subject, err)
	}
	ctx, l.end = context.WithCancelCause(ctx)
	l.ctx, l.cancel = context.WithTimeout(ctx, s.Timeout+grace)
	l.forget = context.AfterFunc(c.lost(), func() { l.end(schemas.ErrUnavailable.Because("NATS went away")) })
	l.quiet = time.AfterFunc(silence, func() { l.end(schemas.ErrUnavailable.Because("the worker fell silent")) })
	l.quiet.Stop() // it runs while a message is waited for
	return l, nil
}

// ask sends the request.
func (l *listener) ask() error {
	l.asked++
	if l.unheard != nil {
		l.unheard.Reset(firstSign)
	}
	if err := l.conn.nc.PublishMsg(l.request); err != nil {
		return transportError(l.subject, err)
	}
	return nil
}

// leave ends the caller's side, and the worker's when it is still at work and
// not at a run, which others may listen to.
func (l *listener) leave() {
	_ = l.sub.Unsubscribe() // fails only on a closed connection
	if l.unheard != nil {
		l.unheard.Stop()
	}
	if l.kept != nil && l.control == "" && !l.ended { // nothing was heard; somebody may be at it all the same
		l.control = l.kept.run
		l.tell(HeaderCancel, "1")
	}
	if !l.ended && l.kept == nil {
		l.tell(HeaderCancel, "1")
	}
	l.quiet.Stop()
	l.forget()
	l.cancel()
	l.end(nil)
	l.span.End()
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
