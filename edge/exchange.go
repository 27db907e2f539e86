package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

const (
	// writeTime is how long one write to the client may take.
	writeTime = 30 * time.Second
	// statusLeft stands in the log for a client that did not wait.
	statusLeft = telemetry.StatusLeft
)

// exchange is one request and its answer.
type exchange struct {
	edge   *edge
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context
	route  *route            // nil: there is none
	vars   map[string]string // of the path, escaped as they came
	id     string
	by     *schemas.Identity // nil: nobody asked who it is
	span   telemetry.Span
	status int // 0 until the answer begins
	err    error
	requestBody
}

// minRevision returns the revision that the request demands, 0 for any.
func (x *exchange) minRevision() (uint64, error) {
	asked := x.r.Header[bus.HeaderMinRevision]
	if len(asked) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseUint(asked[0], 10, 64)
	if err != nil || len(asked) > 1 {
		return 0, x.route.invalid.With(schemas.FieldError{
			Field: bus.HeaderMinRevision, Message: fmt.Sprintf("want one revision, a whole number, got %q", asked)})
	}
	return n, nil
}

var (
	mediaJSON = []string{"application/json"}
	noSniff   = []string{"nosniff"}
	closing   = []string{"close"}
)

// reply answers with what a worker said.
func (x *exchange) reply(r bus.Reply) {
	if r.Revision > 0 {
		x.w.Header()[bus.HeaderRevision] = []string{strconv.FormatUint(r.Revision, 10)}
	}
	if x.route.status == http.StatusNoContent {
		x.write(http.StatusNoContent, nil, nil)
		return
	}
	x.write(x.route.status, mediaJSON, r.Body)
}

// write sends a whole answer.
func (x *exchange) write(status int, media []string, body []byte) {
	x.discardBody()
	h := x.w.Header()
	if media != nil {
		h["Content-Type"] = media
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(writeTime))
	x.status = status
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // fails when the client left, and then nobody is told
}

// fail answers with err, if there can still be an answer.
func (x *exchange) fail(err error) {
	x.err = err
	if x.status != 0 || x.left(err) {
		x.status = statusLeft
		return
	}
	e := x.visible(err)
	if e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests {
		if x.w.Header()["Retry-After"] == nil {
			x.w.Header()["Retry-After"] = []string{"1"}
		}
	}
	body, err := json.Marshal(e)
	if err != nil { // a detail that is not UTF-8
		bare := *schemas.Declared(e.Code)
		body, _ = json.Marshal(&bare)
	}
	x.write(e.Status, mediaJSON, body)
}

// left reports whether err only says that the client did not wait.
func (x *exchange) left(err error) bool {
	return errors.Is(err, context.Canceled) && x.r.Context().Err() != nil && !x.edge.stopped()
}

// visible is what the client is told of err.
func (x *exchange) visible(err error) *schemas.Error {
	var e *schemas.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		e = schemas.ErrTimeout.Because("the request did not finish within its deadline")
	case errors.Is(err, context.Canceled) && x.edge.stopped():
		e = schemas.ErrUnavailable.Because("Cairn is stopping")
	default:
		e = schemas.ErrInternal.Because("an unexpected error; the log of the edge has it under the request_id")
	}
	if x.route != nil && x.route.say != nil {
		e = x.route.say(e)
	}
	c := *e
	c.Instance, c.RequestID = x.r.URL.EscapedPath(), x.id
	return &c
}

// log logs the exchange in one line: faults of this system that no worker has
// logged as warnings and errors, all else for debugging.
func (x *exchange) log(began time.Time) {
	level := slog.LevelDebug
	switch {
	case bus.Logged(x.err):
	case x.err == error(errOverload): // a metric counts refusals; a flood of them must not fill the log
	case x.status == http.StatusInternalServerError:
		level = slog.LevelError
	case x.status > http.StatusInternalServerError && x.status != http.StatusNotImplemented:
		level = slog.LevelWarn
	}
	if !x.edge.log.Enabled(x.ctx, level) {
		return
	}
	said := []slog.Attr{
		slog.String("method", x.r.Method), slog.String("path", x.r.URL.EscapedPath()),
		slog.Int("status", x.status), slog.Duration("took", time.Since(began)),
	}
	if x.route != nil {
		said = append(said, slog.String("route", x.route.path))
	}
	if x.err != nil {
		said = append(said, slog.Any("err", x.err))
	}
	x.edge.log.LogAttrs(x.ctx, level, "request", said...)
}
