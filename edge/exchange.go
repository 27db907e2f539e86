package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	// bodyTime is how long the body of a request may take to arrive.
	bodyTime = time.Minute
	// writeTime is how long one write to the client may take.
	writeTime = 30 * time.Second
	// leftover is how much of a body that is too large is still read, in bytes:
	// a client that writes all before it reads then sees the answer.
	leftover = 32 << 20
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
}

// body is the whole body of the request, of at most most bytes.
func (x *exchange) body(most int) ([]byte, error) {
	size := x.r.ContentLength
	if size == 0 {
		return nil, nil
	}
	if size > int64(most) && x.r.Header["Expect"] != nil {
		return nil, tooLarge(most)
	}
	control := http.NewResponseController(x.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // not possible: then there is none
	body, err := readBody(x.r.Body, size, most)
	_ = control.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, schemas.ErrTooLarge):
		return nil, err
	case err != nil && x.r.Context().Err() != nil:
		return nil, context.Canceled
	case err != nil:
		return nil, x.route.invalid.Because("the body did not arrive: " + err.Error())
	}
	return body, nil
}

// readBody reads size bytes, or until the end when size is unknown.
func readBody(r io.Reader, size int64, most int) ([]byte, error) {
	if size >= 0 && size <= int64(most) {
		return readSized(r, int(size))
	}
	var b bytes.Buffer
	if size < 0 {
		_, err := b.ReadFrom(io.LimitReader(r, int64(most)+1))
		if err != nil || b.Len() <= most {
			return b.Bytes(), err
		}
	}
	_, _ = io.CopyN(io.Discard, r, leftover) // the answer is the same, however this ends
	return nil, tooLarge(most)
}

// trusted is how much room a body gets by its announcement alone, in bytes.
const trusted = 1 << 20

// readSized reads size bytes. A client that only announces a large body takes
// no room for it.
func readSized(r io.Reader, size int) ([]byte, error) {
	body := make([]byte, min(size, trusted))
	n, err := io.ReadFull(r, body)
	if err != nil || n == size {
		return body, err
	}
	body = append(make([]byte, 0, size), body...)[:size]
	_, err = io.ReadFull(r, body[n:])
	return body, err
}

func tooLarge(most int) error {
	return schemas.ErrTooLarge.Because(fmt.Sprintf("want at most %d bytes", most))
}

// minRevision is the least revision that the answer must have seen.
func (x *exchange) minRevision() (uint64, error) {
	least := x.edge.revision.Load()
	asked := x.r.Header[bus.HeaderMinRevision]
	if len(asked) == 0 {
		return least, nil
	}
	n, err := strconv.ParseUint(asked[0], 10, 64)
	if err != nil || len(asked) > 1 {
		return 0, x.route.invalid.With(schemas.FieldError{
			Field: bus.HeaderMinRevision, Message: fmt.Sprintf("want one revision, a whole number, got %q", asked)})
	}
	return max(least, n), nil
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
		e = schemas.ErrTimeout
	case errors.Is(err, context.Canceled) && x.edge.stopped():
		e = schemas.ErrUnavailable.Because("Cairn is stopping")
	default:
		e = schemas.ErrInternal
	}
	if x.route != nil && x.route.say != nil {
		e = x.route.say(e)
	}
	c := *e
	c.Instance, c.RequestID = x.r.URL.EscapedPath(), x.id
	return &c
}

// log says how the exchange went, in one line.
func (x *exchange) log(began time.Time) {
	level := slog.LevelDebug
	switch {
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
	if x.err != nil {
		said = append(said, slog.Any("err", x.err))
	}
	x.edge.log.LogAttrs(x.ctx, level, "request", said...)
}
