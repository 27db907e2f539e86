// Package client connects commands to a running Cairn: with its HTTP API, whose event
// streams it resumes, and with its NATS server.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

// RequestTimeout bounds a request without a stream.
const RequestTimeout = 30 * time.Second

// MaxConnections is the maximum number of concurrent requests of a command. Concurrent
// registrations are synced and indexed in batches. It is half of the default limit of a
// worker.
const MaxConnections = 512

// HTTP is a client of the HTTP API with the flags of its connection.
type HTTP struct {
	URL string
	key string
}

var transport = &http.Transport{MaxIdleConnsPerHost: MaxConnections, Proxy: http.ProxyFromEnvironment}

// Flags defines --url, --key and --key-file.
func (c *HTTP) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.URL, "url", "http://127.0.0.1:8080", "`URL` of Cairn")
	flags.Secret(cmd.Flags(), &c.key, "key", "", "API `KEY` or OIDC token")
}

// Answer is a successful response.
type Answer struct {
	Body   []byte
	Header http.Header
}

// Post sends v as JSON.
func (c *HTTP) Post(ctx context.Context, path string, v any) (Answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Answer{}, err
	}
	return c.exchange(ctx, http.MethodPost, path, body)
}

// Delete sends a DELETE request.
func (c *HTTP) Delete(ctx context.Context, path string) error {
	_, err := c.exchange(ctx, http.MethodDelete, path, nil)
	return err
}

// exchange sends a request and reads the response.
func (c *HTTP) exchange(ctx context.Context, method, path string, body []byte) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	res, err := c.Open(ctx, method, path, body)
	if err != nil {
		return Answer{}, err
	}
	return c.read(res)
}

// read reads and closes res. It returns an error for an unsuccessful status.
func (c *HTTP) read(res *http.Response) (Answer, error) {
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return Answer{}, c.requestError(err)
	case res.StatusCode >= 300:
		return Answer{}, refused(res, body)
	}
	return Answer{body, res.Header}, nil
}

// Open sends a request, with headers as name-value pairs, and returns the response
// before its body is read. The caller closes the body.
func (c *HTTP) Open(ctx context.Context, method, path string, body []byte, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, c.requestError(err)
	}
	return res, nil
}

// requestError describes a failed exchange.
func (c *HTTP) requestError(err error) error {
	var op *net.OpError
	var bad *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("cannot connect to Cairn at %s (%w); start it with \"cairn up\", or set --url", c.URL, op.Err)
	case errors.As(err, &bad):
		err = bad.Err
	}
	return fmt.Errorf("request to %s: %w", c.URL, err)
}

// Reachable returns an error if no server responds. An unhealthy server is reachable: it
// may recover before the first request.
func (c *HTTP) Reachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	res, err := c.Open(ctx, http.MethodGet, "/health", nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Health returns the health of Cairn, or an error if it is down or unreachable.
func (c *HTTP) Health(ctx context.Context) (h schemas.Health, err error) {
	a, err := c.exchange(ctx, http.MethodGet, "/health", nil)
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(a.Body, &h)
}

// HealthReport returns the health of Cairn and its JSON text, also if Cairn is down.
func (c *HTTP) HealthReport(ctx context.Context) (h schemas.Health, text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	res, err := c.Open(ctx, http.MethodGet, "/health", nil)
	if err != nil {
		return h, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err = io.ReadAll(res.Body)
	if err != nil {
		return h, nil, c.requestError(err)
	}
	if err := json.Unmarshal(text, &h); err != nil || h.Status == "" {
		return h, nil, refused(res, text) // the body of a 503 is a health report, too
	}
	return h, text, nil
}

// Analyze asks a question and passes each event to take. It resumes an interrupted
// stream, and cancels the analysis if ctx ends before the last event.
func (c *HTTP) Analyze(ctx context.Context, question schemas.Analysis, take func(Event) error) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	res, err := c.Open(ctx, http.MethodPost, analyzePath, body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		_, err := c.read(res)
		return err
	}
	s := NewStream(c, res, take)
	defer s.cancel(ctx)
	return s.ToEnd(ctx)
}

// refused returns the error of a response: the error body of Cairn if there is one,
// otherwise the status.
func refused(res *http.Response, body []byte) error {
	var e schemas.Error
	if json.Unmarshal(body, &e) == nil && e.Code != "" {
		return &e
	}
	text := strings.TrimSpace(string(body[:min(200, len(body))]))
	return fmt.Errorf("%s answered %s, not a Cairn error: %s", res.Request.URL.Host, res.Status, text)
}

// Backends returns the backends of the services by name.
func Backends(h schemas.Health, services ...string) map[string]string {
	backends := map[string]string{}
	for _, s := range h.Services {
		if slices.Contains(services, s.Service) {
			maps.Copy(backends, s.Backends)
		}
	}
	return backends
}
