package client

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"cairn/schemas"
)

// Headers of the HTTP API.
const (
	headerRevision        = "Cairn-Revision"
	headerMinRevision     = "Cairn-Min-Revision"
	headerIgnoredRevision = "Cairn-Ignored-Revision"
	headerRun             = "Cairn-Run"
)

// Defaults of Config.
const (
	DefaultURL          = "http://127.0.0.1:8080"
	DefaultTimeout      = 30 * time.Second
	DefaultRetryTimeout = 15 * time.Second
)

// MaxConnections is the maximum number of idle connections that a Client keeps.
const MaxConnections = 512

// Config contains the settings of a Client. Only URL is required.
type Config struct {
	// URL is the address of an edge. HOST:PORT means http://HOST:PORT, or https:// for
	// port 443.
	URL string
	// Key is an API key or an OIDC token; empty: no authentication.
	Key string
	// Timeout bounds one attempt of a request other than a stream; 0: DefaultTimeout.
	Timeout time.Duration
	// RetryTimeout bounds a request with its retries; 0: DefaultRetryTimeout. A
	// negative value disables retries, but not the resumption of streams.
	RetryTimeout time.Duration
	// Transport sends the requests; nil: one of this package, with the proxy of the
	// environment.
	Transport http.RoundTripper
}

// Client sends requests to one edge.
type Client struct {
	base         *url.URL
	key          string
	timeout      time.Duration
	retryTimeout time.Duration
	transport    http.RoundTripper

	budget  *rate.Limiter // of the retries of all requests
	retries atomic.Int64
	reached atomic.Bool // a response has arrived

	mu    sync.Mutex
	token schemas.ConsistencyToken // the highest one received; zero: none
}

var transport = &http.Transport{MaxIdleConnsPerHost: MaxConnections, IdleConnTimeout: time.Minute, Proxy: http.ProxyFromEnvironment}

// retryRate is the maximum number of retries per second of all requests of a Client.
const retryRate = 100

// New returns a Client. It sends no request.
func New(c Config) (*Client, error) {
	base, err := ParseURL(c.URL)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("key: expected visible ASCII characters")
	}
	client := &Client{
		base: base, key: c.Key, transport: c.Transport, budget: rate.NewLimiter(retryRate, retryRate),
		timeout: cmp.Or(c.Timeout, DefaultTimeout), retryTimeout: cmp.Or(c.RetryTimeout, DefaultRetryTimeout),
	}
	if client.transport == nil {
		client.transport = transport
	}
	return client, nil
}

// ParseURL returns the URL of an edge. HOST:PORT means http://HOST:PORT, or https:// for
// port 443.
func ParseURL(text string) (*url.URL, error) {
	full := text
	if !strings.Contains(text, "://") {
		full = "http://" + text
	}
	u, err := url.Parse(full)
	switch {
	case err != nil:
		return nil, fmt.Errorf("url %q: %w", text, errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("url %q: expected http://HOST:PORT, https://HOST:PORT or HOST:PORT", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("url %q: expected neither a user nor a query nor a fragment", u.Redacted())
	}
	if full != text && u.Port() == "443" {
		u.Scheme = "https"
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// URL returns the address of the edge.
func (c *Client) URL() string { return c.base.String() }

// Retries returns the number of retries of requests so far, and of streams that
// were resumed.
func (c *Client) Retries() int64 { return c.retries.Load() }

// RoundTrip sends a request to the edge with the key, and without retries. It implements
// http.RoundTripper. The error is a *TransportError.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.key != "" && r.URL.Scheme == c.base.Scheme && r.URL.Host == c.base.Host { // no other server may learn the key
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, c.transportError(err)
	}
	c.reached.Store(true)
	return res, nil
}

// TransportError is a failed connection.
type TransportError struct {
	URL  string
	Dial bool // no connection was established
	Err  error
}

// Error implements error.
func (e *TransportError) Error() string {
	if e.Dial {
		return fmt.Sprintf("cannot connect to Cairn at %s (%v)", e.URL, e.Err)
	}
	return fmt.Sprintf("request to %s: %v", e.URL, e.Err)
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

func (c *Client) transportError(err error) error {
	var is *TransportError
	if errors.As(err, &is) {
		return err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return &TransportError{URL: c.URL(), Dial: true, Err: op.Err}
	}
	return &TransportError{URL: c.URL(), Err: err}
}

// StatusError is an unsuccessful response without an error body of Cairn, such as that of
// a proxy.
type StatusError struct {
	StatusCode int
	Host       string
	Status     string // such as "502 Bad Gateway"
	Text       string // the beginning of the body
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s responded with %s, not a Cairn error: %s", e.Host, e.Status, e.Text)
}

// storeTokens stores the consistency token of a response. A token of another catalog replaces the last one.
func (c *Client) storeTokens(h http.Header) {
	c.mu.Lock()
	if ignored := h.Get(headerIgnoredRevision); ignored != "" && ignored == c.token.String() {
		c.token = schemas.ConsistencyToken{}
	}
	c.mu.Unlock()
	c.storeToken(h.Get(headerRevision))
}

// storeToken stores the token of a read or of a write, if the text is one.
func (c *Client) storeToken(text string) {
	t, err := schemas.ParseConsistencyToken(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && (t.Catalog != c.token.Catalog || t.Revision > c.token.Revision) {
		c.token = t
	}
}

// minRevision returns the token of the writes that the next read must include; empty: none.
func (c *Client) minRevision() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token.Revision == 0 {
		return ""
	}
	return c.token.String()
}
