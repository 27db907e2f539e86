package edge_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

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

// crowded returns an edge that admits no further requests.
func crowded(t *testing.T) *testEdge {
	t.Helper()
	return open(t, func(c *edge.Config) { c.SetRequests(full()) })
}

func TestOverload(t *testing.T) {
	t.Parallel()
	f := crowded(t)
	must(t, bus.DeleteTag.Serve(f.service, func(context.Context, schemas.TagKey) (schemas.Nothing, error) {
		t.Error("a worker received a request")
		return schemas.Nothing{}, nil
	}))
	for _, c := range []struct{ method, path, body, code string }{
		{http.MethodDelete, "/tags/a", "", "CE-011"},
		{http.MethodPost, "/register/skill", "{}", "CE-011"},
		{http.MethodPost, "/resolve/skill", strings.Repeat(" ", 1<<19) + "{}", "CE-011"},
	} {
		a := f.request(t, c.method, c.path, strings.NewReader(c.body))
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: got %d, want 503 with Retry-After", c.method, c.path, a.status)
		}
		if e := a.problem(t); e.Code != c.code || !strings.Contains(e.Detail, "overloaded") {
			t.Errorf("%s %s: got %s %q, want %s", c.method, c.path, e.Code, e.Detail, c.code)
		}
	}
}

// TestOverloadRefusals checks that each refusal is counted once, since the rate of refusals bounds
// immediate ones. It is not parallel, because the process has one counter.
func TestOverloadRefusals(t *testing.T) {
	f := open(t, func(c *edge.Config) { c.SetStreams(full()) })
	before := f.refusals(t)
	for i, row := range []struct {
		name, path string
		body       io.Reader
		headers    []string
	}{
		{"an analysis", "/api/v1/analyze", strings.NewReader(question), nil},
		{"an A2A message", "/a2a", agentMessage(`"{}"`), a2aHeaders},
		{"an MCP tool", "/mcp", tool("ask_estate", `{"query":"q","estate":{}}`), mcpHeaders},
	} {
		if a := f.request(t, http.MethodPost, row.path, row.body, row.headers...); !strings.Contains(a.body,
			"the edge is overloaded") {
			t.Errorf("%s: got %d %s, want the refusal", row.name, a.status, a.body)
		}
		if got, want := f.refusals(t), before+i+1; got != want {
			t.Errorf("%s: %d refusals, want %d", row.name, got, want)
		}
	}
}

// TestOverloadAdmitsProbes requests routes that report problems or cancel work.
func TestOverloadAdmitsProbes(t *testing.T) {
	t.Parallel()
	f := crowded(t)
	for _, row := range []string{
		"GET /health", "GET /health/live", "GET /health/ready", "GET /metrics", "GET /openapi.json",
		"GET /api/v1/analyze/none", "DELETE /api/v1/analyze/none",
	} {
		method, path, _ := strings.Cut(row, " ")
		if a := f.request(t, method, path, nil); strings.Contains(a.body, "the edge is overloaded") {
			t.Errorf("%s: refused: %d %s", row, a.status, a.body)
		}
	}
}

// large serves tags with size bytes each.
func large(t *testing.T, f *testEdge, size int) {
	t.Helper()
	must(t, bus.ReadTag.Serve(f.service, func(context.Context, schemas.TagKey) (schemas.TagFound, error) {
		value := jsontext.Value(`"` + strings.Repeat("x", size) + `"`)
		return schemas.TagFound{Tags: schemas.Tag{Tags: map[string]jsontext.Value{"x": value}}}, nil
	}))
}

// TestUnreadResponsesHoldNoSlot has a client that does not read a response larger than
// the buffers of its connection.
func TestUnreadResponsesHoldNoSlot(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.SetRequests(admission.NewPool(1)) })
	large(t, f, 7<<20)
	f.unfinished(t, "GET /tags/a HTTP/1.1", 0, "")
	wait.Until(t, "another request is answered", func() bool {
		return f.request(t, http.MethodGet, "/tags/a", nil).status == http.StatusOK
	})
}

// TestResponsesCountAgainstTheMemoryForBodies keeps a response unread.
func TestResponsesCountAgainstTheMemoryForBodies(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.BodyMemory = 10 << 20 })
	large(t, f, 7<<20)
	var unread net.Conn
	wait.Until(t, "the first response begins with status 200", func() bool {
		unread = f.unfinished(t, "GET /tags/a HTTP/1.1", 0, "")
		status := make([]byte, len("HTTP/1.1 200"))
		_, err := io.ReadFull(unread, status)
		must(t, err)
		return string(status) == "HTTP/1.1 200"
	})
	wait.Until(t, "a response that exceeds the memory is refused", func() bool {
		a := f.request(t, http.MethodGet, "/tags/a", nil)
		return a.status == http.StatusServiceUnavailable && strings.Contains(a.body, "--body-memory")
	})
	must(t, unread.Close())
	wait.Until(t, "the memory of the unread response is released", func() bool {
		return f.request(t, http.MethodGet, "/tags/a", nil).status == http.StatusOK
	})
}

// TestDisconnectedClientsHoldTheirSlot has a worker that is still busy with the request of
// a client that has disconnected.
func TestDisconnectedClientsHoldTheirSlot(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.SetRequests(admission.NewPool(1)) })
	row, release := make(chan struct{}), make(chan struct{})
	must(t, bus.DeleteTag.Serve(f.service, func(context.Context, schemas.TagKey) (schemas.Nothing, error) {
		row <- struct{}{}
		<-release
		return schemas.Nothing{}, nil
	}))
	large(t, f, 1)
	client := f.unfinished(t, "DELETE /tags/a HTTP/1.1", 0, "")
	<-row
	must(t, client.Close())
	holdsSlotUntil(t, f, release)
}

// holdsSlotUntil checks that the only slot is held until release is closed, and no longer.
func holdsSlotUntil(t *testing.T, f *testEdge, release chan struct{}) {
	t.Helper()
	for range 20 { // the edge notices the disconnect meanwhile
		if a := f.request(t, http.MethodGet, "/tags/a", nil); a.status != http.StatusServiceUnavailable {
			t.Fatalf("while the worker is busy: got %d %s, want 503", a.status, a.body)
		}
	}
	close(release)
	wait.Until(t, "another request is answered", func() bool {
		return f.request(t, http.MethodGet, "/tags/a", nil).status == http.StatusOK
	})
}
