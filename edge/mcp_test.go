package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/bus"
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
