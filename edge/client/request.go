package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

// maxResponse bounds a response other than a stream, in bytes.
const maxResponse = 64 << 20

// request is a request that may be sent several times.
type request struct {
	method, path string
	body         []byte
	header       http.Header
	read         bool // changes nothing, and includes earlier writes
	idempotent   bool // may be retried after its connection was lost
	stream       bool // the response has no time limit
	once         bool // not retried
}

// get returns a read of the path.
func get(path string) request {
	return request{method: http.MethodGet, path: path, read: true, idempotent: true}
}

// deletion returns an unconditional deletion of the resource at the path.
func deletion(path string) request {
	return request{method: http.MethodDelete, path: path, idempotent: true}
}

type messageKey struct{}

// WithMessage returns ctx for writes with the message, one line of at most schemas.MaxMessage bytes, which the history
// of the records and the audit log have.
func WithMessage(ctx context.Context, message string) context.Context {
	return context.WithValue(ctx, messageKey{}, message)
}

// newDelays returns the delays before retries.
func newDelays() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, MaxInterval: 3 * time.Second,
		Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
}

// retryAfterError is an unsuccessful response with the delay that the server sets in Retry-After.
type retryAfterError struct {
	error
	after time.Duration
}

func (r retryAfterError) Unwrap() error { return r.error }

func retryAfter(err error) time.Duration {
	var r retryAfterError
	errors.As(err, &r)
	return r.after
}

// statusOf returns the status of an unsuccessful response, or 0.
func statusOf(err error) int {
	var e *schemas.Error
	var s *StatusError
	switch {
	case errors.As(err, &e):
		return e.Status
	case errors.As(err, &s):
		return s.StatusCode
	}
	return 0
}

// cancelBody ends the context of a response with its body.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *cancelBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// responseError returns the error of a response: the error body of Cairn if there is one,
// otherwise the status.
func responseError(res *http.Response, body []byte) error {
	var e schemas.Error
	if json.Unmarshal(body, &e) == nil && e.Code != "" {
		return &e
	}
	text := strings.TrimSpace(string(body[:min(200, len(body))]))
	return &StatusError{StatusCode: res.StatusCode, Host: res.Request.URL.Host, Status: res.Status, Text: text}
}
