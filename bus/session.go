package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Sender sends the events of one stream. It may be used concurrently.
type Sender interface {
	// Send sends data as JSON. It waits for a caller that is too far behind and
	// wants that, for 10 seconds at most.
	Send(event string, data any) error
	// Continue has the stream go on when nobody listens, until it is cancelled.
	Continue()
}

// Serve answers the stream's requests with handle until svc stops. handle's
// ctx ends with the caller's patience or interest. What handle returns ends
// the stream: nil with done, an error before the first event with the error
// alone, a later one with an error event and done.
func (s Stream[Req]) Serve(svc *Service, handle func(context.Context, Req, Sender) error) error {
	return s.ServeBody(svc, func(ctx context.Context, body []byte, to Sender) error {
		req, err := schemas.Decode[Req](body, s.Invalid)
		if err != nil {
			return err
		}
		return handle(ctx, req, to)
	})
}

// ServeBody is Serve for a handle that reads the request itself.
func (s Stream[Req]) ServeBody(svc *Service, handle func(context.Context, []byte, Sender) error) error {
	runs := &runLimit{limit: s.Runs, runs: map[string]int{}}
	ofRun := func(reply string) bool {
		_, ok := s.runOf(reply)
		return ok
	}
	return svc.add(endpoint{s.Subject, s.Timeout, s.row, s.Permission, svc.gate, ofRun}, func(ctx context.Context, r request) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		w := s.session(ctx, svc.conn, r, cancel)
		defer w.close()
		err := r.denied
		if err == nil {
			var release func()
			if release, err = runs.acquire(r.by); err == nil {
				defer release()
			}
		}
		if err == nil {
			err = w.announced(r.Headers().Get(HeaderBodySize), s.MaxBody)
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
			err = w.work(ctx, handle)
		}
		if errors.Is(context.Cause(ctx), errLeft) {
			telemetry.Failed(ctx, telemetry.StatusLeft, "")
			return // nobody could read the end
		}
		s.end(ctx, svc, r, w, err)
	})
}

// work handles the request, with a sign of life now and then.
func (w *session) work(ctx context.Context, handle func(context.Context, []byte, Sender) error) (err error) {
	w.mu.Lock()
	w.beats = time.AfterFunc(heartbeat, w.beat)
	w.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = Recovered(p)
		}
	}()
	if err := w.arrived(ctx); err != nil {
		return err
	}
	return handle(ctx, w.take(), w)
}

// errFull marks the refusal of a request that another worker may admit.
var errFull = errors.New("not admitted by this worker")

// end says how the stream ended.
func (s Stream[Req]) end(ctx context.Context, svc *Service, r micro.Request, w *session, err error) {
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // whatever failed, it failed because of this
	}
	switch {
	case err == nil:
		err = w.send(schemas.EventDone, schemas.Nothing{})
	case !w.began():
		w.refused(s.row(err)) // before the caller learns of it, and comes back
		header := nats.Header{}
		if errors.Is(err, errFull) {
			header.Set(HeaderBusy, "1")
		}
		svc.refuse(ctx, r, s.row(err), err, header)
		return
	default:
		e := svc.report(ctx, s.Subject, s.row(err), err, false)
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
	reply   string // where the events go
	control string // where the caller answers: chunks of the body, how far it has read, and cancel
	isRun   bool
	largest int // message that the server takes, without headers
	sub     *nats.Subscription
	ctx     context.Context
	cancel  context.CancelCauseFunc
	upload
	flow

	mu       sync.Mutex
	sequence uint64
	keeping  []byte        // events of a run that are to be kept
	beats    *time.Timer   // signs of life; nil: no more
	patience time.Duration // when nobody listens
	leaving  *time.Timer   // runs while nobody does
	missed   time.Time     // the last sign of life that nobody heard
}

func (s Stream[Req]) session(ctx context.Context, c *Conn, r micro.Request, cancel context.CancelCauseFunc) *session {
	w := &session{
		conn: c, reply: r.Reply(), control: c.nc.NewInbox(), largest: int(c.nc.MaxPayload() - headerRoom), ctx: ctx, cancel: cancel,
		upload: newUpload(r.Data()), flow: newFlow(r.Headers().Get(HeaderWindow)),
	}
	if run, ok := s.runOf(r.Reply()); ok {
		w.isRun, w.control, w.patience = true, run, s.Grace
	}
	return w
}

// open shows the caller where to answer.
func (w *session) open() (err error) {
	if w.sub, err = w.conn.nc.Subscribe(w.control, w.told); err != nil {
		return err
	}
	return w.show()
}

// elsewhere begins the reply subjects of callers in other accounts of NATS, to
// whom an empty message ends a stream of responses (nats-server, client.go).
const elsewhere = "_R_."

// show gives a sign of life. When nobody listens, the server says so on the
// control subject.
func (w *session) show() error {
	sign := &nats.Msg{Subject: w.reply, Reply: w.control}
	if strings.HasPrefix(w.reply, elsewhere) {
		sign.Data = []byte(":")
	}
	return w.conn.nc.PublishMsg(sign)
}

// told takes a message of a caller, or the server's word that there is none.
func (w *session) told(msg *nats.Msg) {
	read, err := strconv.ParseUint(msg.Header.Get(HeaderRead), 10, 64)
	switch {
	case noResponders(msg):
		w.left()
		return
	case msg.Header.Get(HeaderCancel) != "":
		w.cancel(schemas.ErrRunStopped.Because("on request"))
	case err == nil:
		w.returned()
		w.caughtUp(min(read, w.sent()))
		w.flush()
	default:
		if err := w.chunk(msg.Data); err != nil {
			w.cancel(err)
		}
	}
	if isInbox(msg.Reply) {
		said := strconv.FormatUint(w.sent(), 10)
		_ = w.conn.nc.Publish(msg.Reply, []byte(said)) // who asked and is not told asks again
	}
}

func noResponders(msg *nats.Msg) bool {
	return len(msg.Data) == 0 && msg.Header.Get("Status") == "503"
}

// beat shows the caller a sign of life, now and again.
func (w *session) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.beats == nil {
		return
	}
	_ = w.show() // a caller that misses it notices
	w.keep()
	w.beats.Reset(heartbeat)
}

// still ends the signs of life.
func (w *session) still() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.beats != nil {
		w.beats.Stop()
		w.beats = nil
	}
}

// Send implements Sender.
func (w *session) Send(event string, data any) error {
	if err := w.admit(w.ctx, w.sent()); err != nil {
		return err
	}
	return w.send(event, data)
}

// send does not wait: a stream ends whether it is read or not.
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
	if w.sequence++; w.sequence == 1 { // one that was not sent leaves no gap
		telemetry.FirstEvent(w.ctx)
	}
	return nil
}

// publish sends the event: as text when it is of a run, else under headers,
// which any client can read.
func (w *session) publish(e Event) error {
	if w.isRun {
		return w.publishFrame(e)
	}
	msg := nats.NewMsg(w.reply)
	msg.Data = e.Data
	msg.Header.Set(HeaderEvent, e.Type)
	msg.Header.Set(HeaderSequence, strconv.FormatUint(e.Sequence, 10))
	return w.conn.nc.PublishMsg(msg)
}

func (w *session) began() bool { return w.sent() > 0 }

// sent is how many events there were.
func (w *session) sent() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sequence
}

func (w *session) close() {
	w.still()
	w.flush()
	switch {
	case w.sub == nil:
	case w.conn.Connected():
		_ = w.sub.Drain() // who asked just now is answered; fails only on a closed connection
	default:
		_ = w.sub.Unsubscribe() // draining would outlast the time away
	}
	w.returned() // nothing is left that could end
}
