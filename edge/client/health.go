package client

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

// Health returns the health of Cairn, also if it is down. It is not retried. A caller
// without a credential for all tenants receives the status alone.
func (c *Client) Health(ctx context.Context) (h schemas.Health, err error) {
	h, _, err = c.HealthResponse(ctx)
	return h, err
}

// HealthResponse returns the health of Cairn with the headers of the response.
func (c *Client) HealthResponse(ctx context.Context) (h schemas.Health, header http.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	res, err := c.Open(ctx, http.MethodGet, "/health", nil, nil)
	if err != nil {
		return h, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := c.readAll(res)
	if err != nil {
		return h, nil, err
	}
	if err := json.Unmarshal(text, &h); err != nil || h.Status == "" {
		return h, nil, responseError(res, text) // the body of a 503 is a health report, too
	}
	return h, res.Header, nil
}

// Ping returns an error if no server responds. An unhealthy server does: it may recover
// before the next request.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	res, err := c.Open(ctx, http.MethodGet, "/health", nil, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}
