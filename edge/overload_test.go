package edge_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/overload"
	"cairn/edge"
	"cairn/schemas"
	"cairn/test/wait"
)

// crowded returns an edge that admits no further requests.
func crowded(t *testing.T) *testEdge {
	t.Helper()
	gate := overload.New(1)
	gate.Admit("")
	return open(t, func(c *edge.Config) { c.SetOverload(gate) })
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
	full := overload.New(1)
	full.Admit("")
	f := open(t, func(c *edge.Config) { c.SetStreams(full) })
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
		if a := f.request(t, http.MethodPost, row.path, row.body, row.headers...); !strings.Contains(a.body, "the edge is overloaded") {
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

// TestSlowWorkersDoNotOccupyTheEdge sends more requests that wait for a backend than may
// run at once.
func TestSlowWorkersDoNotOccupyTheEdge(t *testing.T) {
	t.Parallel()
	const requests = 16
	gate := overload.New(1024)
	gate.Adjust(time.Second)
	f := open(t, func(c *edge.Config) { c.SetOverload(gate) })
	var all sync.WaitGroup
	all.Add(requests)
	must(t, bus.DeleteTag.Serve(f.service, func(ctx context.Context, _ schemas.TagKey) (schemas.Nothing, error) {
		// On a busy machine the worker limits the requests that run, too.
		return schemas.Nothing{}, overload.Idle(ctx, func() error {
			all.Done()
			all.Wait()
			return nil
		})
	}))
	var clients sync.WaitGroup
	for range requests {
		clients.Go(func() {
			if a := f.request(t, http.MethodDelete, "/tags/a", nil); a.status != http.StatusNoContent {
				t.Errorf("got %d %s, want 204", a.status, a.body)
			}
		})
	}
	clients.Wait()
}

// limited returns an edge of whose streams as few run as under load, and their limit.
func limited(t *testing.T) (f *testEdge, gate *overload.Gate, limit int) {
	t.Helper()
	gate = overload.New(1024)
	gate.Adjust(time.Second)
	return open(t, func(c *edge.Config) { c.SetStreams(gate) }), gate, 2 * runtime.GOMAXPROCS(0)
}

// TestStreamsWaitToRun requests an analysis while as many streams run as may at once.
func TestStreamsWaitToRun(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		path    string
		body    io.Reader
		headers []string
	}{
		{"/api/v1/analyze", strings.NewReader(question), nil},
		{"/a2a", agentMessage(`"{}"`), a2aHeaders},
		{"/mcp", tool("ask_estate", `{"query":"q","estate":{}}`), mcpHeaders},
	} {
		t.Run(row.path, func(t *testing.T) { t.Parallel(); streamsWait(t, row.path, row.body, row.headers) })
	}
}

func streamsWait(t *testing.T, path string, body io.Reader, headers []string) {
	t.Helper()
	f, gate, limit := limited(t)
	var ended atomic.Bool
	analyses(t, f, func(context.Context, bus.Sender) error {
		if !ended.Load() {
			t.Error("the analysis started while other streams ran")
		}
		return nil
	})
	var others []*overload.Slot
	for i := range limit {
		others = append(others, gate.Wait(t.Context(), strconv.Itoa(i)))
	}
	answered := make(chan answer)
	go func() { answered <- f.request(t, http.MethodPost, path, body, headers...) }()
	wait.Until(t, "the stream is admitted", func() bool { return gate.Used() == int64(limit)+1 })
	f.request(t, http.MethodGet, "/health/live", nil) // a stream that does not wait starts meanwhile
	ended.Store(true)
	for _, s := range others {
		s.Close()
	}
	if a := <-answered; a.status != http.StatusOK {
		t.Errorf("got %d %s, want 200", a.status, a.body)
	}
}

// TestSlowUploadsDoNotRun requests an analysis while the bodies of more streams arrive than may
// run at once.
func TestSlowUploadsDoNotRun(t *testing.T) {
	t.Parallel()
	f, gate, limit := limited(t)
	analyses(t, f, func(context.Context, bus.Sender) error { return nil })
	for range 2 * limit {
		f.unfinished(t, "POST /api/v1/analyze HTTP/1.1", 100, "{")
	}
	wait.Until(t, "the streams are admitted", func() bool { return gate.Used() == int64(2*limit) })
	if a := f.request(t, http.MethodPost, "/api/v1/analyze", strings.NewReader(question)); a.status != http.StatusOK {
		t.Errorf("got %d %s, want 200", a.status, a.body)
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
	f := open(t, func(c *edge.Config) { c.SetOverload(overload.New(1)) })
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
	f := open(t, func(c *edge.Config) { c.SetOverload(overload.New(1)) })
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

// TestAnswersWithoutWorkerYield checks that a goroutine that is ready runs before the edge answers an A2A or
// MCP message itself. It is not parallel, because it changes GOMAXPROCS.
func TestAnswersWithoutWorkerYield(t *testing.T) {
	const requests = 100
	handler := edge.NewHandler(t, edge.Config{Conn: bustest.Open(t), Log: slog.New(slog.DiscardHandler)})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, row := range []struct {
		path, body string
		headers    []string
	}{
		{"/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`, a2aHeaders},
		{"/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, mcpHeaders},
	} {
		yielded := 0
		for range requests {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, row.path, strings.NewReader(row.body))
			for _, h := range row.headers {
				name, value, _ := strings.Cut(h, ": ")
				req.Header.Set(name, value)
			}
			req.Host = "localhost"
			var ran atomic.Bool
			go ran.Store(true)
			w := &beginRecorder{ResponseRecorder: httptest.NewRecorder(), ran: &ran}
			if handler.ServeHTTP(w, req); w.yielded {
				yielded++
			}
		}
		if yielded < requests/2 { // every 61st time the scheduler prefers goroutines that have yielded
			t.Errorf("%s: the goroutine ran before %d of %d answers", row.path, yielded, requests)
		}
	}
}

// beginRecorder records whether ran was set when the response began.
type beginRecorder struct {
	*httptest.ResponseRecorder
	ran     *atomic.Bool
	yielded bool
}

func (r *beginRecorder) WriteHeader(status int) {
	r.yielded = r.ran.Load()
	r.ResponseRecorder.WriteHeader(status)
}
