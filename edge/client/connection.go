package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/time/rate"

	"cairn/schemas"
)

// connection sends the requests of a Client to its edges: with its key, retries within a
// budget, and consistency tokens.
type connection struct {
	edges        []*url.URL
	failures     atomic.Uint32 // of connections; each makes the next edge the current one
	key          string
	retryTimeout time.Duration

	budget  *rate.Limiter // of the retries of all requests
	retries atomic.Int64
	reached atomic.Bool // a response has arrived

	mu    sync.Mutex
	token schemas.ConsistencyToken // the highest one received; zero: none
}

// call sends a request with in as JSON, unless it is nil, and decodes the response into
// out, unless that is nil.
func (c *connection) call(ctx context.Context, r request, in, out any) (http.Header, error) {
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
func (c *connection) Read(ctx context.Context, path string, in, out any) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: path, read: true, idempotent: true}, in, out)
	return err
}

// do returns the first successful response. The caller closes its body.
func (c *connection) do(ctx context.Context, r request) (*http.Response, error) {
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

// wait waits for delay and for the retry budget. It returns false if ctx ends first.
func (c *connection) wait(ctx context.Context, delay time.Duration) bool {
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
		return c.budget.Wait(ctx) == nil
	case <-ctx.Done():
		return false
	}
}

// retryable reports whether r may succeed when it is retried: the server refused it
// because of overload, or the connection of an idempotent request was lost.
func (c *connection) retryable(r request, err error) bool {
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

// attempt sends r once. The response is successful.
func (c *connection) attempt(ctx context.Context, r request) (*http.Response, error) {
	cancel := func() {}
	if !r.stream {
		ctx, cancel = context.WithTimeout(ctx, RequestTimeout)
	}
	r.header = c.headers(ctx, r)
	res, err := c.send(ctx, r)
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
func (c *connection) headers(ctx context.Context, r request) http.Header {
	h := r.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if token := c.minRevision(); r.read && token != "" {
		h.Set(headerMinRevision, token)
	}
	if message, _ := ctx.Value(messageKey{}).(string); message != "" && !r.read {
		h.Set(headerMessage, message)
	}
	return h
}

// Open sends one request with the key and returns the response regardless of its status. Only an edge that
// cannot be reached is replaced by another one. The caller closes the body.
func (c *connection) Open(ctx context.Context, method, path string, body []byte,
	header http.Header) (*http.Response, error) {
	return c.send(ctx, request{method: method, path: path, body: body, header: header})
}

// send sends r to the current edge and returns the response regardless of its status. If the connection fails, it
// sends r to each other edge once, unless an edge may have received a request that is not idempotent.
func (c *connection) send(ctx context.Context, r request) (*http.Response, error) {
	for n := 1; ; n++ {
		failures := c.failures.Load()
		res, err := c.sendTo(ctx, c.edge(failures), r)
		if err == nil {
			return res, nil
		}
		c.failures.CompareAndSwap(failures, failures+1)
		lost, ok := errors.AsType[*TransportError](err)
		repeatable := ok && (lost.Dial || r.idempotent)
		if !repeatable || n == len(c.edges) || !c.wait(ctx, 0) {
			return nil, err
		}
		c.retries.Add(1)
	}
}

// sendTo sends r to the edge once.
func (c *connection) sendTo(ctx context.Context, edge *url.URL, r request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, edge.String()+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.RoundTrip(req)
}

// readAll reads the body of a response.
func (c *connection) readAll(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, c.transportError(err)
	case len(body) > maxResponse:
		return nil, fmt.Errorf("response of %s: expected at most %d bytes", c.URL(), maxResponse)
	}
	return body, nil
}

// edge returns the current edge after a number of failures.
func (c *connection) edge(failures uint32) *url.URL { return c.edges[int(failures)%len(c.edges)] }

// URL returns the address of the current edge.
func (c *connection) URL() string { return c.edge(c.failures.Load()).String() }

// Retries returns the number of retries of requests so far, and of streams that
// were resumed.
func (c *connection) Retries() int64 { return c.retries.Load() }

// RoundTrip sends a request to an edge with the key, and without retries. It implements
// http.RoundTripper. The error is a *TransportError.
func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	own := func(edge *url.URL) bool { return r.URL.Scheme == edge.Scheme && r.URL.Host == edge.Host }
	if c.key != "" && slices.ContainsFunc(c.edges, own) { // no other server may learn the key
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return nil, c.transportError(err)
	}
	c.reached.Store(true)
	return res, nil
}

func (c *connection) transportError(err error) error {
	if _, ok := errors.AsType[*TransportError](err); ok {
		return err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return &TransportError{URL: c.URL(), Dial: true, Err: op.Err}
	}
	return &TransportError{URL: c.URL(), Err: err}
}

// storeTokens stores the consistency token of a response. A token of another catalog replaces the last one.
func (c *connection) storeTokens(h http.Header) {
	c.mu.Lock()
	if ignored := h.Get(headerIgnoredRevision); ignored != "" && ignored == c.token.String() {
		c.token = schemas.ConsistencyToken{}
	}
	c.mu.Unlock()
	c.storeToken(h.Get(headerRevision))
}

// storeToken stores the token of a read or of a write, if the text is one.
func (c *connection) storeToken(text string) {
	t, err := schemas.ParseConsistencyToken(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && (t.Catalog != c.token.Catalog || t.Revision > c.token.Revision) {
		c.token = t
	}
}

// minRevision returns the token of the writes that the next read must include; empty: none.
func (c *connection) minRevision() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token.Revision == 0 {
		return ""
	}
	return c.token.String()
}
