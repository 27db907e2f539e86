package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/edge"
	"cairn/schemas"
)

// tool returns a call of a tool of the Model Context Protocol.
func tool(name, args string) *strings.Reader {
	return strings.NewReader(
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args))
}

var mcpHeaders = []string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}

// TestModelContextSlots refuses messages without a free slot, and frees the slot of each message.
func TestModelContextSlots(t *testing.T) {
	t.Parallel()
	requests := admission.NewPool(4)
	f := open(t, func(c *edge.Config) { c.SetRequests(requests) })
	entered, leave := make(chan struct{}), make(chan struct{})
	must(t, bus.ResolveTools.Serve(f.service, func(context.Context, schemas.ToolsQuery) (schemas.ToolsAnswer, error) {
		entered <- struct{}{}
		<-leave
		return schemas.ToolsAnswer{Tools: []jsontext.Value{}, Missing: []string{}}, nil
	}))
	var calls sync.WaitGroup
	for requests.Used() < 3 { // a tenant has at most 80 % of the slots
		calls.Go(func() {
			f.request(t, http.MethodPost, "/mcp", tool("resolve_tools", `{"tool_ids":["a.b.c"]}`), mcpHeaders...)
		})
		<-entered
	}
	for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		if got := f.request(t, http.MethodPost, "/mcp", strings.NewReader(body), mcpHeaders...); got.status != 503 ||
			got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s, want 503", body, got.status, got.body)
		}
	}
	close(leave)
	calls.Wait()
	for range 8 {
		list := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if got := f.request(t, http.MethodPost, "/mcp", list, mcpHeaders...); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	if used := requests.Used(); used != 0 {
		t.Errorf("%d slots are in use after all responses", used)
	}
}

// TestDisconnectedModelContextClientsHoldTheirSlot disconnects while a worker runs a tool.
func TestDisconnectedModelContextClientsHoldTheirSlot(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.SetRequests(admission.NewPool(1)) })
	large(t, f, 1)
	entered, leave := make(chan struct{}), make(chan struct{})
	must(t, bus.ResolveTools.Serve(f.service, func(context.Context, schemas.ToolsQuery) (schemas.ToolsAnswer, error) {
		entered <- struct{}{}
		<-leave
		return schemas.ToolsAnswer{Tools: []jsontext.Value{}, Missing: []string{}}, nil
	}))
	f.disconnect(t, "/mcp", tool("resolve_tools", `{"tool_ids":["a.b.c"]}`), entered, mcpHeaders...)
	holdsSlotUntil(t, f, leave)
}

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
