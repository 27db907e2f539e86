package mcp

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// post returns the response to the message, or the error.
func post(t testing.TB, h *Handler, c Caller, body string) string {
	t.Helper()
	m, err := Decode([]byte(body))
	if err != nil {
		return err.Error()
	}
	text, err := answer(h, m, c)
	must(t, err)
	return text
}

// answer returns the response to the decoded message.
func answer(h *Handler, m Message, c Caller) (string, error) {
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	err := h.Serve(w, r, m, c)
	return w.Body.String(), err
}

// TestLargeMessages checks that the members of large messages are not decoded: 100,000 of them take at most
// two allocations each, for the name. It is not parallel, because it counts the allocations of the process.
func TestLargeMessages(t *testing.T) {
	h, err := New(11 << 20)
	must(t, err)
	objects := "[" + strings.Repeat(`{"":0},`, 200_000) + "0]"
	var flat strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&flat, `"name_%06d":1,`, i)
	}
	names := "{" + strings.TrimSuffix(flat.String(), ",") + "}"
	c := unavailable{&stub{tenant: "acme"}}
	for _, row := range []struct{ name, method, params, want string }{
		{"objects in _meta", "ping", `{"_meta":{"a":` + objects + `}}`, "params._meta: expected a message of at most 65536"},
		{"a flat _meta", "tools/call", `{"name":"search_skills","_meta":` + names + `}`,
			"params._meta: expected a message of at most 65536"},
		{"many parameters", "ping", names, "params.name_003447: expected a message of at most 65536 bytes"},
		{"another parameter of a tool", "tools/call", `{"name":"x","arguments":{},"inputResponses":` + names + `}`,
			"params.inputResponses: exp"},
		{"arguments of another method", "prompts/get", `{"name":"x","arguments":` + names + `}`,
			"params.arguments: expected"},
		{"a method of an extension", "resources/directory/read", `{"uri":"skill://cairn","x":` + objects + `}`,
			"params.x: expected"},
		{"objects in an unknown argument", "tools/call",
			`{"name":"search_skills","arguments":{"query":"x","y":` + objects + `}}`,
			"y: unknown argument"},
		{"many unknown arguments", "tools/call", `{"name":"search_skills","arguments":` + names + `}`,
			"name_000000: unknown argument"},
		{"a flat argument", "tools/call", `{"name":"register_skill","arguments":{"record":` + names + `}}`,
			"record: expected at most 1048576"},
		{"a flat estate", "tools/call", `{"name":"ask_estate","arguments":{"query":"x","estate":` + names + `}}`,
			`"tool_calls":[]`},
		{"objects in an estate", "tools/call", `{"name":"ask_estate","arguments":{"query":"x","estate":` + objects + `}}`,
			`"tool_calls":[]`},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","params":%s,"id":1,"method":%q}`, row.params, row.method)
		if got := post(t, h, c, body); !strings.Contains(got, row.want) {
			t.Errorf("%s: got %.300s, want %s", row.name, got, row.want)
		}
		if n := testing.AllocsPerRun(1, func() { post(t, h, c, body) }); n > 210_000 {
			t.Errorf("%s: %.0f allocations", row.name, n)
		}
	}
}
