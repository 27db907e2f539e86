package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/bus/bucket"
	"cairn/bus/replay"
	"cairn/bus/retry"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// listener is the client's side of one stream. The package documentation has a diagram of
// its states.
type listener struct {
	conn    *Conn
	stream  Stream[any]
	sub     *nats.Subscription
	ctx     context.Context
	cancel  context.CancelFunc
	wait    context.Context         // canceled when ctx ends, the connection is lost, or heartbeats time out
	end     context.CancelCauseFunc // cancels wait
	disarm  func()                  // stops the timers of armTimeouts
	span    telemetry.Span
	timeout *time.Timer // heartbeat timeout
	state   state
	body    []byte    // remaining body, sent in chunks; nil: the request contained the body
	control string    // the worker's control subject, from its first message
	last    uint64    // sequence of the last event
	acked   time.Time // time of the last acknowledgement

	// Only for a run:
	run       string         // control subject; empty: not a run
	replay    *replay.Reader // nil: not a run
	confirmed time.Time      // when the worker was last known to have the run
	snapshot  bool           // end instead of waiting for live events
	recovery  recovery
}

// state is the state of a listener: *waiting, *replaying, live, lost or ended.
type state interface {
	// next returns the next event. The event is empty if the state has changed, or for a message
	// without an event.
	next(*listener) (Event, error)
}

// waiting is the state in which no worker has replied to the request.
type waiting struct {
	request      *nats.Msg
	sent         bool // request was published and not refused as busy
	attempts     int
	mustConfirm  bool        // fail with errUnconfirmed after confirmTimeout
	confirmTimer *time.Timer // timer of confirmTimeout; nil: not started
}

// replaying is the state in which stored events are read, before further live ones.
type replaying struct {
	exists bool   // the run exists: a worker had it, or an event was delivered
	worker bool   // a worker has the run
	target uint64 // sequence of the worker's last event when the replay started
	beyond Event  // live event after the gap, delivered after the replay; empty: none
}

// live is the state in which the events of the worker are delivered as they arrive.
type live struct{}

// lost is the state after the worker of a run was lost. The run ends with an error event and done.
// Their sequences are higher than all others, because the worker may have sent events that it did
// not store.
type lost struct{}

// sequenceLost is the sequence of the error event of a run whose worker was lost; done has the next
// one. JavaScript represents both exactly.
const sequenceLost = 1<<53 - 2

// ended is the state after done, or after an error of the worker.
type ended struct{}

// recovery counts the attempts to continue a stream since its last event.
type recovery struct {
	replays  int       // without progress
	failedAt time.Time // time of the first failure; zero: none
}

const (
	// responderTimeout bounds the wait of a stream for a worker, and deliveryTimeout the wait for a
	// connection. Both are shorter than 10 s, after which an edge sends the HTTP status without
	// waiting for the first event.
	responderTimeout = 2 * time.Second
	deliveryTimeout  = 8 * time.Second
	// confirmTimeout is the timeout of Start for the first heartbeat, which a worker sends
	// immediately.
	confirmTimeout = 2 * time.Second
	// timeoutMargin is the time after the deadline for which a client waits for the timeout error of
	// the worker.
	timeoutMargin = 2 * time.Second
	// ackInterval is the time after which a client acknowledges events even if they are less than
	// half of the window.
	ackInterval = time.Second
	// backlog is the buffer size of a client in messages; further ones are dropped, and
	// replayed if the stream is a run.
	backlog = 2 * window
	// interestTimeout bounds the propagation of a worker's subscription for the chunks of a body to
	// all servers of a cluster.
	interestTimeout = time.Second
)

// opening is the request of a stream.
type opening struct {
	body        []byte
	reply       string // subject of the events
	mustConfirm bool   // fail with errUnconfirmed if no worker sends a heartbeat within confirmTimeout
}

// listen returns a listener that sends the request and receives the events.
func listen(ctx context.Context, c *Conn, s Stream[any], o opening) (*listener, error) {
	ctx, span := telemetry.StartRequest(ctx, s.Subject)
	l, err := newListener(ctx, c, s, o.reply)
	if err != nil {
		endSpan(span, err)
		return nil, err
	}
	l.span = span
	inlineLimit := int(c.nc.MaxPayload() - bucket.HeaderRoom)
	if run, ok := s.runOf(o.reply); ok {
		l.setRun(run)
		inlineLimit = min(inlineLimit, maxInline)
	}
	limited, stop := context.WithTimeout(ctx, s.Timeout)
	defer stop()
	request := newMessage(ctx, s.Subject, o.body)
	setTimeout(limited, request)
	request.Reply = o.reply
	request.Header.Set(HeaderWindow, strconv.Itoa(window))
	if len(o.body) > inlineLimit { // sent in chunks after the request
		l.body, request.Data = o.body, nil
		request.Header.Set(HeaderBodySize, strconv.Itoa(len(o.body)))
	}
	l.state = &waiting{request: request, mustConfirm: o.mustConfirm}
	return l, nil
}

// attach subscribes to a run and replays its events after the sequence.
func attach(ctx context.Context, c *Conn, s Stream[any], run string, after uint64) (*listener, error) {
	if !runName.MatchString(run) {
		return nil, schemas.ErrRunNotFound.Because("invalid run name")
	}
	l, err := newListener(ctx, c, s, s.control(run)+eventToken)
	if err != nil {
		return nil, err
	}
	l.armTimeouts()
	l.setRun(s.control(run))
	l.control, l.last, l.state = l.run, after, &replaying{}
	if after == sequenceLost || after == sequenceLost+1 { // the client knows that the worker was lost
		return l, nil
	}
	first, cancel := context.WithTimeout(l.ctx, s.Grace)
	defer cancel()
	if err = l.startReplay(first, Event{}); l.recoverable(err) {
		err = l.reattach(err)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func newListener(ctx context.Context, c *Conn, s Stream[any], subject string) (*listener, error) {
	l := &listener{conn: c, stream: s, disarm: func() {}, acked: time.Now(), confirmed: time.Now()}
	var err error
	// The channel of SubscribeSync takes more memory.
	if l.sub, err = c.nc.ChanSubscribe(subject, make(chan *nats.Msg, backlog)); err != nil {
		return nil, transportError(s.Subject, err)
	}
	l.ctx, l.cancel = context.WithTimeout(ctx, s.Timeout+timeoutMargin)
	return l, nil
}

func (l *listener) setRun(run string) {
	l.run, l.replay = run, replay.NewReader(l.conn.ReadConn().js, l.stream.location(run))
}

// ErrInterrupted is wrapped by the error of a stream that may continue at its worker: the
// connection to NATS was lost, or messages or stored events do not arrive, and the client could not
// continue a run within its grace period. A run can be resumed.
var ErrInterrupted = errors.New("stream interrupted")

// armTimeouts replaces wait by a context that is canceled when the current connection is lost or
// heartbeats time out.
func (l *listener) armTimeouts() {
	l.disarm()
	wait, end := context.WithCancelCause(l.ctx)
	stop := context.AfterFunc(l.conn.requests.connContext(), func() { end(errConnectionLost) })
	timeout := time.AfterFunc(streamHeartbeatTimeout, func() {
		end(schemas.ErrUnavailable.Because("no heartbeat from the worker"))
	})
	timeout.Stop() // runs only while waiting for a message
	l.wait, l.end, l.timeout = wait, end, timeout
	l.disarm = func() { stop(); timeout.Stop(); end(nil) }
}

func (l *listener) enter(s state) {
	if w, ok := l.state.(*waiting); ok {
		w.stopConfirmTimer()
	}
	l.state = s
}

// close unsubscribes. It cancels the worker unless the stream has ended or is a run, which other
// clients may follow.
func (l *listener) close() {
	_ = l.sub.Unsubscribe() // fails only on a closed connection
	_, done := l.state.(ended)
	switch {
	case done:
	case l.replay == nil:
		l.notify(HeaderCancel, "1")
	case l.control == "": // a worker that has not replied may have the request
		l.control = l.run
		l.notify(HeaderCancel, "1")
	}
	l.enter(ended{})
	l.disarm()
	l.cancel()
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

func (l *listener) next() (Event, error) {
	for {
		e, err := l.state.next(l)
		if err != nil && l.recoverable(err) {
			err = l.reattach(err)
		}
		if l.interrupted(err) && !errors.Is(err, ErrInterrupted) {
			err = fmt.Errorf("%w: %w", ErrInterrupted, err)
		}
		if err != nil || e.Type != "" {
			return e, err
		}
	}
}

func (w *waiting) send(l *listener) error {
	w.attempts++
	if err := l.conn.nc.PublishMsg(w.request); err != nil {
		return err
	}
	l.armTimeouts()
	if w.stopConfirmTimer(); w.mustConfirm {
		end := l.end
		w.confirmTimer = time.AfterFunc(confirmTimeout, func() {
			if l.conn.budget.Take() {
				end(fmt.Errorf("%w: %w", errUnconfirmed, schemas.ErrUnavailable.Because(errUnconfirmed.Error())))
			}
		})
	}
	return nil
}

func (w *waiting) stopConfirmTimer() {
	if w.confirmTimer != nil {
		w.confirmTimer.Stop()
	}
}

// receive sends the request unless it was delivered, and returns the next message.
func (w *waiting) receive(l *listener) (*nats.Msg, error) {
	if !w.sent {
		if err := w.send(l); err != nil {
			return nil, err
		}
	}
	msg, err := l.nextMessage()
	w.sent = !undelivered(err)
	return msg, err
}

func (w *waiting) next(l *listener) (Event, error) {
	ctx, cancel := context.WithTimeout(l.ctx, deliveryTimeout)
	defer cancel()
	var since time.Time // time of the first attempt without a responder
	delivery := l.conn.outages.deliver(ctx, l.stream.Subject)
	defer delivery.end()
	msg, err := w.receive(l)
	for undelivered(err) {
		if errors.Is(err, nats.ErrNoResponders) && since.IsZero() {
			since = time.Now()
		}
		if !since.IsZero() && time.Since(since) >= responderTimeout {
			break
		}
		if err = delivery.wait(ctx, err); err != nil {
			break
		}
		msg, err = w.receive(l)
	}
	if err != nil {
		return Event{}, transportError(l.stream.Subject, err)
	}
	l.conn.outages.subject(l.stream.Subject).end()
	if msg == nil {
		return Event{}, nil
	}
	if isBusy(msg) && w.attempts <= maxBusyRetries {
		w.sent = false
		return Event{}, nil
	}
	return l.receive(msg)
}

func (live) next(l *listener) (Event, error) {
	if l.snapshot {
		return Event{}, errComplete
	}
	msg, err := l.nextMessage()
	if err != nil || msg == nil || isBusy(msg) { // busy: a copy of the request, which another worker has accepted
		return Event{}, err
	}
	return l.receive(msg)
}

func (r *replaying) next(l *listener) (Event, error) {
	e, ok, err := l.replay.Next(l.ctx)
	switch {
	case err != nil:
		return Event{}, transportError(l.run, err)
	case ok:
		return l.deliver(e)
	case r.beyond.Type != "":
		l.enter(live{})
		return l.deliver(r.beyond)
	case !r.worker:
		return r.complete(l)
	case l.last < r.target && l.recovery.replays < maxReplays: // the last events are not stored yet
		return Event{}, l.startReplay(l.ctx, Event{})
	}
	l.enter(live{})
	return Event{}, nil
}

func (ended) next(*listener) (Event, error) { return Event{}, errComplete }

// complete handles the end of a replay while no worker has the run. It returns an event that the worker
// published before it ended, ends the run if it is done or its worker is lost, and otherwise repeats the
// replay: the last events may not be stored yet, and the worker may have lost its connection and reconnect.
func (r *replaying) complete(l *listener) (Event, error) {
	exists := r.exists || l.replay.Found()
	switch {
	case l.replay.Done() || exists && l.last > sequenceLost:
		return Event{}, errComplete
	case !exists && (l.recovery.replays >= maxReplays || l.last >= sequenceLost):
		return Event{}, ErrNoRun
	case l.last == sequenceLost:
		l.enter(lost{})
		return Event{}, nil
	}
	if msg, err := l.sub.NextMsg(0); err == nil { // received, but not stored if the replay stream was lost
		return l.receive(msg)
	}
	if exists && time.Since(l.confirmed) >= streamHeartbeatTimeout {
		l.enter(lost{})
		return Event{}, nil
	}
	return Event{}, l.startReplay(l.ctx, Event{})
}

func (lost) next(l *listener) (Event, error) {
	if l.last >= sequenceLost {
		l.last = sequenceLost + 1
		l.enter(ended{})
		return Event{Type: schemas.EventDone, Sequence: l.last, Data: []byte("{}")}, nil
	}
	l.last = sequenceLost
	e := l.stream.mapError(schemas.ErrRunStopped.Because("its worker was lost"))
	data, err := json.Marshal(schemas.StreamError{Code: e.Code, Message: e.Message()})
	return Event{Type: schemas.EventError, Sequence: l.last, Data: data}, err
}

// known reports whether the run is known to exist.
func (l *listener) known() bool {
	switch s := l.state.(type) {
	case *replaying:
		return s.exists
	case live:
		return l.replay != nil
	default: // waiting: the caller may retry with a new run ID
		return false
	}
}

// interrupted reports whether the stream may continue at its worker after err.
func (l *listener) interrupted(err error) bool {
	switch l.state.(type) {
	case live, *replaying:
		e, ok := errors.AsType[*schemas.Error](err)
		return ok && (e.Status == schemas.ErrUnavailable.Status || e.Status == schemas.ErrTimeout.Status)
	default: // waiting: the caller may retry
		return errors.Is(err, errConnectionLost)
	}
}

// recoverable reports whether the listener can reattach to its run after err.
func (l *listener) recoverable(err error) bool {
	_, isWaiting := l.state.(*waiting)
	never := errors.Is(err, bucket.ErrNoStream) && !l.known()
	return l.replay != nil && !isWaiting && !never && l.ctx.Err() == nil && l.interrupted(err)
}

// reattach waits for a connection and replays the events after the last one. It retries for the
// grace period, counted from the first failure, and then returns the last error.
func (l *listener) reattach(err error) error {
	if l.recovery.failedAt.IsZero() {
		l.recovery.failedAt = time.Now()
	}
	ctx, cancel := context.WithDeadline(l.ctx, l.recovery.failedAt.Add(l.stream.Grace))
	defer cancel()
	for l.recoverable(err) {
		if retry.Sleep(ctx, replayInterval) != nil {
			return err
		}
		if l.conn.WaitConnected(ctx) != nil {
			return errConnectionLost
		}
		if l.armTimeouts(); errors.Is(err, errConnectionLost) { // the worker may have lost its connection too
			l.confirmed = time.Now()
		}
		l.recovery.replays = 0
		if next := l.startReplay(ctx, Event{}); ctx.Err() == nil || next == nil {
			err = next
		}
	}
	return err
}

// receive returns the event in a message, or an empty one for a heartbeat.
func (l *listener) receive(msg *nats.Msg) (Event, error) {
	if err := readError(msg); err != nil {
		l.enter(ended{})
		return Event{}, err
	}
	if err := l.accepted(msg.Reply, msg.Header.Get(HeaderBodySubject)); err != nil {
		return Event{}, err
	}
	if e, ok := l.event(msg); ok {
		return l.deliver(e)
	}
	sent, err := strconv.ParseUint(msg.Header.Get(HeaderSequence), 10, 64)
	if err != nil || sent <= l.last { // a third-party worker need not number its events
		return Event{}, nil
	}
	return Event{}, l.missed(Event{Sequence: sent + 1})
}

// event returns the event in msg; false for a heartbeat.
func (l *listener) event(msg *nats.Msg) (Event, bool) {
	kind := msg.Header.Get(HeaderEvent)
	if kind == "" {
		e, _, ok := replay.Parse(msg.Data)
		return e, ok
	}
	n, err := strconv.ParseUint(msg.Header.Get(HeaderSequence), 10, 64)
	if err != nil { // a third-party worker need not number its events
		n = l.last + 1
	}
	return Event{Type: kind, Sequence: n, Data: msg.Data}, true
}

// nextMessage returns the next message; nil if messages were dropped, in which case
// it starts a replay.
func (l *listener) nextMessage() (*nats.Msg, error) {
	l.timeout.Reset(streamHeartbeatTimeout)
	msg, err := l.sub.NextMsgWithContext(l.wait)
	l.timeout.Stop()
	switch {
	case err == nil:
		l.confirmed = time.Now()
		return msg, nil
	case undelivered(err): // the request reached no worker
		return nil, err
	case errors.Is(err, nats.ErrSlowConsumer) && l.replay != nil:
		return nil, l.startReplay(l.ctx, Event{})
	default:
		return nil, transportError(l.stream.Subject, cmp.Or(context.Cause(l.wait), err))
	}
}

// accepted enters the state live. It records the control subject of the worker that accepted the
// request, and uploads the remaining body to it.
func (l *listener) accepted(control, body string) error {
	if control == "" || l.control != "" {
		l.enter(live{})
		return nil
	}
	ofRun := func(subject, token string) bool { return l.replay != nil && subject == l.run+token }
	if !isInbox(control) && !ofRun(control, "") || body != "" && !isInbox(body) && !ofRun(body, bodyToken) {
		return schemas.ErrUnavailable.Because("invalid control subject of the worker: not an inbox")
	}
	l.control = control
	l.enter(live{})
	return l.upload(body)
}

// upload sends the remaining body to the subject in chunks, each when the worker has granted it. A
// worker that does not grant chunks has no such subject, and receives them on its control subject.
func (l *listener) upload(subject string) error {
	size := int(min(chunkSize, l.conn.nc.MaxPayload()-bucket.HeaderRoom))
	n := 0 // an empty chunk requests a grant for the first one
	if subject == "" {
		subject, n = l.control, min(size, len(l.body))
	}
	for len(l.body) > 0 {
		err := l.sendChunk(subject, l.body[:n])
		if undelivered(err) { // the stream has ended, and its last message contains the reason
			break
		}
		if err != nil {
			return transportError(l.stream.Subject, err)
		}
		l.body = l.body[n:]
		n = min(size, len(l.body))
	}
	l.body = nil // an empty slice would retain the body
	return nil
}

// sendChunk sends a chunk of a body to the subject. It returns when the worker has received the chunk
// and grants the next one.
func (l *listener) sendChunk(subject string, chunk []byte) error {
	bulk, err := l.conn.bulk()
	if err != nil {
		return err
	}
	lost := l.conn.requests.connContext()
	ctx, cancel := context.WithTimeout(l.ctx, 2*grantTimeout)
	defer cancel()
	defer context.AfterFunc(lost, cancel)()
	until := time.Now().Add(interestTimeout)
	retryable := func(err error) bool { return undelivered(err) && time.Now().Before(until) }
	err = retry.Do(ctx, retryable, func() error { _, err := bulk.nc.RequestWithContext(ctx, subject, chunk); return err })
	switch {
	case l.ctx.Err() != nil:
		return l.ctx.Err()
	case lost.Err() != nil:
		return errConnectionLost
	}
	return err
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
	if r, ok := l.state.(*replaying); ok {
		r.exists = true
	}
	if e.Type == schemas.EventDone {
		l.enter(ended{})
	}
	l.recovery = recovery{}
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
	// replayInterval is the delay between these replays, and lostInterval the delay between further
	// replays, which wait for the worker to reconnect.
	replayInterval = 50 * time.Millisecond
	lostInterval   = 500 * time.Millisecond
)

var errComplete = errors.New("stream complete") // ends a stream without an error: the client has the last event

// startReplay enters the state replaying, or live if no event is missing. The client receives the
// event beyond after the replay. startReplay first queries the worker, which stores all events
// that it has sent before it replies. After an error the state is unchanged.
func (l *listener) startReplay(ctx context.Context, beyond Event) error {
	interval := replayInterval
	if l.recovery.replays++; l.recovery.replays > maxReplays {
		interval = lostInterval
	}
	if l.recovery.replays > 1 {
		_ = retry.Sleep(ctx, interval) // query returns the error of ctx
	}
	last, running, err := query(ctx, l.conn, l.run, nats.Header{HeaderRead: {strconv.FormatUint(l.last, 10)}})
	switch {
	case err != nil:
		return err
	case running && l.last > last:
		return schemas.ErrMalformed.Because(fmt.Sprintf("event %d does not exist yet; the last one is %d", l.last, last))
	case running && l.last == last:
		l.enter(live{})
		return nil
	}
	if r, ok := l.state.(*replaying); running && ok && !r.worker { // the worker has reconnected
		l.recovery.replays = 1
	}
	l.enter(&replaying{exists: running || l.known(), worker: running, target: last, beyond: beyond})
	l.replay.Restart()
	return nil
}

// missed starts a replay for the gap before e, which may be empty except for its sequence.
func (l *listener) missed(e Event) error {
	if _, ok := l.state.(*replaying); ok {
		return schemas.ErrRunNotFound.Because(fmt.Sprintf("events %d to %d are no longer retained for replay", l.last+1,
			e.Sequence-1))
	}
	if l.replay == nil || l.recovery.replays >= maxReplays {
		return schemas.ErrUnavailable.Because("events were lost")
	}
	return l.startReplay(l.ctx, e)
}

// query sends the header to the worker of a run and returns the sequence of its last
// event; running reports whether a worker has the run.
func query(ctx context.Context, c *Conn, control string, header nats.Header) (last uint64, running bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	msg := &nats.Msg{Subject: control, Header: header}
	for {
		attempt, cancel := context.WithTimeout(ctx, queryTimeout)
		reply, err := c.nc.RequestMsgWithContext(attempt, msg)
		cancel()
		retryable := undelivered(err) || errors.Is(err, context.DeadlineExceeded) // a query is idempotent
		switch {
		case err == nil:
			last, err = strconv.ParseUint(string(reply.Data), 10, 64)
			return last, true, err
		case errors.Is(err, nats.ErrNoResponders):
			return 0, false, nil
		case !retryable || c.WaitConnected(ctx) != nil || ctx.Err() != nil:
			return 0, false, transportError(control, err)
		}
	}
}

// queryTimeout bounds one attempt of a query. If the connection of the worker was lost before the
// message arrived, the next attempt finds no responders.
const queryTimeout = time.Second
