package analyze_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/analyze"
	"cairn/services/internal/model"
	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/openai"
)

// FuzzModel fuzzes the model server's first and second response and an event of the
// rendering agent. The caller must receive events of known types with JSON data, and
// exactly one done event, the last.
func FuzzModel(f *testing.F) {
	chunk := func(delta string) string {
		return `data: {"choices":[{"index":0,"delta":` + delta + "}]}\n\n"
	}
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1,"completion_tokens":9007199254740993}}` + "\n\ndata: [DONE]\n\n"
	call := chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"compute_stats","arguments":"{\"data_key\":\"site.pumps\",\"group_by\""}}]}`)
	for _, seed := range [][5]string{
		{call + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":\"state\"}"}}]}`) + end,
			chunk(`{"content":"Two <think>hm</think> are on, 66.7 %."}`) + end, "", "text_delta", `{"text":"<b>"}`},
		{call + end, chunk(`{"content":"\ud800"}`) + end, "{}", "text_delta", `{"text":7}`},
		{chunk(`{"tool_calls":[{"index":5}]}`),
			chunk(`{"tool_calls":[{"index":0,"function":{"name":"\u0000","arguments":"\ud83d"}}]}`) + end,
			"", "error", "\xff"},
		{"data: x\n\n", `data: {"error":{"message":"boom"}}` + "\n\n", "", "done", ""}, {"\xff", "", "", "a b", `[]`},
		{"", end, "", "text_delta\r", `null`},
		{`{"message":{"tool_calls":[{"function":{"name":"inspect_schema","arguments":{"data_key":"site.pumps","x":[1e300]}}}]},"done":true}` + "\n", `{"message":{"content":"ok"},"done":true,"prompt_eval_count":-5}`, "", "", "{}"},
		{`{"message":{"tool_calls":[{"function":{"name":"\ud800","arguments":null}}]},"done":true}`,
			`{"message":{"content":"a"}}` + "\n" + `{"error":"boom"}`, "", "text_delta", `{"text":"\ud800"}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), []byte(seed[2]), seed[3], []byte(seed[4]))
	}
	server := &fuzzServer{}
	endpoint := httptest.NewServer(server)
	f.Cleanup(endpoint.Close)
	host := strings.TrimPrefix(endpoint.URL, "http://")
	a, err := openai.Open(f.Context(), "openai://"+host+"/m?plan=tools&answers=forwarded")
	must(f, err)
	b, err := ollama.Open(f.Context(), "ollama://"+host+"/m?plan=tools&answers=forwarded")
	must(f, err)
	agent := &atomic.Pointer[nats.Msg]{}
	conns := []*bus.Conn{serveFuzzed(f, a, "", agent), serveFuzzed(f, b, agentSubject, agent)}
	f.Fuzz(func(t *testing.T, first, second, profile []byte, event string, data []byte) {
		if len(event) > 1<<10 || strings.ContainsAny(event, "\r\n") {
			return // not a NATS header value
		}
		server.script.Store(&[2][]byte{first, second})
		agent.Store(&nats.Msg{Header: nats.Header{bus.HeaderEvent: {event}}, Data: data})
		for _, conn := range conns {
			for _, include := range []string{"", `,"include":["usage","provenance","suggestions"]`} {
				body := fmt.Sprintf(`{"query":"how many are on?","target":"H","context":%q%s}`, pumps, include)
				events(t, conn, []byte(body))
			}
			events(t, conn, fmt.Appendf(nil, `{"query":"q","target":"H","context":%q,"profile":%s}`, pumps, profile))
		}
	})
}

// serveFuzzed serves analyses with the model and a rendering agent that sends one
// event before done.
func serveFuzzed(f *testing.F, m model.Model, render string, agent *atomic.Pointer[nats.Msg]) *bus.Conn {
	f.Helper()
	conn := bustest.Open(f)
	must(f, analyze.Serve(bustest.Fragile(f, conn, "analyze"),
		analyze.Deps{Conn: conn, Model: m, Render: render, Memory: 256 << 20,
			EstateMemory: 1 << 20, Log: slog.New(slog.DiscardHandler)}))
	nc := conn.JetStream().Conn()
	sub, err := nc.Subscribe(agentSubject, func(request *nats.Msg) {
		event := *agent.Load()
		event.Subject = request.Reply
		_ = nc.PublishMsg(&event)
		_ = nc.PublishMsg(&nats.Msg{Subject: request.Reply, Header: nats.Header{bus.HeaderEvent: {schemas.EventDone}},
			Data: []byte("{}")})
	})
	must(f, err)
	f.Cleanup(func() { _ = sub.Unsubscribe() })
	return conn
}

// fuzzServer is a model server that sends script[0], and script[1] after a tool
// result.
type fuzzServer struct{ script atomic.Pointer[[2][]byte] }

// ServeHTTP implements http.Handler.
func (b *fuzzServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request bytes.Buffer
	_, _ = request.ReadFrom(r.Body)
	responses := b.script.Load()
	switch r.URL.Path {
	case "/api/chat":
		w.Header().Set("Content-Type", "application/x-ndjson")
	case "/v1/chat/completions":
		w.Header().Set("Content-Type", "text/event-stream")
	case "/v1/models":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		return
	case "/api/show":
		fmt.Fprint(w, `{"capabilities":["completion","tools"]}`)
		return
	default:
		fmt.Fprint(w, `{"models":[{"name":"m:latest"}]}`)
		return
	}
	if bytes.Contains(request.Bytes(), []byte(`"role":"tool"`)) {
		_, _ = w.Write(responses[1])
	} else {
		_, _ = w.Write(responses[0])
	}
}

var types = map[string]bool{
	schemas.EventTextDelta: true, schemas.EventToolUse: true, schemas.EventToolResult: true,
	schemas.EventDirectResponse: true,
	schemas.EventUsage:          true, schemas.EventSuggestions: true, schemas.EventProvenance: true,
	schemas.EventError: true, schemas.EventDone: true,
}

// events sends body and checks the events of the answer.
func events(t *testing.T, conn *bus.Conn, body []byte) {
	t.Helper()
	last := ""
	for event, err := range bus.Analyze.Forward(context.WithoutCancel(t.Context()), conn, body) {
		var failure *schemas.Error
		if err != nil && (!errors.As(err, &failure) || failure.Status == 504) {
			t.Errorf("%s: %v", body, err)
		}
		if err != nil {
			return
		}
		if !types[event.Type] || !jsontext.Value(event.Data).IsValid() || last == schemas.EventDone {
			t.Errorf("%s: event %q of %q, after %q", body, event.Type, event.Data, last)
		}
		last = event.Type
	}
	if last != schemas.EventDone {
		t.Errorf("%s: the last event is %q", body, last)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
