package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/mux"
	"github.com/nats-io/nuid"

	"cairn/bus"
	"cairn/bus/overload"
	"cairn/bus/telemetry"
	"cairn/edge/mcp"
	"cairn/schemas"
)

const (
	// writeTimeout bounds one write to the client.
	writeTimeout = 30 * time.Second
	// statusDisconnected is the status in logs and metrics of a request whose client disconnected.
	statusDisconnected = telemetry.StatusDisconnected
)

// exchange is one request and its response.
type exchange struct {
	edge   *edge
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context   // values for the bus; ends when the edge stops, not when the client disconnects (r.Context)
	route  *route            // nil: no route matches
	vars   map[string]string // path variables, still escaped
	id     string
	by     *schemas.Identity // nil: authentication is off, or the route is open
	span   telemetry.Span
	body   requestBody
	status int // 0 until the response begins
	err    error
	// minRevision is the Cairn-Min-Revision of the request; nil: none.
	minRevision *schemas.ConsistencyToken
}

var (
	mediaJSON = []string{"application/json"}
	noSniff   = []string{"nosniff"}
	closing   = []string{"close"}
)

// setHeaders sets the headers of every response, including the request id: the client's if it is
// valid, otherwise a new one. checkRequestID rejects an invalid one later.
func (x *exchange) setHeaders() {
	given := x.r.Header[bus.HeaderRequestID]
	if len(given) != 1 || !bus.ValidRequestID(given[0]) {
		given = []string{nuid.Next()}
	}
	x.id = given[0]
	h := x.w.Header()
	h[bus.HeaderRequestID] = given
	h["X-Content-Type-Options"] = noSniff
	x.edge.origins.setHeaders(h, x.r)
	if x.edge.draining() {
		h["Connection"] = closing // the client then connects to another edge
	}
}

// handle runs dispatch and turns its error or panic into the response.
func (x *exchange) handle() {
	defer func() {
		switch p := recover(); {
		case p == http.ErrAbortHandler: //nolint:errorlint // net/http compares the value
			panic(p)
		case p != nil && x.status != 0: // the response has begun
			x.edge.log.ErrorContext(x.ctx, "panic", "err", bus.Recovered(p))
			panic(http.ErrAbortHandler)
		case p != nil:
			x.fail(bus.Recovered(p))
		}
	}()
	err := x.dispatch()
	if x.status == 0 && isRefusal(err) {
		x.body.release() // a delayed refusal holds no memory
		err = refuse(x, err)
	}
	if err != nil {
		x.fail(err)
	}
}

// dispatch finds the route and runs its action. It uses the router only to match:
// mux.Router.ServeHTTP would copy each request twice. It escapes the path once; the
// router with UseEncodedPath would do so for each route.
func (x *exchange) dispatch() error {
	if err := x.edge.hosts.check(x.r); err != nil {
		return err
	}
	path, ok := boundedPath(x.r)
	if !ok {
		return schemas.ErrUnknownPath.Because(fmt.Sprintf("expected a path of at most %d bytes; see GET /openapi.json", maxPath))
	}
	request := &http.Request{Method: x.r.Method, URL: &url.URL{Path: path}}
	var match mux.RouteMatch
	if x.edge.mux.Match(request, &match) {
		x.route, x.vars = x.edge.table[match.Route], match.Vars
		if !x.edge.origins.allow(x.r) && x.edge.crossOrigin.Check(x.r) != nil {
			return schemas.ErrForbidden.Because(
				"cross-origin requests of browsers are allowed only from origins given with --cors-origin (CAIRN_CORS_ORIGIN)")
		}
		x.startSpan()
		return x.serve()
	}
	if match.MatchErr != mux.ErrMethodMismatch { //nolint:errorlint // the router compares the value
		return unknownPath(path)
	}
	allowed, possible := x.edge.allowed(request)
	x.w.Header()["Allow"] = []string{allowed}
	if x.r.Method == http.MethodOptions {
		x.edge.origins.preflight(x.w.Header(), x.r, possible)
		x.write(http.StatusNoContent, nil, nil)
		return nil
	}
	return schemas.ErrMethodNotAllowed.Because(fmt.Sprintf("%q is not a method of %q; expected %s", x.r.Method, path, allowed))
}

// startSpan starts the span of the exchange, as a child of the client's span if it sends
// one. Routes without a subject have no span: probes would fill the trace store.
func (x *exchange) startSpan() {
	x.ctx = telemetry.Extract(x.ctx, x.r.Header.Get("Traceparent"), x.r.Header.Get("Tracestate"))
	if x.route.subject != "" {
		x.ctx, x.span = x.route.telemetry.Serve(x.ctx, x.r.TLS != nil)
		x.span.RequestID(x.id)
	}
}

// serve runs the action of the route after authentication, which comes before
// the body is read.
func (x *exchange) serve() error {
	if x.route.limits != nil {
		release, err := x.route.limits.enter(x.w, x.r)
		if err != nil {
			return err
		}
		defer release()
	}
	if err := x.authenticate(); err != nil {
		return err
	}
	if err := x.checkRequestID(); err != nil {
		return err
	}
	if !x.route.takesBody() {
		x.body.discard()
	}
	return x.route.answer(x)
}

// authenticate identifies the caller and checks its rate limit and permission.
func (x *exchange) authenticate() error {
	authenticator := x.edge.authenticator
	if authenticator == nil || x.route.open {
		return nil
	}
	by, err := authenticator.Identify(x.ctx, x.r.Header["Authorization"])
	if errors.Is(err, schemas.ErrUnauthenticated) {
		x.w.Header()["Www-Authenticate"] = []string{challenge(x)}
	}
	if err != nil {
		return err
	}
	x.by, x.ctx, x.body.tenant = by, bus.WithIdentity(x.ctx, by), bus.AdmissionKey(by, nil)
	if wait, err := authenticator.Allow(by); err != nil {
		setRetryAfter(x.w, wait)
		return err
	}
	return by.Authorize(x.route.needs)
}

// checkRequestID returns the error for an invalid X-Request-Id.
func (x *exchange) checkRequestID() error {
	given := x.r.Header[bus.HeaderRequestID]
	if len(given) == 0 || len(given) == 1 && given[0] == x.id {
		return nil
	}
	return x.route.invalid.With(schemas.FieldError{
		Field: bus.HeaderRequestID, Message: fmt.Sprintf("expected one value of 1 to %d visible ASCII characters", bus.MaxRequestID)})
}

// readBody receives the whole body of the request, at most limit bytes (see requestBody.read).
func (x *exchange) readBody(limit int) ([]byte, error) {
	body, err := x.body.read(limit)
	var known *schemas.Error
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &known):
		return nil, err
	case x.r.Context().Err() != nil:
		return nil, context.Canceled
	default:
		return nil, x.route.invalid.Because("reading the request body failed: " + err.Error())
	}
}

// send sends the request to an endpoint and returns the reply. It holds a slot from when
// the body has arrived until the worker has replied, so that slow clients hold none, and
// clients that disconnect hold theirs while the worker runs. A large reply counts against
// the memory for bodies until the client has received it.
func (x *exchange) send(forward mcp.Forward, body []byte) (bus.Reply, error) {
	slot, err := acquireSlot(x)
	if err != nil {
		return bus.Reply{}, err
	}
	defer slot.Close()
	return x.sendIn(slot, forward, body)
}

// sendIn sends the request in the slot, which remains open.
func (x *exchange) sendIn(slot *overload.Slot, forward mcp.Forward, body []byte) (bus.Reply, error) {
	var reply bus.Reply
	err := slot.IdleAfter(x.r.Context(), func() (err error) {
		reply, err = forward(overload.WithSlot(x.ctx, slot), x.edge.conn, body)
		return err
	})
	if err = cmp.Or(x.r.Context().Err(), err); err != nil {
		return bus.Reply{}, err
	}
	x.edge.watermark.advance(reply.Token)
	x.edge.watermark.reset(reply.Ignored)
	if n := len(reply.Body); n > largeReply && !x.body.acquire(int64(n)) {
		return bus.Reply{}, errBodyMemory
	}
	return reply, nil
}

// reply responds with the reply of a worker.
func (x *exchange) reply(r bus.Reply) {
	if r.Token != (schemas.ConsistencyToken{}) { // an empty catalog has revision 0
		x.w.Header()[bus.HeaderRevision] = []string{r.Token.String()}
	}
	if x.minRevision != nil && slices.Contains(r.Ignored, *x.minRevision) {
		x.w.Header()[bus.HeaderIgnoredRevision] = []string{x.minRevision.String()}
	}
	if setETag(x, r) {
		x.write(http.StatusNotModified, nil, nil)
		return
	}
	if x.route.status == http.StatusNoContent {
		x.write(http.StatusNoContent, nil, nil)
		return
	}
	x.write(x.route.status, mediaJSON, r.Body)
}

// write sends a complete response.
func (x *exchange) write(status int, media []string, body []byte) {
	x.body.discard()
	h := x.w.Header()
	if media != nil {
		h["Content-Type"] = media
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.limitWrite()
	x.status = status
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // fails when the client has disconnected
}

// limitWrite sets the write deadline of a response. The server has no write timeout, because
// streams stay open longer.
func (x *exchange) limitWrite() {
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(writeTimeout)) // fails where deadlines are not supported
}

// fail responds with err unless the response has begun.
func (x *exchange) fail(err error) {
	x.err = err
	if x.status != 0 || x.clientDisconnected(err) {
		x.status = statusDisconnected
		return
	}
	e := x.publicError(err)
	if e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests {
		if x.w.Header()["Retry-After"] == nil {
			x.w.Header()["Retry-After"] = []string{"1"}
		}
	}
	encode := func(e *schemas.Error) ([]byte, error) { return json.Marshal(e) }
	if x.route != nil && x.route.failure != nil {
		encode = x.route.failure
	}
	body, err := encode(e)
	if err != nil { // the detail is not valid UTF-8
		withoutBody := *schemas.Declared(e.Code)
		body, _ = encode(&withoutBody)
	}
	x.write(e.Status, mediaJSON, body)
}

// maxRetryAfter bounds Retry-After, in seconds.
const maxRetryAfter = 3600

// setRetryAfter sets Retry-After, rounded up to seconds.
func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header()["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(min(wait.Seconds(), maxRetryAfter))))}
}

// clientDisconnected reports whether err is the cancellation of a request whose client disconnected.
func (x *exchange) clientDisconnected(err error) bool {
	return errors.Is(err, context.Canceled) && x.r.Context().Err() != nil && !x.edge.stopped()
}

// publicError returns the error that the client receives for err.
func (x *exchange) publicError(err error) *schemas.Error {
	var e *schemas.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		e = schemas.ErrTimeout.Because("the request did not finish within its deadline")
	case errors.Is(err, context.Canceled) && x.edge.stopped():
		e = schemas.ErrUnavailable.Because("the edge is shutting down")
	default:
		e = schemas.ErrInternal.Because("unexpected error; see the edge log for this request_id")
	}
	if x.route != nil && x.route.translate != nil {
		e = x.route.translate(e)
	}
	c := *e
	c.Instance, _ = boundedPath(x.r)
	c.RequestID = x.id
	return &c
}

// log writes one line for the exchange: server errors that no worker has logged
// as warnings and errors, everything else at debug level.
func (x *exchange) log(began time.Time) {
	level := slog.LevelDebug
	switch {
	case x.err == nil, bus.Logged(x.err):
	case x.err == error(errOverload): //nolint:errorlint // counted by a metric; other errors of its code are logged
	case x.status == http.StatusInternalServerError:
		level = slog.LevelError
	case x.status > http.StatusInternalServerError && x.status != http.StatusNotImplemented:
		level = slog.LevelWarn
	}
	if !x.edge.log.Enabled(x.ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", x.r.Method), slog.String("path", x.r.URL.EscapedPath()),
		slog.Int("status", x.status), slog.Duration("took", time.Since(began)),
	}
	if x.route != nil {
		attrs = append(attrs, slog.String("route", x.route.path))
	}
	if x.err != nil {
		attrs = append(attrs, slog.Any("err", x.err))
	}
	x.edge.log.LogAttrs(x.ctx, level, "request", attrs...)
}

// close ends the span, records the metrics of the exchange and releases its body.
func (x *exchange) close(began time.Time) {
	route := telemetry.UnknownRoute
	if x.route != nil {
		route = x.route.telemetry
	}
	route.Count(x.status, time.Since(began))
	x.span.Responded(x.status)
	x.span.End()
	x.body.release()
}

// boundedPath returns the escaped path of the request, or false if it exceeds maxPath.
func boundedPath(r *http.Request) (string, bool) {
	if len(r.URL.Path) > maxPath { // never longer than the escaped form, which costs more to compute
		return "", false
	}
	path := r.URL.EscapedPath()
	if len(path) > maxPath {
		return "", false
	}
	return path, true
}
