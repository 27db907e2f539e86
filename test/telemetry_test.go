package test

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"cairn/test/cairntest"
)

// collected is a trace collector.
type collected struct {
	mu    sync.Mutex
	spans []span
	err   error
}

// span is a span and the name of its service.
type span struct {
	*otlp.Span
	service string
}

func (s span) id() string     { return hex.EncodeToString(s.SpanId) }
func (s span) parent() string { return hex.EncodeToString(s.ParentSpanId) }
func (s span) trace() string  { return hex.EncodeToString(s.TraceId) }

// has returns the value of an attribute.
func (s span) has(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if n := a.Value.GetIntValue(); n != 0 {
				return strconv.FormatInt(n, 10)
			}
			return a.Value.GetStringValue()
		}
	}
	return ""
}

func (c *collected) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var record collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &record)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.err = err
	}
	for _, resource := range record.ResourceSpans {
		service := ""
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, span{s, service})
			}
		}
	}
}

// named returns the spans of a trace with the name.
func (c *collected) named(trace, name string) (list []span) {
	for _, s := range c.spans {
		if s.Name == name && s.trace() == trace {
			list = append(list, s)
		}
	}
	return list
}

// follow returns the only span of the trace with the name, and checks its parent
// and service.
func (c *collected) follow(t *testing.T, trace, name, parent, service string) span {
	t.Helper()
	list := c.named(trace, name)
	if len(list) != 1 {
		t.Fatalf("%d spans %q in trace %s; all are %v", len(list), name, trace, c.all())
	}
	if list[0].parent() != parent || list[0].service != service {
		t.Errorf("the span %s of %s has the parent %s; want service %s, parent %s", name, list[0].service, list[0].parent(),
			service, parent)
	}
	return list[0]
}

func (c *collected) all() (names []string) {
	for _, s := range c.spans {
		names = append(names, s.trace()[:4]+" "+s.Name)
	}
	return names
}

const (
	traceOne   = "0af7651916cd43dd8448eb211c80319c"
	traceTwo   = "1af7651916cd43dd8448eb211c80319c"
	traceThree = "2af7651916cd43dd8448eb211c80319c"
	spanOne    = "b7ad6b7169203331"
)

// TestTraces finds one trace from the client through edge and worker to the model,
// without any content of requests.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := &collected{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	s, err := serverOf(setup{})
	must(t, err)
	t.Cleanup(s.server.Stop)
	run := func(args ...string) *cairntest.Process {
		args = append(args, "--nats", s.nats, "--log-format", "json", "--log-level", "debug")
		return cairntest.Start(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL}, args...)
	}
	worker := run("worker", "--model", modelURL(setup{model: "scripted"}))
	edge := run("edge", "--http", "127.0.0.1:0")
	s.edge = edge.URL()
	user := newClient(t, s)

	user.call(t, "GET /health/ready", "")
	user.do(t, "POST /register/skill", `{"record":{"skill_id":"$.a","purpose":"$"}}`)
	parent := func(trace string) string { return "traceparent: 00-" + trace + "-" + spanOne + "-01" }
	user.call(t, "POST /resolve/skill", `{"skill_id":"$.a","tenant_id":"$"}`, parent(traceOne), "X-Request-Id: "+user.word)
	nc := user.dial(t)
	msg := nats.NewMsg("cairn.resolve.skill")
	msg.Data = []byte(user.named(`{"skill_id":"$.a"}`))
	msg.Header.Set("traceparent", "00-"+traceTwo+"-"+spanOne+"-01")
	if _, err := nc.RequestMsgWithContext(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	ask := script{Calls: []toolCall{{"compute_stats", map[string]any{"data_key": "hosts"}}, {"$secret", nil}},
		Say: "$ it is"}
	user.call(t, "POST /api/v1/analyze", question(text(ask), `{"hosts":[{"name":"$"}]}`), parent(traceThree))
	for _, p := range []*cairntest.Process{edge, worker} {
		p.Terminate()
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		t.Error(c.err)
	}
	c.oneRequest(t)
	c.oneAnalysis(t)
	for _, s := range c.spans {
		record := strings.ReplaceAll(s.String(), `cairn.request_id`, "")
		if s.trace() != traceOne && strings.Contains(record, user.word) || strings.Contains(record, "secret") {
			t.Errorf("customer data in %s: %s", s.Name, record)
		}
		if s.parent() == "" && strings.Contains(s.Name, "health") { // a registration queries health as well, within its trace
			t.Errorf("a probe began the trace of %s", s.Name)
		}
	}
	logged(t, edge, "request", traceOne, user.word)
	logged(t, worker, "analysis", traceThree, "")
}

func (c *collected) oneRequest(t *testing.T) {
	t.Helper()
	edge := c.follow(t, traceOne, "POST /resolve/skill", spanOne, "cairn-edge")
	send := c.follow(t, traceOne, "send cairn.resolve.skill", edge.id(), "cairn-edge")
	c.follow(t, traceOne, "process cairn.resolve.skill", send.id(), "cairn-worker")
	if edge.has("http.route") != "/resolve/skill" || edge.has("http.response.status_code") != "200" ||
		edge.Kind != otlp.Span_SPAN_KIND_SERVER {
		t.Errorf("the edge's span: %v", edge)
	}
	if send.has("messaging.system") != "nats" || send.has("messaging.destination.name") != "cairn.resolve.skill" {
		t.Errorf("the span on the bus: %v", send)
	}
	c.follow(t, traceTwo, "process cairn.resolve.skill", spanOne, "cairn-worker")
}

func (c *collected) oneAnalysis(t *testing.T) {
	t.Helper()
	edge := c.follow(t, traceThree, "POST /api/v1/analyze", spanOne, "cairn-edge")
	send := c.follow(t, traceThree, "send cairn.analyze", edge.id(), "cairn-edge")
	work := c.follow(t, traceThree, "process cairn.analyze", send.id(), "cairn-worker")
	tool := c.follow(t, traceThree, "execute_tool compute_stats", work.id(), "cairn-worker")
	if tool.has("gen_ai.operation.name") != "execute_tool" || tool.has("gen_ai.tool.name") != "compute_stats" {
		t.Errorf("the tool's span: %v", tool)
	}
	chats := c.named(traceThree, "chat scripted")
	if len(chats) != 2 {
		t.Fatalf("%d messages of the model, want 2: %v", len(chats), c.all())
	}
	for _, chat := range chats {
		if chat.parent() != work.id() || chat.has("gen_ai.operation.name") != "chat" ||
			chat.has("gen_ai.provider.name") != "ollama" ||
			chat.has("gen_ai.request.model") != "scripted" || chat.has("gen_ai.usage.input_tokens") == "" {
			t.Errorf("the model's span: %v", chat)
		}
	}
}

// logged finds a log line of the message, trace and request.
func logged(t *testing.T, p *cairntest.Process, message, trace, request string) {
	t.Helper()
	for line := range strings.Lines(p.Stderr.String()) {
		var record struct {
			Msg     string `json:"msg"`
			Trace   string `json:"trace_id"`
			Span    string `json:"span_id"`
			Request string `json:"request_id"`
		}
		if json.Unmarshal([]byte(line), &record) != nil || record.Msg != message || record.Trace != trace {
			continue
		}
		if len(record.Span) != 16 || record.Request == "" || request != "" && record.Request != request {
			t.Errorf("logged %s", line)
		}
		return
	}
	t.Errorf("no line %q of trace %s in\n%s", message, trace, p.Stderr.String())
}
