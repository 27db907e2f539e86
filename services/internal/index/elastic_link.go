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

	"cairn/bus/telemetry"
)

const (
	// So many failures in a row are no accident.
	failuresToOpen = 5
	// One request in this time finds out whether the server is back.
	pause = 5 * time.Second
	// breakerName is what the circuit is called in metrics.
	breakerName = "elasticsearch"
	// mostAnswer is far more than any answer has, in bytes. What is cut off is no JSON.
	mostAnswer = 64 << 20
)

// link carries requests to a server: each within its time, and none at all
// while the server is known to be down.
type link struct {
	client    *elastictransport.Client
	transport *http.Transport
	host      string
	breaker   *gobreaker.CircuitBreaker[struct{}]
	failure   atomic.Pointer[error] // the last one that counted
}

func newLink(server *url.URL) (*link, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64  // searches come together
	transport.DisableCompression = true // that takes longer than to send what is saved
	transport.DialContext = (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	transport.ResponseHeaderTimeout = 2 * writeTime // beyond every deadline of ours
	client, err := elastictransport.NewClient(
		elastictransport.WithURLs(server),
		elastictransport.WithTransport(transport),
		elastictransport.WithDisableRetry(), // who asks knows what may be repeated
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
		IsExcluded:    func(err error) bool { return errors.Is(err, errLeft) },
	})
	return l, nil
}

var (
	errSlow = errors.New("no answer in time")
	errLeft = errors.New("the caller did not wait")
)

// call sends req and decodes its answer. Errors that are ErrUnavailable may be
// gone at the next try; a *statusError says what is wrong with the request.
func (l *link) call(ctx context.Context, limit time.Duration, req esapi.Request, answer any) error {
	within, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	_, err := l.breaker.Execute(func() (struct{}, error) {
		err := l.exchange(within, req, answer)
		switch {
		case err != nil && ctx.Err() != nil:
			err = fmt.Errorf("%w: %w", errLeft, ctx.Err())
		case err != nil && within.Err() != nil:
			err = fmt.Errorf("%w: %s", context.Cause(within), limit)
		}
		if down(err) {
			l.failure.Store(&err)
		}
		return struct{}{}, err
	})
	return l.judge(err)
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
	body, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return &connectionError{err}
	}
	if res.IsError() {
		return newStatusError(res.StatusCode, body)
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("answer of %d bytes: %w", len(body), err)
	}
	return nil
}

// judge tells what may be gone at the next try from what will not.
func (l *link) judge(err error) error {
	var status *statusError
	switch {
	case err == nil, errors.Is(err, errLeft):
		return err
	case errors.As(err, &status) && status.ours():
		return err
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		if last := l.failure.Load(); last != nil {
			// The last failure is not this one: it is told, not wrapped.
			return fmt.Errorf("%w: %w, the last failure was: %v", ErrUnavailable, err, *last)
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// down reports whether err speaks against the server: it does not when the
// server answered that it will not do this, or not now.
func down(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.code >= http.StatusInternalServerError
	}
	return err != nil && !errors.Is(err, errLeft)
}

func (l *link) close() { l.transport.CloseIdleConnections() }
