package edge_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/edge"
	"cairn/schemas"
	"cairn/test/wait"
)

// full returns a pool without a free unit.
func full() *admission.Pool {
	p := admission.NewPool(1)
	p.Acquire("", 1)
	return p
}

// TestOverload sends requests until no further one of the tenant may wait for the worker.
func TestOverload(t *testing.T) {
	t.Parallel()
	f := open(t)
	released, release := context.WithCancel(t.Context())
	must(t, bus.DeleteTag.Serve(f.service, func(context.Context, schemas.TagKey) (schemas.Nothing, error) {
		<-released.Done()
		return schemas.Nothing{}, nil
	}))
	var callers sync.WaitGroup
	defer callers.Wait()
	defer release()
	var refused atomic.Bool
	for range 1024 {
		callers.Go(func() {
			if _, err := bus.DeleteTag.Call(t.Context(), f.conn, schemas.TagKey{RequestID: "a"}); bus.Busy(err) {
				refused.Store(true)
			}
		})
	}
	wait.Until(t, "the connection refuses further requests", refused.Load)
	a := f.request(t, http.MethodDelete, "/tags/a", nil)
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("got %d, want 503 with Retry-After", a.status)
	}
	if e := a.problem(t); e.Code != "CE-011" || !strings.Contains(e.Detail, "overloaded") {
		t.Errorf("got %s %q, want CE-011", e.Code, e.Detail)
	}
	if a := f.request(t, http.MethodGet, "/health/live", nil); a.status != http.StatusOK {
		t.Errorf("a probe: got %d %s", a.status, a.body)
	}
}

// TestOverloadRefusals refuses an analysis of each protocol.
func TestOverloadRefusals(t *testing.T) {
	f := open(t, func(c *edge.Config) { c.SetStreams(full()) })
	const text = "the edge is overloaded"
	f.checkRefusal(t, "/api/v1/analyze", strings.NewReader(question), text)
	f.checkRefusal(t, "/a2a", agentMessage(`"{}"`), text)
	f.checkRefusal(t, "/mcp", tool("ask_estate", `{"query":"q","estate":{}}`), text)
}

// large serves tags with size bytes each.
func large(t *testing.T, f *testEdge, size int) {
	t.Helper()
	must(t, bus.ReadTag.Serve(f.service, func(context.Context, schemas.TagKey) (schemas.TagFound, error) {
		value := jsontext.Value(`"` + strings.Repeat("x", size) + `"`)
		return schemas.TagFound{Tags: schemas.Tag{Tags: map[string]jsontext.Value{"x": value}}}, nil
	}))
}

// TestResponsesCountAgainstTheMemoryForBodies keeps a response unread.
func TestResponsesCountAgainstTheMemoryForBodies(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.BodyMemory = 8 << 20 })
	large(t, f, 5<<20) // more than the send buffer of the kernel
	unread := f.dial(t)
	wait.Until(t, "a response that exceeds the memory is refused", func() bool {
		_ = unread.Close() // its write times out on a busy machine
		unread = f.unfinished(t, "GET /tags/a HTTP/1.1", 0, "")
		_ = unread.SetDeadline(time.Now().Add(wait.Timeout))
		status := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(unread, status); err != nil || string(status) != "HTTP/1.1 200" {
			return false
		}
		a := f.request(t, http.MethodGet, "/tags/a", nil)
		return a.status == http.StatusServiceUnavailable && strings.Contains(a.body, "--body-memory")
	})
	must(t, unread.Close())
	wait.Until(t, "the memory of the unread response is released", func() bool {
		return f.request(t, http.MethodGet, "/tags/a", nil).status == http.StatusOK
	})
}
