package edge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/edge"
	"cairn/schemas"
)

// tool returns a call of a tool of the Model Context Protocol.
func tool(name, args string) *strings.Reader {
	return strings.NewReader(
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args))
}

var mcpHeaders = []string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}

// TestModelContextErrors returns the errors of workers as results with the request id.
func TestModelContextErrors(t *testing.T) {
	t.Parallel()
	f := open(t)
	must(t, bus.ResolveTools.Serve(f.service, func(context.Context, schemas.ToolsQuery) (schemas.ToolsAnswer, error) {
		panic("defect")
	}))
	headers := append([]string{"X-Request-Id: mine"}, mcpHeaders...)
	got := f.request(t, http.MethodPost, "/mcp", tool("resolve_tools", `{"tool_ids":["a.b.c"]}`), headers...)
	_, data, _ := strings.Cut(got.body, "data: ")
	var message struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	must(t, json.Unmarshal([]byte(data), &message))
	text := message.Result.Content[0].Text
	if !message.Result.IsError || !strings.Contains(text, "CE-010") || !strings.Contains(text, "request_id mine") {
		t.Errorf("%+v", message)
	}
	if got.header.Get("X-Request-Id") != "mine" {
		t.Errorf("request id %q", got.header.Get("X-Request-Id"))
	}
}

// TestModelContextKeepAlive reads the stream of a tool whose model is silent, at the path with a slash.
func TestModelContextKeepAlive(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.SetKeepAlive(time.Millisecond) })
	answer := make(chan struct{})
	analyses(t, f, func(ctx context.Context, s bus.Sender) error {
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "42"})
	})
	res := f.open(t, "POST /mcp/", tool("ask_estate", `{"query":"q","estate":{}}`), mcpHeaders...)
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || lines.Text() != ": alive" {
		t.Errorf("before the result: got %q, %v", lines.Text(), lines.Err())
	}
	if got := res.Header.Get("X-Accel-Buffering"); got != "no" || res.StatusCode != http.StatusOK {
		t.Errorf("status %d, X-Accel-Buffering %q", res.StatusCode, got)
	}
	close(answer)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if !strings.Contains(lines.Text(), `"answer":"42"`) {
		t.Errorf("the result: got %q, %v", lines.Text(), lines.Err())
	}
}
