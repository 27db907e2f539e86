package main

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestAccounts checks that a service in the platform account can use the request
// subjects, cannot set an identity, and that operators create the keys.
func TestAccounts(t *testing.T) {
	n := startNode(t, "nats-1", single)
	n.setup(t, "1")
	backends := map[string]string{"CAIRN_INDEX": "embedded:", "CAIRN_EMBED": "lexical:", "CAIRN_MODEL": "offline:",
		"CAIRN_HTTP": "127.0.0.1:0", "CAIRN_AUTH": "keys"}
	n.container(t, "register", "tags, register on", backends)
	n.container(t, "resolve", "resolve on", backends)
	n.container(t, "analyze", "analyze on", backends)
	edge := n.container(t, "edge", "edge on", backends)
	url := edge.URL()

	keys := "nats://keys:" + password + "@" + n.Addr().String()
	key := createKey(t, keys, "--all-tenants", "--role", "admin")
	do(t, "", "apply", "--url", url, "--key", key, "../examples/knowledge").must(t)
	platform := n.dial(t, "platform")
	send := func(subject, body string, header ...string) string {
		t.Helper()
		msg := nats.NewMsg(subject)
		msg.Data = []byte(body)
		for i := 0; i < len(header); i += 2 {
			msg.Header.Set(header[i], header[i+1])
		}
		reply, err := platform.RequestMsg(msg, 10*time.Second)
		if err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		return string(reply.Data)
	}
	for subject, received := range map[string][2]string{
		"cairn.resolve.skill": {`{"skill_id":"storage.volume_capacity"}`, `"manifest"`},
		"cairn.tags.write":    {`{"request_id":"r","flow":"f","tags":{}}`, `"flow":"f"`},
		"cairn.tools":         {`{}`, `"tools":[{`},
		"cairn.records.list":  {`{"kind":"tool"}`, `"records":[{`},
		"cairn.runs":          {`{}`, `"runs":[`},
		"cairn.audit":         {`{}`, `"entries":[`},
	} {
		if got := send(subject, received[0]); !strings.Contains(got, received[1]) {
			t.Errorf("%s: %s", subject, got)
		}
		if got := send(subject, received[0], "Cairn-Identity", `{"id":"x","role":"admin"}`); !strings.Contains(got,
			"CE-007") {
			t.Errorf("%s with the identity of another caller: %s", subject, got)
		}
	}
	events := platform.NewInbox()
	sub, err := platform.SubscribeSync(events)
	if err != nil {
		t.Fatal(err)
	}
	if err := platform.PublishRequest("cairn.analyze", events,
		[]byte(`{"query":"how many hosts?","context":"[{\"host\":\"a\"}]","target":"H"}`)); err != nil {
		t.Fatal(err)
	}
	for kind := ""; kind != "done"; {
		msg, err := sub.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatalf("an analysis ends after %q: %v", kind, err)
		}
		if next := msg.Header.Get("Cairn-Event"); next != "" {
			kind = next
		}
	}
	for _, v := range n.Violations() {
		t.Errorf("the server refuses: %s", v)
	}
}

// TestDoctorOfOperator checks that the operator and the user of the keys may see all streams.
func TestDoctorOfOperator(t *testing.T) {
	n := startNode(t, "nats-1", single)
	n.setup(t, "1")
	args := []string{"doctor", "--url", answering(t, 200, `{"status":"ok","version":"9"}`), "--nats", n.secret("operator-url")}
	got := do(t, "", append(args, "--keys-nats", n.secret("keys-url"))...)
	for _, stream := range []string{
		"cairn_catalog", "cairn_tags", "cairn_quarantine", "cairn_embeddings", "cairn_analyze", "cairn_history",
		"cairn_usage", "cairn_runs", "cairn_audit", "cairn_keys",
	} {
		if !strings.Contains(got.out, "stream "+stream) {
			t.Errorf("no finding about stream %s", stream)
		}
	}
	if strings.Contains(got.out, "fix stream") || strings.Contains(got.out, "fix lost") {
		t.Errorf("%s", got.out)
	}
	if got := do(t, "", args...); !strings.Contains(got.out, "fix stream cairn_keys: use the NATS users of cairn setup") {
		t.Errorf("without the user of the keys: %s", got.out)
	}
}
