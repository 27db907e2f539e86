package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPOverStdio connects the official client to "cairn mcp" as a child process.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	up := startIsolated(t)
	var logs strings.Builder
	cmd := program("mcp", "--url", up.http, "--tenant", "acme")
	cmd.Stderr = &logs
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, logs.String())
	}
	for _, row := range []struct{ tool, args, want string }{
		{"register_skill", `{"record":{"skill_id":"net.find","purpose":"Find \u202e VLANs"}}`, "net.find"},
		{"search_skills", `{"query":"find vlans"}`, "1. `net.find`"},
		{"search_skills", `{"query":"find vlans","tenant_id":"other"}`, "CE-031"},
		{"resolve_skill", `{"skill_id":"net.find"}`, "Find \u202e VLANs"},
		{"ask_estate", `{"query":"how many hosts?","estate":{"hosts":[{"a":1},{"a":2}]}}`, "2 hosts"},
	} {
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: row.tool, Arguments: json.RawMessage(row.args)})
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, row.want) {
			t.Errorf("%s %s: %s, want %s", row.tool, row.args, text, row.want)
		}
	}
	if err := session.Close(); err != nil || logs.String() != "" {
		t.Errorf("%v, stderr %q", err, logs.String())
	}
}

func TestMCPMessages(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	answer := func(status int, media, body string) string {
		return serving(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			if r.Header.Get("Authorization") != "Bearer k" {
				status = 418
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	for _, row := range []struct{ name, url, message, want string }{
		{"a response", answer(200, "application/json", `{"jsonrpc":"2.0","id":7,"result":{}}`), ping,
			`{"jsonrpc":"2.0","id":7,"result":{}}`},
		{"notifications before the response", answer(200, "text/event-stream",
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n"+
				"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n"), ping,
			"notifications/progress"},
		{"a refusal of Cairn", answer(401, "application/json", `{"code":"CE-006","title":"not authenticated","status":401}`),
			ping, `{"code":-32603,"message":"CE-006 not authenticated"}`},
		{"an error of the protocol", answer(400, "application/json",
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"unsupported"}}`), ping, "unsupported"},
		{"a stream that ends early", answer(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"),
			ping, "request terminated without response"},
		{"another server", answer(404, "text/html", "<html>"), ping, "Not Found"},
		{"no server", "http://127.0.0.1:1", ping, "cannot connect to Cairn at http://127.0.0.1:1"},
		{"a notification", "http://127.0.0.1:1", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{"nothing", "http://127.0.0.1:1", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, row.message+"\n", "mcp", "--url", row.url, "--key", "k")
			if got.code != 0 || !strings.Contains(got.out, row.want) || row.want == "" && got.out != "" {
				t.Errorf("%+v, want %s", got, row.want)
			}
		})
	}
}

// TestMCPInvalidMessages checks that an invalid message is answered and does not end the connection.
func TestMCPInvalidMessages(t *testing.T) {
	t.Parallel()
	url := shared(t)
	for _, row := range []struct{ name, message, want string }{
		{"malformed JSON", `{bad`, `"code":-32700`},
		{"two messages on a line", `{"jsonrpc":"2.0","id":3,"method":"ping"} {}`, `"code":-32700`},
		{"a batch", `[{"jsonrpc":"2.0","id":3,"method":"ping"}]`, `"code":-32600`},
		{"an empty batch", `[]`, `"code":-32600`},
		{"null", `null`, `"code":-32600`},
		{"no version", `{"id":3,"method":"ping"}`, "jsonrpc: expected 2.0"},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "id: expected a string or an integer"},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "id: expected a string or an integer"},
		{"parameters that are a list", `{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}`, "params: expected an object"},
		{"a response", `{"jsonrpc":"2.0","id":3,"result":{}}`, ""},
		{"an empty line", " ", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, row.message+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n", "mcp", "--url", url)
			rejected, answered := 0, 0
			for line := range strings.Lines(got.out) {
				switch {
				case strings.Contains(line, `"id":2,`):
					answered++
				case strings.Contains(line, `"id":null,`) && strings.Contains(line, row.want):
					rejected++
				default:
					t.Errorf("unexpected response %s", line)
				}
			}
			if got.code != 0 || answered != 1 || rejected != min(len(row.want), 1) {
				t.Errorf("%+v, want %s", got, row.want)
			}
		})
	}
}

// TestMCPCancellation disconnects the request that a client cancels.
func TestMCPCancellation(t *testing.T) {
	t.Parallel()
	received, ended := make(chan struct{}), make(chan struct{})
	url := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(received)
		<-r.Context().Done()
		close(ended)
	})
	input, client := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	root := newRoot(func(string) string { return "" })
	root.SetArgs([]string{"mcp", "--url", url})
	root.SetIn(input)
	root.SetOut(io.Discard)
	exited := make(chan int, 1)
	go func() { exited <- run(ctx, root) }()
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}`+"\n")
	<-received
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`+"\n")
	<-ended
	_ = client.Close()
	if code := <-exited; code != 0 {
		t.Errorf("exit code %d", code)
	}
}
