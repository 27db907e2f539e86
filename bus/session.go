package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/bus/admission"
	"cairn/bus/replay"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Sender sends the events of one stream. It may be used concurrently.
type Sender interface {
	// Send sends data as JSON. With flow control it waits for the client, at most 10 seconds.
	Send(event string, data any) error
	// Persist lets the stream continue without a client until it ends or is canceled.
	Persist()
	// Begin starts to store the run, without waiting, once its request is valid. An error before it is not stored.
	Begin()
	// Run returns the name of the run; empty: the stream cannot be resumed.
	Run() string
}

// streamServer answers the requests of a stream at a worker.
type streamServer struct {
	service   *Service
	responder *responder
	stream    Stream[any]
	runs      *admission.Limit // streams in progress of a credential
	share     *admission.Pool  // bytes of events in the replay stream
	handle    func(context.Context, []byte, Sender) error
}

// session is the worker's side of one stream.
type session struct {
	*streamServer
	conn       *Conn
	request    *request       // its reply subject receives the events
	control    string         // subject for acknowledgements and cancel
	replay     *replay.Writer // nil: not a run
	sub        *nats.Subscription
	heartbeats heartbeat
	chunks     *nats.Subscription // for chunks of the body; nil: none
	ctx        context.Context
	cancel     context.CancelCauseFunc
	upload     upload
	flow       flow
	begun      bool // Begin was called

	mu         sync.Mutex
	sequence   uint64
	graceTimer *time.Timer // ends the grace period; nil: a client is connected
	missedAt   time.Time   // time of the last heartbeat without a subscriber
}

// serveSession answers a request. The session cancels its context when it ends.
func (s *streamServer) serveSession(ctx context.Context, r *request) {
	c, tenant := s.service.conn, AdmissionKey(r.caller, nil)
	w := &session{
		streamServer: s, conn: c, request: r, control: c.nc.NewInbox(),
		upload: upload{budget: s.service.uploads, tenant: tenant, body: r.Data, whole: make(chan struct{})},
		flow:   newFlow(r.Header.Get(HeaderWindow)),
	}
	w.ctx, w.cancel = context.WithCancelCause(admission.WithTenant(ctx, r.tenant))
	if run, ok := s.stream.runOf(r.Reply); ok {
		w.control = run
		w.replay = replay.NewWriter(s.service.ctx, c.js, replay.Target{
			Location: s.stream.location(run), Tenant: tenant, Share: s.share, Log: s.service.log,
		})
	}
	w.serve()
}

func (w *session) serve() {
	defer w.close()
	ctx, release, err := w.admitted()
	defer release()
	if err == nil {
		err = w.open()
	}
	if err == nil {
		err = w.work(ctx)
	}
	if errors.Is(context.Cause(w.ctx), errDisconnected) {
		telemetry.Failed(w.ctx, telemetry.StatusDisconnected, "")
		return
	}
	w.end(err)
}

// admitted returns the context for the handler, or an error if the request is not admitted. The
// caller calls release in both cases.
func (w *session) admitted() (_ context.Context, release func(), err error) {
	uncount := func() {}
	if err = w.request.denied; err == nil {
		uncount, err = w.countRun()
	}
	if err == nil {
		err = w.upload.setSize(w.request.Header.Get(HeaderBodySize), w.stream.MaxBody)
	}
	if err != nil || w.stream.Admit == nil {
		return w.ctx, uncount, err
	}
	ctx, free, err := w.stream.Admit(w.ctx, max(w.upload.size, len(w.upload.body)))
	if err != nil {
		return w.ctx, uncount, fmt.Errorf("%w: %w", errFull, err)
	}
	return ctx, func() { free(); uncount() }, nil
}

// work sends heartbeats, waits for the body, and calls the handler.
func (w *session) work(ctx context.Context) (err error) {
	w.heartbeats.start(streamHeartbeatInterval, w.onHeartbeat)
	defer func() {
		if p := recover(); p != nil {
			err = Recovered(p)
		}
	}()
	if err := w.upload.wait(ctx); err != nil {
		return err
	}
	body := w.upload.body
	w.upload.body, w.request.Data = nil, nil // the body can be freed while the answer is streamed
	return w.handle(ctx, body, w)
}

// end ends the stream with done, or with err.
func (w *session) end(err error) {
	if err != nil && w.ctx.Err() != nil {
		err = context.Cause(w.ctx) // the cancellation has caused err
	}
	switch {
	case err == nil:
		err = w.send(schemas.EventDone, schemas.Nothing{})
	case w.sent() == 0:
		if !errors.Is(err, errFull) { // else the client tries another worker
			// a heartbeat would announce the stored events, and the client would read them
			w.heartbeats.stop()
			w.storeError(w.responder.mapError(err)) // before the client receives the error and resumes
		}
		w.responder.fail(w.ctx, w.request.Msg, err)
		return
	default:
		e := w.responder.report(w.ctx, w.responder.mapError(err), err, false)
		err = errors.Join(
			w.send(schemas.EventError, schemas.StreamError{Code: e.Code, Message: e.Message()}),
			w.send(schemas.EventDone, schemas.Nothing{}))
	}
	if err != nil {
		w.responder.log.WarnContext(w.ctx, "stream not ended", "subject", w.responder.Subject, "err", err)
	}
}

// open subscribes to the control subject, and announces it in a heartbeat.
func (w *session) open() (err error) {
	if w.sub, err = w.conn.nc.Subscribe(w.control, w.receive); err != nil {
		return err
	}
	if w.upload.size > 0 {
		if err := w.openBody(); err != nil {
			return err
		}
	}
	return w.sendHeartbeat()
}

// openBody subscribes to chunks of the body.
func (w *session) openBody() error {
	bulk, err := w.conn.bulk()
	if err != nil {
		return err
	}
	subject := bulk.nc.NewInbox()
	if w.replay != nil {
		subject = w.control + bodyToken
	}
	w.upload.timeout = time.AfterFunc(grantTimeout+chunkTimeout, func() {
		w.cancel(schemas.ErrTimeout.Because("no chunk of the body arrived in time"))
	})
	if w.chunks, err = bulk.nc.Subscribe(subject, w.receiveChunk); err != nil {
		return err
	}
	// A client that ignores grants can send its body once; the subscription drops further chunks.
	if err := w.chunks.SetPendingLimits(-1, w.upload.size+chunkSize); err != nil {
		return err
	}
	// The heartbeat with the subject is sent over another connection.
	return bulk.nc.FlushTimeout(time.Second)
}

// receiveChunk handles a chunk of the body, and grants the next one.
func (w *session) receiveChunk(msg *nats.Msg) {
	if err := w.upload.receive(w.ctx, msg.Data); err != nil {
		w.cancel(err)
	}
	if isInbox(msg.Reply) {
		_ = msg.Respond(nil) // the client fails without it
	}
}

// sendHeartbeat publishes a heartbeat with the sequence of the last event. If the reply
// subject has no subscriber, the server reports that on the control subject. The caller
// holds w.mu once events may be sent.
func (w *session) sendHeartbeat() error {
	msg := &nats.Msg{Subject: w.request.Reply, Reply: w.control,
		Header: nats.Header{HeaderSequence: {strconv.FormatUint(w.sequence, 10)}}}
	if w.chunks != nil {
		msg.Header.Set(HeaderBodySubject, w.chunks.Subject)
	}
	if strings.HasPrefix(w.request.Reply, importPrefix) {
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
		w.flow.acknowledge(min(read, w.sent()))
		if w.replay != nil && msg.Reply != "" {
			w.replay.AfterStored(func() { w.sendPosition(msg.Reply) })
			return
		}
	}
	w.sendPosition(msg.Reply)
}

// sendPosition replies to a message of a client with the sequence of the last event.
func (w *session) sendPosition(reply string) {
	if isInbox(reply) {
		last := strconv.FormatUint(w.sent(), 10)
		_ = w.conn.nc.Publish(reply, []byte(last)) // the client retries
	}
}

// onHeartbeat sends a heartbeat, and starts to store the events.
func (w *session) onHeartbeat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.sendHeartbeat() // the client detects missing heartbeats
	if w.replay != nil {
		w.replay.Store()
	}
}

func (w *session) Send(event string, data any) error {
	if sent := w.sent(); !w.flow.open(sent) {
		if err := w.flow.wait(w.ctx, sent); err != nil {
			return err
		}
	}
	if w.replay != nil && w.replay.Full() {
		if err := w.replay.Wait(w.ctx); err != nil {
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
	if w.sequence++; w.sequence == 1 { // after publish, so that a failed event leaves no gap
		telemetry.FirstEvent(w.ctx)
	}
	return nil
}

// publish sends the event: encoded as for the replay stream if it belongs to a run, and otherwise
// with headers, so that any NATS client can read it.
func (w *session) publish(e Event) error {
	if w.replay != nil {
		// If this fails, the client detects a gap and reads the event from the replay stream.
		_ = w.conn.nc.Publish(w.request.Reply, w.replay.Add(e))
		return nil
	}
	msg := nats.NewMsg(w.request.Reply)
	msg.Data = e.Data
	msg.Header.Set(HeaderEvent, e.Type)
	msg.Header.Set(HeaderSequence, strconv.FormatUint(e.Sequence, 10))
	return w.conn.nc.PublishMsg(msg)
}

func (w *session) sent() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sequence
}

func (w *session) close() {
	w.heartbeats.stop()
	if w.chunks != nil {
		_ = w.chunks.Unsubscribe() // fails only on a closed connection
	}
	w.cancel(nil)
	w.upload.close()
	if w.replay != nil {
		w.replay.Close() // the handler has returned
	}
	switch {
	case w.sub == nil:
	case w.conn.Connected():
		_ = w.sub.Drain() // handles pending messages of clients; fails only on a closed connection
	default:
		_ = w.sub.Unsubscribe() // Drain would wait for the reconnect
	}
	w.connected() // stops the grace timer
}

var errDisconnected = fmt.Errorf("the client has disconnected: %w", schemas.ErrRunStopped) // cause of a cancellation

func (w *session) Persist() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flow.persistent.Store(true)
	w.stopGrace()
}

func (w *session) Begin() {
	w.begun = true
	if w.replay != nil {
		w.replay.Begin()
	}
}

func (w *session) Run() string {
	if w.replay == nil {
		return ""
	}
	return strings.TrimPrefix(w.control, w.stream.Subject+".")
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
// the grace period, or continues if the handler called Persist.
func (w *session) disconnected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.flow.persistent.Load():
	case w.replay == nil:
		w.cancel(errDisconnected)
	case w.graceTimer == nil:
		w.graceTimer = time.AfterFunc(w.stream.Grace, w.expire)
	}
	w.missedAt = time.Now()
	w.flow.detached.Store(true)
	w.flow.wake()
}

// expire cancels the run after the grace period, unless a recent heartbeat has reached a subscriber:
// a client that reads the run without acknowledging events.
func (w *session) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.graceTimer = nil
	if !w.flow.persistent.Load() && time.Since(w.missedAt) < 2*streamHeartbeatInterval {
		w.cancel(schemas.ErrRunStopped.Because(fmt.Sprintf("no client was connected for %v", w.stream.Grace)))
	}
}

// connected records that a client reads the stream. It ends the grace period.
func (w *session) connected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flow.detached.Store(false)
	w.stopGrace()
}

// storeError stores the error of a run without events, for clients that resume it. A run that has not begun
// is not stored.
func (w *session) storeError(e *schemas.Error) {
	last, err := json.Marshal(schemas.StreamError{Code: e.Code, Message: e.Message()})
	if err != nil || w.replay == nil || !w.begun {
		return
	}
	w.mu.Lock()
	w.sequence = 2
	w.mu.Unlock()
	w.replay.Add(Event{Type: schemas.EventError, Sequence: 1, Data: last})
	w.replay.Add(Event{Type: schemas.EventDone, Sequence: 2, Data: []byte("{}")})
	w.replay.WaitStored()
}

const stallTimeout = 10 * time.Second // of the wait for an acknowledgement of a slow client

// flow is the worker's flow control: a window of events that the client grants.
type flow struct {
	window     uint64        // in events; 0: the client uses no flow control
	read       atomic.Uint64 // last acknowledged event
	detached   atomic.Bool   // no client is attached: flow control is off
	persistent atomic.Bool   // the run continues without a client
	moved      chan struct{} // signalled when read or detached changes
}

func newFlow(header string) flow {
	window, _ := strconv.ParseUint(header, 10, 64) // absent: 0
	return flow{window: window, moved: make(chan struct{}, 1)}
}

// acknowledge records that a client has read the events up to n. With several clients,
// the highest n applies. It must not be called concurrently.
func (f *flow) acknowledge(n uint64) {
	f.read.Store(max(n, f.read.Load()))
	f.wake()
}

// wake signals one pending wait.
func (f *flow) wake() {
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// wait waits until the window has room for another event after those sent.
func (f *flow) wait(ctx context.Context, sent uint64) error {
	timer := time.NewTimer(stallTimeout)
	defer timer.Stop()
	for !f.open(sent) {
		select {
		case <-f.moved:
			timer.Reset(stallTimeout)
		case <-timer.C:
			if f.persistent.Load() {
				f.detached.Store(true)
				continue
			}
			return schemas.ErrUnavailable.Because("the client does not read the stream")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	f.wake() // another wait may be pending
	return nil
}

// open reports whether the window has room for another event after those sent.
func (f *flow) open(sent uint64) bool {
	return f.window == 0 || f.detached.Load() || sent < f.read.Load()+f.window
}

// countRun counts the stream against the limit of the credential at this worker, until release is
// called: when the handler has returned, with or without a connected client. The error is
// schemas.ErrTooManyRequests. Callers without authentication are not limited.
func (w *session) countRun() (release func(), err error) {
	if w.request.caller == nil {
		return func() {}, nil
	}
	release, ok := w.runs.Acquire(w.request.caller.ID)
	if !ok {
		reason := fmt.Sprintf("the credential has %d streams in progress, its limit at a worker", w.stream.Runs)
		return func() {}, schemas.ErrTooManyRequests.Because(reason)
	}
	return release, nil
}
