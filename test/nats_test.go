package test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus"
)

// dial connects to the system's NATS server without credentials.
func (s *system) dial(t testing.TB) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.nats)
	must(t, err)
	t.Cleanup(func() {
		closed := make(chan struct{})
		nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
		nc.Close()
		<-closed
	})
	return nc
}

func flush(t testing.TB, nc *nats.Conn) {
	t.Helper()
	must(t, nc.Flush())
}

// answerWith replies to all requests on the subject with the body and headers.
func answerWith(t testing.TB, nc *nats.Conn, subject, body string, headers ...string) {
	t.Helper()
	_, err := nc.Subscribe(subject, func(msg *nats.Msg) {
		reply := nats.NewMsg(msg.Reply)
		reply.Data = []byte(body)
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			reply.Header.Set(name, value)
		}
		_ = nc.PublishMsg(reply) // seen as a timeout by the test
	})
	must(t, err)
	flush(t, nc)
}

// natsRequest sends a request and returns the status and the body of the reply.
func (c *client) natsRequest(t testing.TB, nc *nats.Conn, subject, body string) (int, string) {
	t.Helper()
	msg, err := nc.Request(subject, []byte(c.named(body)), 10*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	status, err := strconv.Atoi(msg.Header.Get("Nats-Service-Error-Code"))
	if err != nil {
		return 200, string(msg.Data)
	}
	return status, string(msg.Data)
}

func TestSubjects(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		nc := c.dial(t)
		for _, r := range []row{
			{"a tag", "tags.write", `{"request_id":"$","flow":"f","tags":{}}`, 200, "", `{"request_id":"$","flow":"f"}`},
			{"once", "tags.write", `{"request_id":"$"}`, 409, "CE-021", ""},
			{"is read", "tags.read", `{"request_id":"$"}`, 200, "", `{"tags":{"request_id":"$","flow":"f","tags":{}}}`},
			{"the tag is removed", "tags.delete", `{"request_id":"$"}`, 200, "", `{}`},
			{"the removed tag is not found", "tags.read", `{"request_id":"$"}`, 404, "CE-022", ""},
			{"a tool", "register.tool", `{"tool_data":{"tool_id":"$.s.t","tool_class":"$","domain":"$"}}`, 200, "",
				`{"tool_id":"$.s.t"}`},
			{"a context builder", "register.context_builder",
				`{"cb_data":{"context_builder_id":"$b","domain":"$","tool_ids":["$.s.t"]}}`, 200, "",
				`{"context_builder_id":"$b"}`},
			{"a guardrail", "register.guardrail", `{"guardrail_data":{"guardrail_id":"$g","domain":"$"}}`, 200, "",
				`{"guardrail_id":"$g"}`},
			{"a template", "register.template", `{"template_data":{"template_id":"$t","skill_ids":["$.a"]}}`, 200, "",
				`{"template_id":"$t"}`},
			{"an agent", "register.agent", `{"agent_data":{"agent_id":"$.g","purpose":"$"},"skill_ids":["$.a"]}`, 200, "",
				`{"agent_id":"$.g"}`},
			{"a skill", "register.skill", `{"record":{"skill_id":"$.a","purpose":"$"}}`, 200, "", `{"skill_id":"$.a"}`},
			{"a skill without an id", "register.skill", `{"record":{}}`, 400, "CE-061", ""},
			{"no JSON", "register.skill", `{`, 400, "CE-061", ""},
			{"a skill by id", "resolve.skill", `{"skill_id":"$.a"}`, 200, "",
				`{"skill_id":"$.a","tools":[{"tool_id":"$.s.t"}],"template":{"template_id":"$t"}}`},
			{"a skill by search", "resolve.skill", `{"query":"$","top_k":1}`, 200, "", `{"skills":[{"skill_id":"$.a"}]}`},
			{"no skill", "resolve.skill", `{"skill_id":"$.none"}`, 404, "CE-031", ""},
			{"a malformed query", "resolve.skill", `{"query":"x","top_k":0}`, 400, "CE-001", ""},
			{"its agent", "resolve.agent", `{"query":"$"}`, 200, "", `{"agent_id":"$.g"}`},
			{"its context", "resolve.context", `{"skill_id":"$.a"}`, 200, "",
				`{"context_builders":[{"context_builder_id":"$b"}]}`},
			{"by the alias of the subject", "resolve.context_builders", `{"skill_id":"$.a"}`, 200, "",
				`{"context_builders":[{"context_builder_id":"$b"}]}`},
			{"tools", "resolve.tools", `{"tool_ids":["$.s.t"]}`, 200, "", `{"tools":[{"tool_id":"$.s.t"}]}`},
			{"a class", "resolve.tool_class", `{"tool_class":"$"}`, 200, "", `{"tools":[{"tool_id":"$.s.t"}]}`},
			{"a template of a skill", "resolve.template", `{"skill_id":"$.a"}`, 200, "", `{"template":{"template_id":"$t"}}`},
			{"its guardrails", "resolve.guardrail", `{"skill_id":"$.a"}`, 200, "", `{"guardrails":[{"guardrail_id":"$g"}]}`},
			{"skills", "skills", `{"domain":"$"}`, 200, "", `{"skills":[{"skill_id":"$.a"}]}`},
			{"tools of a domain", "tools", `{"domain":"$"}`, 200, "", `{"tools":[{"tool_id":"$.s.t"}]}`},
			{"a record is removed", "register.delete", `{"kind":"skill","id":"$.a"}`, 200, "", `{}`},
			{"health of a service", "health.resolve", ``, 200, "", `{"service":"resolve"}`},
		} {
			t.Run(r.name, func(t *testing.T) {
				status, body := c.natsRequest(t, nc, "cairn."+r.request, r.body)
				var e struct{ Code string }
				_ = json.Unmarshal([]byte(body), &e) // an answer has no code
				if status != r.status || e.Code != r.want {
					t.Fatalf("%d %q, want %d %q: %s", status, e.Code, r.status, r.want, body)
				}
				if r.part != "" {
					if diff := contains(value(t, body), value(t, c.named(r.part))); diff != "" {
						t.Errorf("%s: %s", diff, body)
					}
				}
			})
		}
	})
}

// TestAnalysisOverNATS reads an analysis with a plain NATS client: an inbox, a
// subscription, a published request.
func TestAnalysisOverNATS(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		nc := c.dial(t)
		inbox := nc.NewInbox()
		events, err := nc.SubscribeSync(inbox)
		must(t, err)
		must(t, nc.PublishRequest("cairn.analyze", inbox,
			[]byte(question("How many hosts per site?", estate))))
		var kinds []string
		for last := ""; last != "done"; {
			msg, err := events.NextMsg(10 * time.Second)
			if err != nil {
				t.Fatalf("after %q: %v", kinds, err)
			}
			if last = msg.Header.Get(bus.HeaderEvent); last == "" {
				continue // heartbeat
			}
			kinds = append(kinds, last)
			if !json.Valid(msg.Data) || msg.Header.Get(bus.HeaderSequence) != strconv.Itoa(len(kinds)) {
				t.Errorf("%s event %s, number %d: %s", last, msg.Header.Get(bus.HeaderSequence), len(kinds), msg.Data)
			}
		}
		inOrder(t, kinds)
		if refused, err := refusal(nc, `{"query":"q","context":"{}"}`); err != nil || refused != "400 AN-400" {
			t.Errorf("without a target: %q %v, want 400 AN-400", refused, err)
		}
	})
}

// refusal returns the status and code with which an analysis is refused.
func refusal(nc *nats.Conn, body string) (string, error) {
	inbox := nc.NewInbox()
	events, err := nc.SubscribeSync(inbox)
	if err != nil {
		return "", err
	}
	if err := nc.PublishRequest("cairn.analyze", inbox, []byte(body)); err != nil {
		return "", err
	}
	for {
		msg, err := events.NextMsg(10 * time.Second)
		if err != nil {
			return "", err
		}
		if status := msg.Header.Get("Nats-Service-Error-Code"); status != "" {
			var e struct{ Code string }
			err := json.Unmarshal(msg.Data, &e)
			return status + " " + e.Code, err
		}
	}
}

func TestRequestIDOverNATS(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		nc := c.dial(t)
		seen, err := nc.SubscribeSync("cairn.resolve.template")
		must(t, err)
		flush(t, nc)
		c.call(t, "POST /resolve/template", `{"skill_id":"$.a"}`, "X-Request-Id: id-"+c.word).expect(t, 404, "CE-031", "")
		for {
			msg, err := seen.NextMsg(5 * time.Second)
			if err != nil {
				t.Fatalf("no request with the client's id was seen: %v", err)
			}
			if msg.Header.Get(bus.HeaderRequestID) == "id-"+c.word {
				return
			}
		}
	})
}
