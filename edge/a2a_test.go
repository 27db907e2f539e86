package edge_test

import (
	"context"
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

// agentCall returns a request of A2A.
func agentCall(method, params string) *strings.Reader {
	return strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
}

// agentMessage returns a message to the analysis agent with an estate.
func agentMessage(estate string) *strings.Reader {
	return agentCall("SendMessage", messageParams(estate))
}

func messageParams(estate string) string {
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"q"},{"data":` + estate + `}]}}`
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
	for _, row := range []struct{ method, estate, part string }{
		{"SendMessage", `{}`, `"requestId":"mine"`},
		{"SendStreamingMessage", `{}`, `"requestId":"mine"`},
		{"SendMessage", `"\"full\""`, `"code":"AN-429"`},
	} {
		call := agentCall(row.method, messageParams(row.estate))
		got := f.request(t, http.MethodPost, "/a2a", call, append(a2aHeaders, "X-Request-Id: mine")...)
		if got.status != 200 || !strings.Contains(got.body, `"error":{"code":-32603`) ||
			!strings.Contains(got.body, row.part) ||
			strings.Contains(got.body, "defect") {
			t.Errorf("%+v: %d %s", row, got.status, got.body)
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
	logged := 0
	for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
		f.disconnect(t, "/a2a", agentCall(method, messageParams(`{}`)), entered, a2aHeaders...)
		logged++
		wait.Until(t, "the request is logged", func() bool { return strings.Count(log.String(), "route=/a2a ") == logged })
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") ||
			strings.Contains(line, "status=500") {
			t.Errorf("logged: %s", line)
		}
	}
}

// TestAgentWithoutNATS answers every request with AN-503 while NATS is unavailable.
func TestAgentWithoutNATS(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.conn.Close()
	const id = `{"id":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`
	for method, params := range map[string]string{"SendMessage": messageParams("{}"),
		"SendStreamingMessage": messageParams("{}"),
		"ListTasks":            "{}", "GetTask": id, "CancelTask": id, "SubscribeToTask": id} {
		got := f.request(t, http.MethodPost, "/a2a", agentCall(method, params), a2aHeaders...)
		if got.status != 200 || !strings.Contains(got.body, `"code":"AN-503"`) {
			t.Errorf("%s: %d %s", method, got.status, got.body)
		}
	}
	if got := f.request(t, http.MethodGet, "/.well-known/agent-card.json", nil); got.status != 200 {
		t.Errorf("the agent card: %d %s", got.status, got.body)
	}
}
