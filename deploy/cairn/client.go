package main

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
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

const (
	// requestTimeout bounds a request without a stream.
	requestTimeout = 30 * time.Second
	// connections is the maximum number of concurrent requests.
	connections = 32
)

// client is an HTTP client of Cairn.
type client struct {
	url string
	key string
}

var transport = &http.Transport{MaxIdleConnsPerHost: registrations, Proxy: http.ProxyFromEnvironment}

func (c *client) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.url, "url", "http://127.0.0.1:8080", "`URL` of Cairn")
	flags.Secret(cmd.Flags(), &c.key, "key", "", "API `KEY` or OIDC token")
}

// answer is a successful response.
type answer struct {
	body   []byte
	header http.Header
}

// post sends v as JSON.
func (c *client) post(ctx context.Context, path string, v any) (answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := c.open(ctx, http.MethodPost, path, body)
	if err != nil {
		return answer{}, err
	}
	return c.read(res)
}

// read reads and closes res. It returns an error for an unsuccessful status.
func (c *client) read(res *http.Response) (answer, error) {
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return answer{}, c.requestError(err)
	case res.StatusCode >= 300:
		return answer{}, refused(res, body)
	}
	return answer{body, res.Header}, nil
}

// open sends a request, with headers as name-value pairs, and returns the response
// before its body is read. The caller closes the body.
func (c *client) open(ctx context.Context, method, path string, body []byte, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.url, "/")+path, bytes.NewReader(body))
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

// requestError describes a failed exchange.
func (c *client) requestError(err error) error {
	var op *net.OpError
	var bad *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("cannot connect to Cairn at %s (%w); start it with \"cairn up\", or set --url", c.url, op.Err)
	case errors.As(err, &bad):
		err = bad.Err
	}
	return fmt.Errorf("request to %s: %w", c.url, err)
}
