package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// responder answers the requests of a subject at a worker.
type responder struct {
	Operation
	conn     *Conn
	log      *slog.Logger
	draining <-chan struct{} // of the service
	timeout  time.Duration
	invalid  *schemas.Error             // the error of malformed headers
	mapError func(error) *schemas.Error // maps an error to the one that callers receive
	admitted *admission.Pool
	bulk     bool // requests are received over the connection for large bodies
	metrics  *telemetry.Subject
	events   func(reply string) bool // reports whether reply is the event subject of a run; nil: no runs
}

// answers reports whether the responder may publish to the reply subject of a request. A
// request without one is handled and its reply discarded; a stream needs one.
func (d *responder) answers(reply string) bool {
	if reply == "" {
		return d.Pattern == RequestReply
	}
	return isInbox(reply) || d.events != nil && d.events(reply)
}

// responderKey is the key of the responder in the context of its requests.
type responderKey struct{}

// request is an admitted request. The caller of admit closes it.
type request struct {
	*nats.Msg
	admitted *admission.Pool
	running  *admission.Pool // nil: it has not started
	tenant   string          // in both pools
	caller   *schemas.Identity
	denied   error // the error of authorization or of the headers; nil: none
}

// start waits until the request of the tenant may run, and reports whether it may before ctx ends.
func (r *request) start(ctx context.Context, running *admission.Pool, tenant string) bool {
	if !r.admitted.Move(r.tenant, tenant, 1) {
		return false
	}
	r.tenant = tenant
	if running.Wait(ctx, tenant, 1) != nil {
		return false
	}
	r.running = running
	return true
}

func (r *request) close() {
	if r.running != nil {
		r.running.Release(r.tenant, 1)
	}
	r.admitted.Release(r.tenant, 1)
}

// admit returns the request in msg with its context, which the caller cancels. The request is nil if admit has
// refused or ignored it. admit never blocks, because a subscription runs its callbacks one after the other.
func (d *responder) admit(base context.Context,
	msg *nats.Msg) (ctx context.Context, r *request, cancel context.CancelFunc) {
	if !d.answers(msg.Reply) {
		d.log.Debug("request ignored: the reply subject is not an inbox", "subject", d.Subject, "reply", msg.Reply)
		return base, nil, func() {}
	}
	r = &request{Msg: msg, admitted: d.admitted}
	ctx, cancel = received(base, msg.Header.Get, d.timeout)
	ctx, r.caller, r.denied = authorize(ctx, msg.Header.Get, d.Permission)
	id := msg.Header.Get(jetstream.MsgIDHeader)
	ctx, wrong := withConditions(ctx, msg.Header)
	if changes(d.Permission) {
		ctx = WithOrigin(ctx, originOf(ctx, r.caller, msg))
	}
	switch {
	case r.denied == nil && wrong != nil:
		r.denied = d.invalid.With(wrong...)
	case id != "" && Precondition(ctx) == schemas.Precondition{}:
		ctx = bucket.WithRequest(ctx, d.Subject+" "+id)
	}
	if r.tenant = AdmissionKey(r.caller, nil); !d.admitted.Acquire(r.tenant, 1) {
		d.metrics.Refused(d.mapError(busy(d.Subject)).Code)
		d.fail(ctx, msg, busy(d.Subject))
		return ctx, nil, cancel
	}
	return ctx, r, cancel
}

// errFull is wrapped by the error of a request that this worker does not admit; another one may.
var errFull = errors.New("not admitted by this worker")

func busy(subject string) error {
	return fmt.Errorf("%w: %w", errFull, schemas.ErrUnavailable.Because("every worker of "+subject+" is busy"))
}

// heartbeats starts to send heartbeats to a client that requested them. A client
// in another NATS account gets none: across accounts the first message is the reply.
func (d *responder) heartbeats(request *nats.Msg) *heartbeat {
	h := &heartbeat{}
	if request.Header.Get(HeaderHeartbeat) != "" && !strings.HasPrefix(request.Reply, importPrefix) {
		h.start(heartbeatInterval, func() {
			beat := &nats.Msg{Subject: request.Reply, Header: nats.Header{HeaderHeartbeat: {"1"}}}
			_ = d.conn.nc.PublishMsg(beat) // the client detects missing heartbeats
		})
	}
	return h
}

// encode returns res as JSON. The output of a json.Marshaler is not validated again.
func encode(res any) ([]byte, error) {
	if m, ok := res.(json.Marshaler); ok {
		return m.MarshalJSON()
	}
	return json.Marshal(res, json.Deterministic(true))
}

// answer sends res as JSON.
func (d *responder) answer(ctx context.Context, r *nats.Msg, res any) {
	body, err := encode(res)
	if err == nil {
		err = d.fits(len(body))
	}
	if err != nil {
		d.fail(ctx, r, err)
		return
	}
	header := nats.Header{}
	if w, ok := res.(interface {
		CatalogRevision() schemas.ConsistencyToken
	}); ok {
		if token := w.CatalogRevision(); token != (schemas.ConsistencyToken{}) { // an empty catalog has revision 0
			header.Set(HeaderRevision, token.String())
		}
	}
	if ignored := IgnoredTokens(ctx); ignored != "" {
		header.Set(HeaderIgnoredRevision, ignored)
	}
	d.respond(ctx, r, body, header)
}

// fail replies with the error that callers receive for err.
func (d *responder) fail(ctx context.Context, r *nats.Msg, err error) {
	full := errors.Is(err, errFull)
	e := d.mapError(err)
	e = d.report(ctx, e, err, loggedByClient(r, e, full))
	body, err := json.Marshal(e)
	if err != nil || d.fits(len(body)) != nil {
		bare := schemas.Error{Type: e.Type, Title: e.Title, Status: e.Status, Code: e.Code, RequestID: e.RequestID}
		body, _ = json.Marshal(bare) // fixed strings: cannot fail
	}
	header := nats.Header{micro.ErrorHeader: {e.Title}, micro.ErrorCodeHeader: {strconv.Itoa(e.Status)}}
	if full {
		header.Set(HeaderBusy, "1")
	}
	d.respond(ctx, r, body, header)
}

// respond publishes the reply. If the connection is lost, it waits for another one until ctx ends,
// because the caller of a write cannot repeat it safely without knowing its outcome.
func (d *responder) respond(ctx context.Context, r *nats.Msg, body []byte, header nats.Header) {
	if r.Reply == "" {
		return
	}
	reply := &nats.Msg{Subject: r.Reply, Header: header, Data: body}
	conn := d.conn
	err := conn.nc.PublishMsg(reply)
	for undelivered(err) && conn.WaitConnected(ctx) == nil && ctx.Err() == nil {
		err = conn.nc.PublishMsg(reply)
	}
	if err != nil {
		d.log.WarnContext(ctx, "reply not sent", "subject", d.Subject, "err", err)
	}
}

// report returns e with the request ID of ctx and logs err, unless the caller or another worker
// does. Errors of this system are logged once, as warnings or errors, and those of callers at
// debug level. The metrics count a CallerError as a malformed request.
func (d *responder) report(ctx context.Context, e *schemas.Error, err error, loggedByClient bool) *schemas.Error {
	c := *e
	c.RequestID = RequestID(ctx)
	counted := c.Status
	if errors.Is(err, errCaller) {
		counted = schemas.ErrMalformed.Status
	}
	telemetry.Failed(ctx, counted, c.Code)
	switch {
	case loggedByClient:
	case isClientError(counted) || Logged(err):
		d.log.DebugContext(ctx, "request refused", "subject", d.Subject, "err", err)
	case c.Status == schemas.ErrUnavailable.Status:
		d.log.WarnContext(ctx, "request refused", "subject", d.Subject, "err", err)
	default:
		d.log.ErrorContext(ctx, "request failed", "subject", d.Subject, "err", err)
	}
	return &c
}

// fits returns an error if a reply of size bytes exceeds max_payload.
func (d *responder) fits(size int) error {
	if limit := d.conn.nc.MaxPayload() - bucket.HeaderRoom; int64(size) > limit {
		return schemas.ErrResponseTooLarge.Because(fmt.Sprintf("the response has %d bytes, at most %d are possible", size,
			limit))
	}
	return nil
}

// FitsReply returns schemas.ErrResponseTooLarge if the reply to the request of ctx cannot
// contain size bytes, before the handler has encoded them.
func FitsReply(ctx context.Context, size int) error {
	if r, ok := ctx.Value(responderKey{}).(*responder); ok {
		return r.fits(size)
	}
	return nil
}

// Draining returns a channel that is closed when the service of the request of ctx accepts no
// more requests, so that long-running handlers can return.
func Draining(ctx context.Context) <-chan struct{} {
	if r, ok := ctx.Value(responderKey{}).(*responder); ok {
		return r.draining
	}
	return nil
}

// loggedByClient reports whether the caller logs the error. A client of this package logs errors of
// the caller, timeouts, and replies of busy workers, after which it retries the request.
func loggedByClient(r *nats.Msg, e *schemas.Error, full bool) bool {
	client := r.Header.Get(HeaderHeartbeat) != "" || r.Header.Get(HeaderWindow) != ""
	return client && (isClientError(e.Status) || e.Status == schemas.ErrTimeout.Status || full)
}

// PartError returns the error that the caller receives for err, the failure of a part of the request
// of ctx, such as one record of many. It logs errors of this system.
func PartError(ctx context.Context, err error) *schemas.Error {
	e := *visible(err)
	e.RequestID = RequestID(ctx)
	r, ok := ctx.Value(responderKey{}).(*responder)
	if !ok || isClientError(e.Status) {
		return &e
	}
	return r.report(ctx, &e, err, false)
}

// importPrefix is the prefix of the reply subjects of clients in other NATS accounts. An empty
// message to such a subject ends the stream of responses (nats-server, client.go).
const importPrefix = "_R_."

// inboxPrefixes are the prefixes of the subjects on which clients receive replies: inboxes,
// with the prefix of a user or without (--nats-inbox), and the reply subjects of
// requests that were imported from another account.
var inboxPrefixes = []string{"_INBOX.", "_INBOX_", importPrefix}

// isInbox reports whether subject is an inbox, to which only a waiting client subscribes. The
// requester chooses the reply subject, but the reply is sent with the permissions of the responder:
// a reply subject such as $KV.cairn_catalog.x would make a worker overwrite a record for a client
// without that permission. So this package publishes to a subject that a peer has chosen only if
// isInbox accepts it, or if it is the event subject of a run of the same stream.
func isInbox(subject string) bool {
	return slices.ContainsFunc(inboxPrefixes, func(prefix string) bool { return strings.HasPrefix(subject, prefix) })
}
