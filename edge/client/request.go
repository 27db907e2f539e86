package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// maxResponse bounds a response other than a stream, in bytes.
const maxResponse = 64 << 20

// request is a request of which attempts are made.
type request struct {
	method, path string
	body         []byte
	header       http.Header
	read         bool // changes nothing, and includes earlier writes
	idempotent   bool // may be retried after its connection was lost
	stream       bool // the response has no time limit
	once         bool // not retried
}

// call sends a request with in as JSON, unless it is nil, and decodes the response into
// out, unless that is nil.
func (c *Client) call(ctx context.Context, r request, in, out any) (http.Header, error) {
	if in != nil {
		body, err := json.Marshal(in, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		r.body = body
	}
	res, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := c.readAll(res)
	if err != nil {
		return nil, err
	}
	if raw, ok := out.(*jsontext.Value); ok {
		*raw = body
		return res.Header, nil
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			return nil, fmt.Errorf("invalid response of %s: %w", c.URL(), err)
		}
	}
	return res.Header, nil
}

// Read sends a POST request that changes nothing, such as one of the routes below
// /resolve, and decodes the response into out: a pointer to its type, or a
// *jsontext.Value for its text.
func (c *Client) Read(ctx context.Context, path string, in, out any) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: path, read: true, idempotent: true}, in, out)
	return err
}

// do returns the first successful response. The caller closes its body.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	delays := newDelays()
	deadline := time.Now().Add(c.retryTimeout)
	for {
		res, err := c.attempt(ctx, r)
		if err == nil || r.once || c.retryTimeout < 0 || !c.retryable(r, err) {
			return res, err
		}
		delay := max(delays.NextBackOff(), retryAfter(err))
		if time.Now().Add(delay).After(deadline) || !c.wait(ctx, delay) {
			return nil, err
		}
		c.retries.Add(1)
	}
}

// newDelays returns the delays before retries.
func newDelays() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, MaxInterval: 3 * time.Second,
		Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
}

// wait waits for delay and for the retry budget. It returns false if ctx ends first.
func (c *Client) wait(ctx context.Context, delay time.Duration) bool {
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
		return c.budget.Wait(ctx) == nil
	case <-ctx.Done():
		return false
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

// retryable reports whether r may succeed when it is retried: the server refused it
// because of overload, or the connection of an idempotent request was lost.
func (c *Client) retryable(r request, err error) bool {
	if status := statusOf(err); status != 0 {
		return status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests ||
			r.idempotent && (status == http.StatusBadGateway || status == http.StatusGatewayTimeout)
	}
	var lost *TransportError
	if !errors.As(err, &lost) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return r.idempotent && c.reached.Load() // a server that never responded is reported immediately
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

// attempt sends r once. The response is successful.
func (c *Client) attempt(ctx context.Context, r request) (*http.Response, error) {
	cancel := func() {}
	if !r.stream {
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
	}
	res, err := c.Open(ctx, r.method, r.path, r.body, c.headers(r))
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &cancelBody{res.Body, cancel}
	c.storeTokens(res.Header)
	if res.StatusCode < http.StatusMultipleChoices {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	body, err := c.readAll(res)
	if err != nil {
		return nil, err
	}
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 if absent or a date
	return nil, retryAfterError{responseError(res, body), time.Duration(min(max(seconds, 0), 3600)) * time.Second}
}

// headers returns the headers of r.
func (c *Client) headers(r request) http.Header {
	h := r.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if token := c.minRevision(); r.read && token != "" {
		h.Set(headerMinRevision, token)
	}
	return h
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

// Open sends one request with the key, and without retries, and returns the response
// whatever its status. The caller closes its body.
func (c *Client) Open(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.RoundTrip(req)
}

// readAll reads the body of a response.
func (c *Client) readAll(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, c.transportError(err)
	case len(body) > maxResponse:
		return nil, fmt.Errorf("response of %s: expected at most %d bytes", c.URL(), maxResponse)
	}
	return body, nil
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
