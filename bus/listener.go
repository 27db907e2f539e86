package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// listener is the client's side of one stream.
type listener struct {
	conn     *Conn
	subject  string // of the stream
	sub      *nats.Subscription
	ctx      context.Context
	cancel   context.CancelFunc
	end      context.CancelCauseFunc
	unwatch  func() bool
	span     telemetry.Span
	timeout  *time.Timer // heartbeat timeout
	claim    *time.Timer // timeout of the first heartbeat; nil: heartbeat timeout
	request  *nats.Msg
	attempts int       // attempts
	body     []byte    // rest to send in chunks; nil when it went with the request
	control  string    // the worker's control subject, from its first message
	last     uint64    // sequence of the last event
	acked    time.Time // time of the last acknowledgement
	ended    bool      // the worker has ended the stream

	// Of a run only:
	replay    *replay // nil: not a run
	replaying bool    // replaying, before live events
	pending   Event   // live event beyond a gap, delivered after the replay
	replays   int     // replays without progress
	expected  uint64  // sequence of the worker's last event when the replay started
	noWorker  bool    // no worker has the run
}

// listen sends a request with the body for events on the reply subject. With try it
// fails with ErrUnclaimed if no worker sends a heartbeat soon.
func (s Stream[Req]) listen(ctx context.Context, c *Conn, body []byte, reply string, try bool) (*listener, error) {
	ctx, span := telemetry.StartRequest(ctx, s.Subject)
	l, err := s.open(ctx, c, reply)
	if err != nil {
		endSpan(span, err)
		return nil, err
	}
	l.span = span
	if run, ok := s.runOf(reply); ok {
		l.replay = s.newReplay(c, run)
	}
	if try {
		l.claim = time.AfterFunc(claimTimeout, func() {
			if c.inbox.spend() {
				l.end(errUnclaimed)
			}
		})
	}
	most := int(c.nc.MaxPayload() - headerRoom)
	if l.replay != nil {
		most = min(most, maxInline)
	}
	l.request = s.message(ctx, body, most)
	l.request.Reply = reply
	if l.request.Data == nil {
		l.body = body
	}
	if err := l.send(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// message returns the request with the body, or with the size of a body that has more
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

// attach subscribes to a run and replays its events after the sequence.
func (s Stream[Req]) attach(ctx context.Context, c *Conn, run string, after uint64) (*listener, error) {
	if !runName.MatchString(run) {
		return nil, schemas.ErrRunNotFound.Because("invalid run name")
	}
	l, err := s.open(ctx, c, s.control(run)+eventToken)
	if err != nil {
		return nil, err
	}
	l.control, l.last, l.replay = s.control(run), after, s.newReplay(c, s.control(run))
	if err := l.startReplay(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// open subscribes to the subject.
func (s Stream[Req]) open(ctx context.Context, c *Conn, subject string) (*listener, error) {
	if !c.Connected() {
		return nil, schemas.ErrUnavailable.Because("NATS is unavailable")
	}
	l := &listener{conn: c, subject: s.Subject, acked: time.Now()}
	var err error
	// The channel of SubscribeSync takes half a megabyte.
	if l.sub, err = c.nc.ChanSubscribe(subject, make(chan *nats.Msg, backlog)); err != nil {
		return nil, transportError(s.Subject, err)
	}
	ctx, l.end = context.WithCancelCause(ctx)
	l.ctx, l.cancel = context.WithTimeout(ctx, s.Timeout+timeoutMargin)
	l.unwatch = context.AfterFunc(c.lost(), func() { l.end(schemas.ErrUnavailable.Because("the connection to NATS was lost")) })
	l.timeout = time.AfterFunc(streamHeartbeatTimeout, func() { l.end(schemas.ErrUnavailable.Because("no heartbeat from the worker")) })
	l.timeout.Stop() // runs only while waiting for a message
	return l, nil
}

// send publishes the request.
func (l *listener) send() error {
	l.attempts++
	if l.claim != nil {
		l.claim.Reset(claimTimeout)
	}
	if err := l.conn.nc.PublishMsg(l.request); err != nil {
		return transportError(l.subject, err)
	}
	return nil
}

// close unsubscribes, and cancels the worker unless it has ended or works on a run,
// which other clients may follow.
func (l *listener) close() {
	_ = l.sub.Unsubscribe() // fails only on a closed connection
	if l.claim != nil {
		l.claim.Stop()
	}
	if l.replay != nil && l.control == "" && !l.ended { // an unknown worker may still have the request
		l.control = l.replay.run
		l.notify(HeaderCancel, "1")
	}
	if !l.ended && l.replay == nil {
		l.notify(HeaderCancel, "1")
	}
	l.timeout.Stop()
	l.unwatch()
	l.cancel()
	l.end(nil)
	l.span.End()
}

// notify sends a header to the worker, once it is known. Delivery is not needed: the
// worker detects a client that is disconnected or does not read.
func (l *listener) notify(header, value string) {
	if l.control == "" {
		return
	}
	msg := nats.NewMsg(l.control)
	msg.Header.Set(header, value)
	_ = l.conn.nc.PublishMsg(msg)
}

// next returns the next event: from the replay stream while replaying, and then live.
func (l *listener) next() (Event, error) {
	for {
		e, err := l.read()
		if err != nil || e.Type != "" {
			return e, err
		}
	}
}

// read returns the next event, or an empty one if the message held none.
func (l *listener) read() (Event, error) {
	if !l.replaying {
		return l.receive()
	}
	e, ok, err := l.replay.next(l.ctx)
	switch {
	case err != nil:
		return Event{}, err
	case ok:
		return l.deliver(e)
	}
	l.replaying = false
	early := l.pending
	l.pending = Event{}
	switch {
	case early.Type != "":
		return l.deliver(early)
	case l.noWorker:
		return Event{}, l.ending()
	case l.last < l.expected && l.replays < maxReplays: // the last events are on their way into the replay stream
		return Event{}, l.startReplay()
	}
	return Event{}, nil
}

// receive returns the event in the next message, or an empty one for a heartbeat.
func (l *listener) receive() (Event, error) {
	msg, err := l.nextMessage()
	if err != nil || msg == nil {
		return Event{}, err
	}
	switch {
	case isBusy(msg) && l.attempts == 0:
		return Event{}, nil // another worker has taken the request
	case isBusy(msg) && l.attempts <= maxBusyRetries:
		return Event{}, l.send()
	}
	if err := readError(msg); err != nil {
		l.ended = true
		return Event{}, err
	}
	if err := l.accepted(msg.Reply); err != nil {
		return Event{}, err
	}
	e, ok := l.event(msg)
	if !ok {
		return Event{}, nil
	}
	return l.deliver(e)
}

// event returns the event in msg; false for a heartbeat.
func (l *listener) event(msg *nats.Msg) (Event, bool) {
	kind := msg.Header.Get(HeaderEvent)
	if kind == "" {
		e, _, ok := readFrame(msg.Data)
		return e, ok
	}
	n, err := strconv.ParseUint(msg.Header.Get(HeaderSequence), 10, 64)
	if err != nil { // a foreign worker need not number its events
		n = l.last + 1
	}
	return Event{Type: kind, Sequence: n, Data: msg.Data}, true
}

// nextMessage returns the next message; nil if messages were dropped, in which case
// it starts a replay.
func (l *listener) nextMessage() (*nats.Msg, error) {
	l.timeout.Reset(streamHeartbeatTimeout)
	msg, err := l.sub.NextMsgWithContext(l.ctx)
	l.timeout.Stop()
	var known *schemas.Error
	switch {
	case err == nil:
		if l.claim != nil {
			l.claim.Stop()
		}
		return msg, nil
	case errors.Is(err, nats.ErrSlowConsumer) && l.replay != nil:
		return nil, l.startReplay()
	case errors.Is(context.Cause(l.ctx), ErrUnclaimed):
		return nil, context.Cause(l.ctx)
	case errors.As(context.Cause(l.ctx), &known):
		return nil, known
	default:
		return nil, transportError(l.subject, err)
	}
}

// accepted records the control subject of the worker that took the request and
// uploads the rest of the body to it.
func (l *listener) accepted(control string) error {
	switch {
	case control == "" || l.control != "":
		return nil
	case !isInbox(control) && (l.replay == nil || control != l.replay.run):
		return schemas.ErrUnavailable.Because("the worker named a control subject that is not an inbox")
	}
	l.control = control
	l.request = nil // release the memory
	return l.upload()
}

// upload sends the body to the worker's control subject, one chunk after the other.
func (l *listener) upload() error {
	size := int(min(chunkSize, l.conn.nc.MaxPayload()-headerRoom))
	for len(l.body) > 0 {
		n := min(size, len(l.body))
		if err := l.conn.sendChunk(l.ctx, l.control, l.body[:n]); err != nil {
			return transportError(l.subject, err)
		}
		l.body = l.body[n:]
	}
	l.body = nil // an empty slice would retain the body
	return nil
}

// deliver returns the event to the caller if it is the next one. It drops duplicates
// and replays the events of a gap.
func (l *listener) deliver(e Event) (Event, error) {
	switch {
	case e.Sequence <= l.last:
		return Event{}, nil
	case e.Sequence > l.last+1:
		return Event{}, l.missed(e)
	}
	l.ended = e.Type == schemas.EventDone
	l.replays = 0
	l.last++
	if now := time.Now(); l.last%(window/2) == 0 || now.Sub(l.acked) > ackInterval {
		l.notify(HeaderRead, strconv.FormatUint(l.last, 10))
		l.acked = now
	}
	return e, nil
}

const (
	// maxReplays is the maximum number of replays to find an event that must exist:
	// JetStream stores it a moment after it was published.
	maxReplays = 5
	// replayPause separates two such replays.
	replayPause = 20 * time.Millisecond
)

// errComplete: the client has the last event.
var errComplete = errors.New("the client has the last event")

// startReplay makes the listener read the replay stream before live events. It queries
// the worker first, which stores all events that it has sent before it replies.
func (l *listener) startReplay() error {
	if l.replays++; l.replays > 1 {
		select {
		case <-time.After(replayPause):
		case <-l.ctx.Done():
		}
	}
	last, found, err := l.conn.query(l.ctx, l.replay.run, HeaderRead, strconv.FormatUint(l.last, 10))
	if found && l.last > last {
		return schemas.ErrMalformed.Because(fmt.Sprintf("there is no event %d yet; the last is %d", l.last, last))
	}
	l.noWorker, l.expected = !found, last
	l.replaying = true
	l.replay.rewind()
	return err
}

// missed starts a replay for the gap before e.
func (l *listener) missed(e Event) error {
	switch {
	case l.replaying:
		return schemas.ErrRunNotFound.Because(fmt.Sprintf("events %d to %d are no longer retained for replay", l.last+1, e.Sequence-1))
	case l.replay == nil || l.replays == maxReplays:
		return schemas.ErrUnavailable.Because("events were lost")
	}
	l.pending = e
	return l.startReplay()
}

// ending returns how the run ended after a complete replay when no worker has the run;
// nil: the replay is repeated.
func (l *listener) ending() error {
	switch newest := l.replay.newest; {
	case l.replay.done, 0 < newest && newest < l.last:
		return errComplete
	case l.replays < maxReplays: // the last events may be on their way into the replay stream
		return l.startReplay()
	case newest == 0:
		return ErrNoRun
	default:
		return schemas.ErrRunStopped.Because("its worker was lost")
	}
}
