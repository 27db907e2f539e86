package edge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/edge"
	"cairn/schemas"
	"cairn/test/wait"
)

var a2aHeaders = []string{"Content-Type: application/json", "A2A-Version: 1.0"}

// agentMessage returns a message to the analysis agent with an estate.
func agentMessage(estate string) *strings.Reader {
	return strings.NewReader(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"q"},{"data":` + estate + `}]}}`)
}

// TestAgentMemory refuses a message whose copies do not fit into the memory for bodies, in the
// form of the protocol.
func TestAgentMemory(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.BodyMemory = 1 << 20 })
	got := f.request(t, http.MethodPost, "/a2a/v1/message:send", agentMessage(`"`+strings.Repeat("x", 300<<10)+`"`), a2aHeaders...)
	if got.status != 503 || !strings.Contains(got.body, "--body-memory") || !strings.Contains(got.body, `"status":"UNAVAILABLE"`) ||
		got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestAgentFailures answers with the errors of workers, and for a defect with the request id.
func TestAgentFailures(t *testing.T) {
	t.Parallel()
	f := open(t)
	must(t, bus.Analyze.Setup(t.Context(), f.conn, bucket.Replication{}))
	must(t, bus.Analyze.Serve(f.service, func(_ context.Context, a schemas.Analysis, _ bus.Sender) error {
		if a.Context == `"full"` {
			return schemas.ErrTooManyRequests.Because("the limit is reached")
		}
		panic("defect")
	}))
	for _, path := range []string{"/a2a/v1/message:send", "/a2a/v1/message:stream"} {
		got := f.request(t, http.MethodPost, path, agentMessage(`{}`), append(a2aHeaders, "X-Request-Id: mine")...)
		if got.status != 500 || !strings.Contains(got.body, `"requestId":"mine"`) || strings.Contains(got.body, "defect") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, estate := range []string{`"\"full\""`} {
		got := f.request(t, http.MethodPost, "/a2a/v1/message:send", agentMessage(estate), a2aHeaders...)
		if got.status != 429 || got.header.Get("Retry-After") == "" {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

// TestDisconnectedAgentClientsAreNotFailures disconnects before the first event. The client causes
// no error in the log, and no response of status 500 in the metrics.
func TestDisconnectedAgentClientsAreNotFailures(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	f := open(t, func(c *edge.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	must(t, bus.Analyze.Setup(t.Context(), f.conn, bucket.Replication{}))
	entered := make(chan struct{})
	must(t, bus.Analyze.Serve(f.service, func(ctx context.Context, _ schemas.Analysis, _ bus.Sender) error {
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}))
	const rpc = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`
	for _, row := range []struct{ path, prefix, suffix string }{
		{"/a2a/v1/message:send", "", ""}, {"/a2a/v1/message:stream", "", ""}, {"/a2a", rpc, "}"},
	} {
		ctx, disconnect := context.WithCancel(t.Context())
		body := io.MultiReader(strings.NewReader(row.prefix), agentMessage(`{}`), strings.NewReader(row.suffix))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+row.path, body)
		must(t, err)
		req.Header = http.Header{"Content-Type": {"application/json"}, "A2a-Version": {"1.0"}}
		ended := make(chan error)
		go func() {
			res, err := f.client.Do(req)
			if err == nil {
				err = errors.Join(fmt.Errorf("status %d before the first event", res.StatusCode), res.Body.Close())
			}
			ended <- err
		}()
		<-entered
		disconnect()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", row.path, err)
		}
		wait.Until(t, "the request is logged", func() bool { return strings.Contains(log.String(), "route="+row.path+" ") })
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") || strings.Contains(line, "status=500") {
			t.Errorf("logged: %s", line)
		}
	}
}

// TestAgentPaths requests tasks whose ids contain dot segments, which are not redirected.
func TestAgentPaths(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, request := range []string{
		"GET /tasks/..%2Fx", "GET /tasks/%2E%2E", "GET /tasks/..", "GET /tasks/a%2F%2Fb", "POST /tasks/..%2Fx:cancel",
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := f.request(t, method, "/a2a/v1"+path, nil, a2aHeaders...); got.status != 404 || !strings.Contains(got.body, "TASK_NOT_FOUND") {
			t.Errorf("%s: %d %s, want 404 with TASK_NOT_FOUND", request, got.status, got.body)
		}
	}
}

// TestAgentWithoutNATS answers 503 to every request while NATS is unavailable.
func TestAgentWithoutNATS(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.conn.Close()
	const id = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, request := range []string{"POST /message:send", "POST /message:stream", "GET /tasks", "GET /tasks/" + id,
		"POST /tasks/" + id + ":cancel", "POST /tasks/" + id + ":subscribe"} {
		method, path, _ := strings.Cut(request, " ")
		body := strings.NewReader("{}")
		if strings.HasPrefix(path, "/message") {
			body = agentMessage("{}")
		}
		got := f.request(t, method, "/a2a/v1"+path, body, a2aHeaders...)
		if got.status != 503 || !strings.Contains(got.body, `"status":"UNAVAILABLE"`) || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", request, got.status, got.body)
		}
	}
	if got := f.request(t, http.MethodGet, "/.well-known/agent-card.json", nil); got.status != 200 {
		t.Errorf("the agent card: %d %s", got.status, got.body)
	}
}
