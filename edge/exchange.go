package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/bus/telemetry"
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
	status int // 0 until the response begins
	err    error
	// minRevision is the Cairn-Min-Revision of the request; nil: none.
	minRevision *schemas.ConsistencyToken
	requestBody
}

// readMinRevision reads the consistency token required by the request, if any.
func (x *exchange) readMinRevision() error {
	given := x.r.Header[bus.HeaderMinRevision]
	if len(given) == 0 {
		return nil
	}
	t, err := schemas.ParseConsistencyToken(given[0])
	if err == nil && len(given) > 1 {
		err = errors.New("expected one consistency token, got several")
	}
	if err != nil {
		return x.route.invalid.With(schemas.FieldError{Field: bus.HeaderMinRevision, Message: err.Error()})
	}
	x.minRevision = &t
	return nil
}

var (
	mediaJSON = []string{"application/json"}
	noSniff   = []string{"nosniff"}
	closing   = []string{"close"}
)

// reply responds with the reply of a worker.
func (x *exchange) reply(r bus.Reply) {
	if r.Token != (schemas.ConsistencyToken{}) { // revision 0 is that of an empty catalog
		x.w.Header()[bus.HeaderRevision] = []string{r.Token.String()}
	}
	if x.minRevision != nil && slices.Contains(r.Ignored, *x.minRevision) {
		x.w.Header()[bus.HeaderIgnoredRevision] = []string{x.minRevision.String()}
	}
	if x.tag(r) {
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
	x.discardBody()
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
	if x.status != 0 || x.clientGone(err) {
		x.status = statusDisconnected
		return
	}
	e := x.visible(err)
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
		bare := *schemas.Declared(e.Code)
		body, _ = encode(&bare)
	}
	x.write(e.Status, mediaJSON, body)
}

// clientGone reports whether err is the cancellation of a request whose client disconnected.
func (x *exchange) clientGone(err error) bool {
	return errors.Is(err, context.Canceled) && x.r.Context().Err() != nil && !x.edge.stopped()
}

// visible returns the error that the client receives for err.
func (x *exchange) visible(err error) *schemas.Error {
	var e *schemas.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		e = schemas.ErrTimeout.Because("the request did not finish within its deadline")
	case errors.Is(err, context.Canceled) && x.edge.stopped():
		e = schemas.ErrUnavailable.Because("the edge is shutting down")
	default:
		e = schemas.ErrInternal.Because("an unexpected error; the log of the edge has it under the request_id")
	}
	if x.route != nil && x.route.translate != nil {
		e = x.route.translate(e)
	}
	c := *e
	c.Instance, _ = boundedPath(x.r)
	c.RequestID = x.id
	return &c
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
