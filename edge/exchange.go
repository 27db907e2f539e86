package edge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nuid"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/edge/describe"
	"cairn/edge/mcp"
	"cairn/schemas"
)

const (
	// writeTimeout bounds one write to the client.
	writeTimeout = 30 * time.Second
	// statusDisconnected is the status in logs and metrics of a request whose client disconnected.
	statusDisconnected = telemetry.StatusDisconnected
	// largeReply is the size in bytes above which a reply counts against the memory for
	// bodies. Replies of writes, which cannot be refused any more, are smaller.
	largeReply = 64 << 10
	// maxPath bounds the escaped path of a request, in bytes. The longest id has 256
	// characters of 4 bytes, each of which takes 3 bytes when escaped.
	maxPath = 4 << 10
)

// exchange is one request and its response.
type exchange struct {
	edge   *edge
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context // values for the bus; ends when the edge stops, not when the client disconnects (r.Context)
	spec   *describe.Spec  // nil: no route matches
	route  *telemetry.Route
	vars   map[string]string // path variables, still escaped
	id     string
	caller *schemas.Identity // nil: authentication is off, or the route is open
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
)

// newExchange returns the exchange of a request, with the headers of every response.
func newExchange(e *edge, w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{edge: e, w: w, r: r, route: telemetry.UnknownRoute, body: requestBody{w: w, r: r, memory: e.bodies}}
	x.setHeaders()
	x.ctx = bus.WithCaller(bus.WithRequestID(e.requestCtx, x.id), r.Context())
	return x
}

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

// readBody receives the whole body of the request, at most limit bytes (see requestBody.read).
func (x *exchange) readBody(limit int) ([]byte, error) {
	body, err := x.body.read(limit)
	var declared *schemas.Error
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &declared):
		return nil, err
	case x.r.Context().Err() != nil:
		return nil, context.Canceled
	default:
		return nil, x.spec.Invalid.Because("reading the request body failed: " + err.Error())
	}
}

// send sends the request to an endpoint and returns the reply. A request whose client disconnects counts as in flight
// until the worker has replied. A large reply counts against the memory for bodies until the client has received it.
func (x *exchange) send(forward mcp.Forward, body []byte) (bus.Reply, error) {
	reply, err := forward(x.ctx, x.edge.conn, body)
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
	if x.setETag(r) {
		x.write(http.StatusNotModified, nil, nil)
		return
	}
	if x.spec.Status == http.StatusNoContent {
		x.write(http.StatusNoContent, nil, nil)
		return
	}
	x.write(x.spec.Status, mediaJSON, r.Body)
}

// setETag sets the ETag of the reply and reports whether the client has it.
func (x *exchange) setETag(r bus.Reply) (current bool) {
	stored := x.spec.Conditional && x.spec.Status != http.StatusNoContent
	if !x.spec.ETag && !stored {
		return false
	}
	var tag string
	if r.Token.Revision > 0 {
		tag = schemas.ETag(r.Token)
	} else {
		tag = contentTag(r.Body)
	}
	x.w.Header()["Etag"] = []string{tag}
	given := x.r.Header[bus.HeaderIfNoneMatch]
	return x.spec.ETag && len(given) > 0 && schemas.TagsMatch(strings.Join(given, ","), tag, true)
}

// contentTag returns the entity tag of a content.
func contentTag(content []byte) string { return fmt.Sprintf(`"%.16x"`, sha256.Sum256(content)) }

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
	// fails where deadlines are not supported
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(writeTimeout))
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
	failure := func(e *schemas.Error) any { return e }
	if x.spec != nil && x.spec.Failure != nil {
		failure = x.spec.Failure
	}
	body, _ := json.Marshal(failure(e)) // cannot fail: its texts are valid UTF-8
	x.write(e.Status, mediaJSON, body)
}

// setRetryAfter sets Retry-After, rounded up to seconds.
func setRetryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header()["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(min(wait.Seconds(), describe.MaxRetryAfter))))}
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
	if x.spec != nil && x.spec.Translate != nil {
		e = x.spec.Translate(e)
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
	case isRefusal(x.err): // counted by a metric
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
	if x.spec != nil {
		attrs = append(attrs, slog.String("route", x.spec.Path))
	}
	if x.err != nil {
		attrs = append(attrs, slog.Any("err", x.err))
	}
	x.edge.log.LogAttrs(x.ctx, level, "request", attrs...)
}

// close ends the span, records the metrics of the exchange and releases its body.
func (x *exchange) close(began time.Time) {
	x.route.Count(x.status, time.Since(began))
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
