package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"

	"cairn/bus/telemetry"
	"cairn/services/internal/breaker"
)

const (
	// failuresToOpen is the number of consecutive failures that opens the circuit breaker.
	failuresToOpen = 5
	// maxResponse bounds a response in bytes; a truncated one is invalid JSON.
	maxResponse = 64 << 20
)

// elasticClient sends requests to the server, each with a timeout, and none while the
// circuit breaker is open.
type elasticClient struct {
	client    *elastictransport.Client
	transport *http.Transport
	host      string
	breaker   *breaker.Breaker
}

func newElasticClient(server *url.URL) (*elasticClient, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64  // searches arrive in bursts
	transport.DisableCompression = true // decompression costs more than it saves on a local network
	transport.DialContext = (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	transport.ResponseHeaderTimeout = 2 * writeTimeout // beyond every request timeout
	client, err := elastictransport.NewClient(
		elastictransport.WithURLs(server),
		elastictransport.WithTransport(transport),
		elastictransport.WithDisableRetry(), // callers decide which requests are idempotent
	)
	if err != nil {
		return nil, err
	}
	return &elasticClient{client, transport, server.Hostname(), breaker.New(breaker.Settings{
		Backend: "elasticsearch", Failures: failuresToOpen, Failed: down, Unavailable: ErrUnavailable,
	})}, nil
}

var errTimeout = errors.New("timeout")

// call sends req and decodes the response into answer. ErrUnavailable is transient;
// a *statusError means that the request is invalid.
func (c *elasticClient) call(ctx context.Context, limit time.Duration, req esapi.Request, answer any) error {
	within, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	return classify(c.breaker.Do(ctx, func() error {
		err := c.exchange(within, req, answer)
		if err != nil && within.Err() != nil {
			return fmt.Errorf("%w: %s", context.Cause(within), limit)
		}
		return err
	}))
}

func (c *elasticClient) exchange(ctx context.Context, req esapi.Request, answer any) error {
	status := 0
	ctx, span := telemetry.Search(ctx, req, c.host)
	defer func() { span.Searched(status) }()
	res, err := req.Do(ctx, c.client)
	if err != nil {
		return &connectionError{err}
	}
	defer func() { _ = res.Body.Close() }() // the body was read
	status = res.StatusCode
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return &connectionError{err}
	}
	if res.IsError() {
		return newStatusError(res.StatusCode, body)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("response of %d bytes: %w", len(body), err)
	}
	return nil
}

// classify separates transient errors from permanent ones.
func classify(err error) error {
	var status *statusError
	switch {
	case err == nil, errors.Is(err, breaker.ErrCanceled), errors.Is(err, ErrUnavailable):
		return err
	case errors.As(err, &status) && status.invalid():
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// down reports whether err indicates a failed server; a rejected request does not.
func down(err error) bool {
	var status *statusError
	return !errors.As(err, &status) || status.code >= http.StatusInternalServerError
}
