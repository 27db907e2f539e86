package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/elastic/elastic-transport-go/v8/elastictransport"
	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"
	"github.com/sony/gobreaker/v2"

	"cairn/bus/overload"
	"cairn/bus/telemetry"
)

const (
	// Consecutive failures that open the circuit breaker.
	failuresToOpen = 5
	// Interval of probes while the circuit breaker is open.
	pause = 5 * time.Second
	// breakerName is the circuit breaker's label in metrics.
	breakerName = "elasticsearch"
	// maxResponse bounds a response in bytes; a truncated one is invalid JSON.
	maxResponse = 64 << 20
)

// link sends requests to the server, each with a timeout, and none while the
// circuit breaker is open.
type link struct {
	client    *elastictransport.Client
	transport *http.Transport
	host      string
	breaker   *gobreaker.CircuitBreaker[struct{}]
	failure   atomic.Pointer[error] // the last error that the circuit breaker counted
}

func newLink(server *url.URL) (*link, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64  // searches arrive in bursts
	transport.DisableCompression = true // decompression costs more than it saves on a local network
	transport.DialContext = (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	transport.ResponseHeaderTimeout = 2 * writeTime // beyond every request timeout
	client, err := elastictransport.NewClient(
		elastictransport.WithURLs(server),
		elastictransport.WithTransport(transport),
		elastictransport.WithDisableRetry(), // callers decide which requests are idempotent
	)
	if err != nil {
		return nil, err
	}
	l := &link{client: client, transport: transport, host: server.Hostname()}
	telemetry.CircuitState(breakerName, int(gobreaker.StateClosed))
	l.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:       pause,
		OnStateChange: func(_ string, _, now gobreaker.State) { telemetry.CircuitState(breakerName, int(now)) },
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failuresToOpen },
		IsSuccessful:  func(err error) bool { return !down(err) },
		IsExcluded:    func(err error) bool { return errors.Is(err, errCanceled) },
	})
	return l, nil
}

var (
	errTimeout  = errors.New("timeout")
	errCanceled = errors.New("request canceled")
)

// call sends req and decodes the response into answer. ErrUnavailable is transient;
// a *statusError means that the request is invalid.
func (l *link) call(ctx context.Context, limit time.Duration, req esapi.Request, answer any) error {
	return overload.Idle(ctx, func() error { return l.try(ctx, limit, req, answer) })
}

func (l *link) try(ctx context.Context, limit time.Duration, req esapi.Request, answer any) error {
	within, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	_, err := l.breaker.Execute(func() (struct{}, error) {
		err := l.exchange(within, req, answer)
		switch {
		case err != nil && ctx.Err() != nil:
			err = fmt.Errorf("%w: %w", errCanceled, ctx.Err())
		case err != nil && within.Err() != nil:
			err = fmt.Errorf("%w: %s", context.Cause(within), limit)
		}
		if down(err) {
			l.failure.Store(&err)
		}
		return struct{}{}, err
	})
	return l.classify(err)
}

func (l *link) exchange(ctx context.Context, req esapi.Request, answer any) error {
	status := 0
	ctx, span := telemetry.Search(ctx, req, l.host)
	defer func() { span.Searched(status) }()
	res, err := req.Do(ctx, l.client)
	if err != nil {
		return &connectionError{err}
	}
	defer res.Body.Close()
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
func (l *link) classify(err error) error {
	var status *statusError
	switch {
	case err == nil, errors.Is(err, errCanceled):
		return err
	case errors.As(err, &status) && status.invalid():
		return err
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		if last := l.failure.Load(); last != nil {
			// The last failure is context, not the cause, so it is not wrapped.
			return fmt.Errorf("%w: %w, the last failure was: %v", ErrUnavailable, err, *last)
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// down reports whether err indicates a failed server; a rejected request does not.
func down(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.code >= http.StatusInternalServerError
	}
	return err != nil && !errors.Is(err, errCanceled)
}

func (l *link) close() { l.transport.CloseIdleConnections() }
