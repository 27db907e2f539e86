package bus

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

const (
	// heartbeat is how often a worker shows that its stream is alive. One that
	// reaches nobody ends the work: a caller that leaves before it knows where
	// to say so is found out within the second.
	heartbeat = 500 * time.Millisecond
	// silence is how long a caller waits for any sign of life.
	silence = 6 * time.Second
	// grace is how long a caller waits past the deadline, so that the worker's
	// own word on the timeout arrives.
	grace = 2 * time.Second
	// headerRoom is what the headers of a message may take of max_payload.
	headerRoom = 4 << 10
	// window is how many events a worker may be ahead of what a caller has read,
	// who says so after every half of it. A slow one so slows the worker down, and
	// costs no more than that in memory.
	window = 512
	// stall is how long a worker waits for a caller that reads nothing.
	stall = 10 * time.Second
	// chunkSize is the most that one message of an upload carries.
	chunkSize = 1 << 20
)

// Stream is a subject on which a Req is answered by events, the last of them
// done. Any NATS client can read it: the events go to the reply subject.
type Stream[Req any] struct {
	Subject string
	// Invalid is the error for a request that cannot be read or is not valid.
	Invalid *schemas.Error
	// Timeout bounds the whole stream.
	Timeout time.Duration
	// MaxBody is the largest request, in bytes.
	MaxBody int
	// Errors says an error in the words of the stream's contract; nil: as it is.
	Errors func(*schemas.Error) *schemas.Error
}

// Event is one event of a stream.
type Event struct {
	Type     string
	Sequence uint64 // from 1
	Data     []byte // JSON
}

// Call asks req and yields the events as they come, done included. A failure
// is yielded once, as the last thing; when nothing came before it, no stream
// began. Leaving the loop, or ending ctx, cancels the worker.
func (s Stream[Req]) Call(ctx context.Context, c *Conn, req Req) iter.Seq2[Event, error] {
	body, err := json.Marshal(req)
	if err != nil {
		return func(yield func(Event, error) bool) { yield(Event{}, err) }
	}
	return s.Forward(ctx, c, body)
}

// Forward asks with a body that is already JSON. A body beyond the server's
// max_payload is sent in chunks, to the worker alone.
func (s Stream[Req]) Forward(ctx context.Context, c *Conn, body []byte) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := s.listen(ctx, c, body)
		if err != nil {
			yield(Event{}, s.say(err))
			return
		}
		defer l.leave()
		for {
			event, err := l.next()
			if err != nil {
				yield(Event{}, s.say(err))
				return
			}
			if !yield(event, nil) || event.Type == schemas.EventDone {
				return
			}
		}
	}
}

// say is an error of the bus in the words of the stream's contract.
func (s Stream[Req]) say(err error) error {
	var e *schemas.Error
	if !errors.As(err, &e) {
		return err
	}
	return s.row(e)
}

// row is what a caller of the stream sees of err.
func (s Stream[Req]) row(err error) *schemas.Error {
	if s.Errors == nil {
		return visible(err)
	}
	return s.Errors(visible(err))
}

// listener is the caller's side of one stream.
type listener struct {
	conn    *Conn
	sub     *nats.Subscription
	ctx     context.Context
	cancel  context.CancelFunc
	lost    context.Context
	forget  func() bool
	request *nats.Msg
	asked   int    // how often
	body    []byte // still to be sent in chunks; nil when it went with the request
	control string // the worker's reply subject, from its first message
	last    uint64 // sequence of the last event
	ended   bool   // by the worker
}

func (s Stream[Req]) listen(ctx context.Context, c *Conn, body []byte) (*listener, error) {
	if !c.Connected() {
		return nil, schemas.ErrUnavailable.Because("NATS is away")
	}
	l := &listener{conn: c, lost: c.lost()}
	limited, stop := context.WithTimeout(ctx, s.Timeout)
	defer stop()
	msg := newMessage(limited, s.Subject, body)
	if int64(len(body)) > c.nc.MaxPayload()-headerRoom {
		msg.Data, l.body = nil, body
		msg.Header.Set(HeaderBodySize, strconv.Itoa(len(body)))
	}
	msg.Header.Set(HeaderWindow, strconv.Itoa(window))
	msg.Reply = c.nc.NewInbox()
	var err error
	if l.sub, err = c.nc.SubscribeSync(msg.Reply); err != nil {
		return nil, transportError(s.Subject, err)
	}
	l.ctx, l.cancel = context.WithTimeout(ctx, s.Timeout+grace)
	l.forget = context.AfterFunc(l.lost, l.cancel)
	l.request = msg
	if err := l.ask(); err != nil {
		l.leave()
		return nil, err
	}
	return l, nil
}

// ask sends the request.
func (l *listener) ask() error {
	l.asked++
	if err := l.conn.nc.PublishMsg(l.request); err != nil {
		return transportError(l.request.Subject, err)
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
		if full(msg) && l.asked <= others {
			if err := l.ask(); err != nil {
				return Event{}, err
			}
			continue
		}
		if err := readError(msg); err != nil {
			l.ended = true
			return Event{}, err
		}
		if kind := msg.Header.Get(HeaderEvent); kind != "" {
			return l.event(kind, msg)
		}
	}
}

func (l *listener) receive() (*nats.Msg, error) {
	ctx, stop := context.WithTimeout(l.ctx, silence)
	defer stop()
	msg, err := l.sub.NextMsgWithContext(ctx)
	switch {
	case err == nil && noResponders(msg):
		return nil, transportError(l.request.Subject, nats.ErrNoResponders)
	case err == nil:
		return msg, nil
	case l.lost.Err() != nil:
		return nil, schemas.ErrUnavailable.Because("NATS went away")
	case l.ctx.Err() == nil && ctx.Err() != nil:
		return nil, schemas.ErrUnavailable.Because("the worker fell silent")
	default:
		return nil, transportError(l.request.Subject, err)
	}
}

func noResponders(msg *nats.Msg) bool {
	return len(msg.Data) == 0 && msg.Header.Get("Status") == "503"
}

// upload sends the body to the worker that took the request.
func (l *listener) upload() error {
	size := int(min(chunkSize, l.conn.nc.MaxPayload()-headerRoom))
	for len(l.body) > 0 {
		n := min(size, len(l.body))
		if err := l.conn.nc.Publish(l.control, l.body[:n]); err != nil {
			return transportError(l.request.Subject, err)
		}
		l.body = l.body[n:]
	}
	return nil
}

func (l *listener) event(kind string, msg *nats.Msg) (Event, error) {
	l.ended = kind == schemas.EventDone
	if n, err := strconv.ParseUint(msg.Header.Get(HeaderSequence), 10, 64); err == nil {
		if n != l.last+1 {
			return Event{}, schemas.ErrUnavailable.Because("events were lost on the way")
		}
	}
	l.last++
	if l.last%(window/2) == 0 {
		l.tell(HeaderRead, strconv.FormatUint(l.last, 10))
	}
	return Event{Type: kind, Sequence: l.last, Data: msg.Data}, nil
}

// leave ends the caller's side, and the worker's when it is still at work.
func (l *listener) leave() {
	_ = l.sub.Unsubscribe() // fails only on a closed connection
	if !l.ended {
		l.tell(HeaderCancel, "1")
	}
	if l.cancel != nil {
		l.forget()
		l.cancel()
	}
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
