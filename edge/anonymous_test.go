package edge_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/bus"
	"cairn/edge"
	"cairn/schemas"
	"cairn/test/wait"
)

// at returns f for a client with another loopback address.
func (f *testEdge) at(t *testing.T, address string) *testEdge {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	// A monitor closes connections of an address beyond its share. With the race detector, compression takes longer
	// than the interval of the rate limit.
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64, MaxConnsPerHost: 16,
		DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	other := *f
	other.client = &http.Client{Transport: transport}
	return &other
}

// Concurrent probes share one health check of each service.
func TestProbesShareOneCheck(t *testing.T) {
	t.Parallel()
	f := open(t)
	var checks atomic.Int32
	must(t, bus.Health("tags").Serve(f.service, func(context.Context, schemas.Nothing) (schemas.Health, error) {
		checks.Add(1)
		return schemas.Health{Service: "tags", Status: schemas.StatusOK}, nil
	}))
	began := time.Now()
	for _, path := range []string{"/health", "/health/ready"} {
		var probes sync.WaitGroup
		for range 100 {
			probes.Go(func() { f.request(t, "GET", path, nil) })
		}
		probes.Wait()
	}
	// A check that is slow on a busy machine is hedged, like any read.
	if limit := 5 * (2 + 2*int32(time.Since(began)/(250*time.Millisecond))); checks.Load() > limit {
		t.Errorf("%d checks for 200 probes, want at most %d", checks.Load(), limit)
	}
}

// Unauthenticated requests of one client address to one route are rate-limited, without
// effect on other addresses and other routes.
func TestPublicRoutesAreRateLimited(t *testing.T) {
	t.Parallel()
	f := open(t)
	flooder := f.at(t, "127.0.0.2")
	f.checkRateLimits(t, "/openapi.json", "/docs", "/health", "/health/ready", "/health/live")
	if a := flooder.request(t, "GET", "/tags/r", nil); a.status == http.StatusTooManyRequests {
		t.Errorf("a route with a credential: %d", a.status)
	}
}

// TestMonitorIsRateLimited floods the listener for probes and metrics. Gathering metrics under the race detector
// takes too long to exceed the limit.
func TestMonitorIsRateLimited(t *testing.T) {
	t.Parallel()
	monitored(t, func(*edge.Monitor) {}).checkRateLimits(t, "/health/ready", "/health/live")
}

// checkRateLimits floods each path from one address until it is refused, and sends a request from another one.
func (f *testEdge) checkRateLimits(t *testing.T, paths ...string) {
	t.Helper()
	flooder, kubelet := f.at(t, "127.0.0.2"), f.at(t, "127.0.0.3")
	for _, path := range paths {
		refused := flooder.refusal(t, path)
		if wait, err := strconv.Atoi(refused.header.Get("Retry-After")); err != nil || wait < 1 ||
			refused.problem(t).Code != "CE-008" {
			t.Errorf("%s: %s, Retry-After %q", path, refused.body, refused.header.Get("Retry-After"))
		}
		if a := kubelet.request(t, "GET", path, nil); a.status == http.StatusTooManyRequests {
			t.Errorf("%s of another address: %d", path, a.status)
		}
	}
}

// refusal floods the path on 16 connections until a GET request is refused, and returns that response.
// The flood consists of HEAD requests: large responses could be slower than the limit.
func (f *testEdge) refusal(t *testing.T, path string) (refused answer) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), wait.Timeout)
	defer stop()
	send := func(method string) (a answer) {
		req, err := http.NewRequestWithContext(ctx, method, f.url+path, nil)
		if err != nil {
			t.Error(err)
			return a
		}
		res, err := f.client.Do(req)
		if err != nil {
			return a // stopped, or a connection beyond the share of the address
		}
		body, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
		_ = res.Body.Close()
		return answer{res.StatusCode, res.Header, string(body)}
	}
	var once sync.Once
	var flood sync.WaitGroup
	for range 16 {
		flood.Go(func() {
			for ctx.Err() == nil {
				if send(http.MethodHead).status != http.StatusTooManyRequests {
					continue
				}
				if a := send(http.MethodGet); a.status == http.StatusTooManyRequests {
					once.Do(func() { refused = a })
					stop()
				}
			}
		})
	}
	flood.Wait()
	if refused.status == 0 {
		t.Fatalf("%s does not refuse a flood", path)
	}
	return refused
}
