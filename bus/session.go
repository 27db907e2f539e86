package bus

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/bus/admission"
	"cairn/bus/overload"
	"cairn/bus/replay"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Sender sends the events of one stream. It may be used concurrently.
type Sender interface {
	// Send sends data as JSON. With flow control it waits for the client, at most
	// 10 seconds.
	Send(event string, data any) error
	// Continue lets the stream continue without a client until it is canceled.
	Continue()
}

// Serve answers the stream's requests with handle until svc stops. handle's ctx ends
// with the request's timeout, on cancellation, and when the client disconnects. If
// handle returns nil, the stream ends with done; if it fails before the first event,
// the error is the whole reply; later, the stream ends with an error event and done.
func (s Stream[Req]) Serve(svc *Service, handle func(context.Context, Req, Sender) error) error {
	return s.ServeBody(svc, func(ctx context.Context, body []byte, to Sender) error {
		req, err := schemas.Decode[Req](body, s.Invalid)
		if err == nil {
			err = Identity(ctx).AuthorizeTenant(s.Permission, &req)
		}
		if err != nil {
			return err
		}
		return handle(ctx, req, to)
	})
}

// ServeBody is like Serve, but for a handle that decodes the request itself.
func (s Stream[Req]) ServeBody(svc *Service, handle func(context.Context, []byte, Sender) error) error {
	runs := &runLimit{limit: s.Runs, runs: map[string]int{}}
	share := admission.NewPool(replay.WorkerBytes)
	ofRun := func(reply string) bool {
		_, ok := s.runOf(reply)
		return ok
	}
	return svc.add(endpoint{
		subject: s.Subject, summary: s.Summary, request: reflect.TypeFor[Req](),
		timeout: s.Timeout, mapError: s.mapError, permission: s.Permission, gate: svc.gate, events: ofRun,
	}, func(ctx context.Context, r request) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		w := s.session(ctx, svc, r, share, cancel)
		defer w.close()
		err := r.denied
		if err == nil {
			var release func()
			if release, err = runs.acquire(r.by); err == nil {
				defer release()
			}
		}
		if err == nil {
			err = w.announced(r.Header.Get(HeaderBodySize), s.MaxBody)
		}
		if err == nil && s.Admit != nil {
			var release func()
			if ctx, release, err = s.Admit(ctx, max(w.size, len(w.body))); err != nil {
				err = fmt.Errorf("%w: %w", errFull, err)
			} else {
				defer release()
			}
		}
		if err == nil {
			err = w.open()
		}
		if err == nil {
			err = w.work(ctx, r.slot, handle)
		}
		if errors.Is(context.Cause(ctx), errDisconnected) {
			telemetry.Failed(ctx, telemetry.StatusDisconnected, "")
			return // the client has disconnected
		}
		s.end(ctx, svc, r, w, err)
	})
}

// work calls handle when the body has arrived and the slot may run, while it sends
// heartbeats.
func (w *session) work(ctx context.Context, slot *overload.Slot, handle func(context.Context, []byte, Sender) error) (err error) {
	w.beats.start(streamHeartbeatInterval, w.beat)
	defer func() {
		if p := recover(); p != nil {
			err = Recovered(p)
		}
	}()
	if err := w.arrived(ctx); err != nil {
		return err
	}
	if w.replay != nil {
		w.replay.AwaitStored() // the run is known before a client receives an event
	}
	if !slot.Start(ctx) {
		return context.Cause(ctx)
	}
	return handle(ctx, w.take(), w)
}

// errFull marks the refusal of a request that another worker may admit.
var errFull = errors.New("not admitted by this worker")

// end ends the stream with done, or with err.
func (s Stream[Req]) end(ctx context.Context, svc *Service, r request, w *session, err error) {
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // the failure follows from the cancellation
	}
	switch {
	case err == nil:
		err = w.send(schemas.EventDone, schemas.Nothing{})
	case !w.began():
		header := nats.Header{}
		if errors.Is(err, errFull) {
			header.Set(HeaderBusy, "1") // the client tries another worker
		} else {
			w.beats.stop()                // a heartbeat would announce the stored events, and the client would read them
			w.storeError(s.mapError(err)) // before the client receives the error and resumes
		}
		svc.refuse(ctx, r.Msg, s.mapError(err), err, header)
		return
	default:
		e := svc.report(ctx, s.Subject, s.mapError(err), err, false)
		err = errors.Join(
			w.send(schemas.EventError, schemas.StreamError{Code: e.Code, Message: e.Message()}),
			w.send(schemas.EventDone, schemas.Nothing{}))
	}
	if err != nil {
		svc.log.WarnContext(ctx, "stream not ended", "subject", s.Subject, "err", err)
	}
}

// session is the worker's side of one stream.
type session struct {
	conn    *Conn
	reply   string         // subject of the events
	control string         // subject for chunks of the body, acknowledgements and cancel
	replay  *replay.Writer // nil: not a run
	sub     *nats.Subscription
	beats   heartbeat
	chunks  *nats.Subscription // for chunks of the body; nil: none
	ctx     context.Context
	cancel  context.CancelCauseFunc
	upload
	flow

	mu         sync.Mutex
	sequence   uint64
	grace      time.Duration // without a client
	graceTimer *time.Timer   // of the grace period; nil: a client is connected
	missedAt   time.Time     // time of the last heartbeat without a subscriber
}

func (s Stream[Req]) session(ctx context.Context, svc *Service, r request, share *admission.Pool, cancel context.CancelCauseFunc) *session {
	c := svc.conn
	w := &session{
		conn: c, reply: r.Reply, control: c.nc.NewInbox(), ctx: ctx, cancel: cancel,
		upload: upload{
			budget: svc.uploads, tenant: ShareKey(r.by, nil), body: r.Data, came: make(chan struct{}, 1), whole: make(chan struct{}),
		},
		flow: newFlow(r.Header.Get(HeaderWindow)),
	}
	if run, ok := s.runOf(r.Reply); ok {
		w.replay = replay.NewWriter(svc.ctx, c.js, s.ReplayStream(), run+replayToken, ShareKey(r.by, nil), share, svc.log)
		w.control, w.grace = run, s.Grace
	}
	return w
}

// open subscribes to the control subject, announces it in a heartbeat, and stores that a run
// has started.
func (w *session) open() (err error) {
	if w.sub, err = w.conn.nc.Subscribe(w.control, w.receive); err != nil {
		return err
	}
	if w.size > 0 {
		if err := w.openBody(); err != nil {
			return err
		}
	}
	if w.replay != nil {
		w.replay.Begin()
	}
	return w.heartbeat()
}

// openBody subscribes to chunks of the body.
func (w *session) openBody() error {
	bulk, err := w.conn.bulk()
	if err != nil {
		return err
	}
	subject := bulk.NewInbox()
	if w.replay != nil {
		subject = w.control + bodyToken
	}
	if w.chunks, err = bulk.Subscribe(subject, w.receiveChunk); err != nil {
		return err
	}
	return bulk.FlushTimeout(time.Second) // the heartbeat that names the subject is sent over another connection
}

// receiveChunk handles a chunk of the body, and grants the next one.
func (w *session) receiveChunk(msg *nats.Msg) {
	respond := func(err error) {
		if err != nil {
			w.cancel(err)
		}
		if isInbox(msg.Reply) {
			_ = msg.Respond(nil) // the client fails without it
		}
	}
	if err := w.chunk(msg.Data); err != nil {
		respond(err)
		return
	}
	w.grant(w.ctx, respond)
}

// importPrefix is the prefix of the reply subjects of clients in other NATS accounts, for which
// an empty message would end a stream of responses (nats-server, client.go).
const importPrefix = "_R_."

// heartbeat publishes a heartbeat with the sequence of the last event. If the reply
// subject has no subscriber, the server reports that on the control subject. The caller
// holds w.mu once events may be sent.
func (w *session) heartbeat() error {
	msg := &nats.Msg{Subject: w.reply, Reply: w.control, Header: nats.Header{HeaderSequence: {strconv.FormatUint(w.sequence, 10)}}}
	if w.chunks != nil {
		msg.Header.Set(HeaderBodySubject, w.chunks.Subject)
	}
	if strings.HasPrefix(w.reply, importPrefix) {
		msg.Data = []byte(":")
	}
	return w.conn.nc.PublishMsg(msg)
}

// receive handles a message of a client, or the server's no-responders status.
func (w *session) receive(msg *nats.Msg) {
	read, err := strconv.ParseUint(msg.Header.Get(HeaderRead), 10, 64)
	switch {
	case noResponders(msg):
		w.disconnected()
		return
	case msg.Header.Get(HeaderCancel) != "":
		w.cancel(schemas.ErrRunStopped.Because("on request"))
	case err == nil:
		w.connected()
		w.acknowledge(min(read, w.sent()))
		if w.replay != nil {
			w.replay.AfterStored(func() { w.respond(msg.Reply) })
			return
		}
	}
	w.respond(msg.Reply)
}

// respond replies to a message of a client with the sequence of the last event.
func (w *session) respond(reply string) {
	if isInbox(reply) {
		last := strconv.FormatUint(w.sent(), 10)
		_ = w.conn.nc.Publish(reply, []byte(last)) // the client retries
	}
}

func noResponders(msg *nats.Msg) bool {
	return len(msg.Data) == 0 && msg.Header.Get("Status") == "503"
}

// beat sends a heartbeat, and stores the events.
func (w *session) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.heartbeat() // the client detects missing heartbeats
	if w.replay != nil {
		w.replay.Store()
	}
}

// Send implements Sender.
func (w *session) Send(event string, data any) error {
	if sent := w.sent(); !w.flow.open(sent) {
		if err := overload.Idle(w.ctx, func() error { return w.admit(w.ctx, sent) }); err != nil {
			return err
		}
	}
	if w.replay != nil && w.replay.Full() {
		if err := overload.Idle(w.ctx, func() error { return w.replay.Wait(w.ctx) }); err != nil {
			return err
		}
	}
	return w.send(event, data)
}

// send is Send without flow control: a stream ends whether it is read or not.
func (w *session) send(event string, data any) error {
	body, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode %s event: %w", event, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := Event{Type: event, Sequence: w.sequence + 1, Data: body}
	if err := w.publish(e); err != nil {
		return fmt.Errorf("send %s event of %d bytes: %w", event, len(body), err)
	}
	if w.sequence++; w.sequence == 1 { // an event that was not sent leaves no gap
		telemetry.FirstEvent(w.ctx)
	}
	return nil
}

// publish sends the event: as text for a run, and otherwise with headers, which any
// NATS client can read.
func (w *session) publish(e Event) error {
	if w.replay != nil {
		_ = w.conn.nc.Publish(w.reply, w.replay.Add(e)) // a client detects the gap and reads the event from the replay stream
		return nil
	}
	msg := nats.NewMsg(w.reply)
	msg.Data = e.Data
	msg.Header.Set(HeaderEvent, e.Type)
	msg.Header.Set(HeaderSequence, strconv.FormatUint(e.Sequence, 10))
	return w.conn.nc.PublishMsg(msg)
}

func (w *session) began() bool { return w.sent() > 0 }

// sent returns how many events were sent.
func (w *session) sent() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sequence
}

func (w *session) close() {
	w.beats.stop()
	if w.chunks != nil {
		_ = w.chunks.Unsubscribe() // fails only on a closed connection
	}
	w.cancel(nil)
	w.granting.Wait()
	w.revoke()
	if w.replay != nil {
		_ = overload.Idle(w.ctx, func() error { w.replay.Close(); return nil }) // the handler has returned
	}
	switch {
	case w.sub == nil:
	case w.conn.Connected():
		_ = w.sub.Drain() // answers queries that have arrived; fails only on a closed connection
	default:
		_ = w.sub.Unsubscribe() // Drain would wait for the reconnect
	}
	w.connected() // stops the grace period
}

// errDisconnected is the cause of cancellation when the client has disconnected.
var errDisconnected = errors.New("the client has disconnected")

// Continue implements Sender.
func (w *session) Continue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.persistent.Store(true)
	w.stopGrace()
}

// stopGrace ends the grace period. The caller holds w.mu.
func (w *session) stopGrace() {
	if w.graceTimer != nil {
		w.graceTimer.Stop()
		w.graceTimer = nil
	}
}

// disconnected handles the report of the server that the reply subject has no
// subscriber. It disables flow control and cancels the stream; a run is canceled after
// the grace period, or continues if the handler called Continue.
func (w *session) disconnected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.persistent.Load():
	case w.replay == nil:
		w.cancel(errDisconnected)
	case w.graceTimer == nil:
		w.graceTimer = time.AfterFunc(w.grace, w.expire)
	}
	w.missedAt = time.Now()
	w.detached.Store(true)
	w.wake()
}

// expire cancels the run after the grace period, unless a recent heartbeat reached
// a subscriber: one that follows the run without acknowledging events.
func (w *session) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.graceTimer = nil
	if !w.persistent.Load() && time.Since(w.missedAt) < 2*streamHeartbeatInterval {
		w.cancel(schemas.ErrRunStopped.Because(fmt.Sprintf("no client was connected for %v", w.grace)))
	}
}

// connected records that a client follows the stream.
func (w *session) connected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.detached.Store(false)
	w.stopGrace()
}

// storeError stores the error of a run without events, for clients that resume it.
func (w *session) storeError(e *schemas.Error) {
	last, err := json.Marshal(schemas.StreamError{Code: e.Code, Message: e.Message()})
	if err != nil || w.replay == nil {
		return
	}
	w.mu.Lock()
	w.sequence = 2
	w.mu.Unlock()
	w.replay.Add(Event{Type: schemas.EventError, Sequence: 1, Data: last})
	w.replay.Add(Event{Type: schemas.EventDone, Sequence: 2, Data: []byte("{}")})
	w.replay.AwaitStored()
}
