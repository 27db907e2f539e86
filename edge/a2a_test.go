package edge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/edge"
	"cairn/schemas"
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
