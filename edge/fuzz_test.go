package edge_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus"
	"cairn/bus/bucket"
)

// FuzzEvents uses arbitrary messages of a worker and an arbitrary replay stream: a client
// receives no more events than were sent, in order, and exactly one final event.
func FuzzEvents(f *testing.F) {
	for _, seed := range [][5]string{
		{"text_delta", "1", `{"text":"a"}`, "id: 2\nevent: text_delta\ndata: {}\n\n", "0"},
		{"text_delta\rdata: {}\r\revent: done", "1", "{\"text\":\n\"\r\n\"}",
			"id: 1\nevent: a\nid: 7\rdata: b\ndata: {\"a\":\n1}\n\n", "0"},
		{"done", "1", "{}", "id: 1\nevent: done\ndata: {}\n\nid: 2\nevent: done\ndata: {}\n\n", "1"},
		{"error\x00", "x", "\xff\xfe", "id: 18446744073709551615\nevent: \ndata: \n\n", "18446744073709551615"},
		{"", "-1", `{"code":"CE-001","status":0}`, `id: `, "-1"}, {" ", "0", `{"code":"CE-010","status":99}`, "", "many"},
		{"x", "3", `{"code":"AN-400","status":1e9}`, ": alive\n\n", ""},
	} {
		f.Add(seed[0], seed[1], []byte(seed[2]), []byte(seed[3]), seed[4])
	}
	server := open(f)
	must(f, bus.Analyze.Setup(f.Context(), server.conn, bucket.Replication{}))
	nc := server.conn.JetStream().Conn()
	var replies sync.Map // lists of messages by request ID
	sub, err := nc.Subscribe(bus.Analyze.Subject, func(received *nats.Msg) {
		list, _ := replies.LoadAndDelete(received.Header.Get(bus.HeaderRequestID))
		messages, _ := list.([]*nats.Msg) // none for a retry
		for _, msg := range messages {
			msg.Subject = received.Reply
			_ = nc.PublishMsg(msg) // NATS rejects some subjects and headers
		}
	})
	must(f, err)
	f.Cleanup(func() { _ = sub.Unsubscribe() })
	var runs atomic.Int64
	f.Fuzz(func(t *testing.T, kind, sequence string, data, frames []byte, last string) {
		t.Parallel() // some inputs wait for a heartbeat timeout
		if len(data)+len(frames) > 1<<16 || len(last) > 1<<10 || !sane.MatchString(last) {
			return // not a valid message or header
		}
		refused := nats.Header{micro.ErrorCodeHeader: {"400"}, micro.ErrorHeader: {kind}}
		event := &nats.Msg{Header: nats.Header{bus.HeaderEvent: {kind}, bus.HeaderSequence: {sequence}}, Data: data}
		run := fmt.Sprintf("run-%d", runs.Add(1))
		replies.Store(run, []*nats.Msg{{Data: frames}, event, {Data: frames}, {Header: refused, Data: data}})
		server.events(t, server.request(t, "POST", "/api/v1/analyze", strings.NewReader(question),
			bus.HeaderRequestID+": "+run), 3)
		for _, kept := range [][]byte{frames, []byte("id: 1000\nevent: done\ndata: {}\n\n")} {
			must(t, nc.Publish("cairn.analyze."+run+".replay", kept))
		}
		must(t, nc.Flush())
		server.events(t, server.request(t, "GET", "/api/v1/analyze/"+run, nil, "Last-Event-ID: "+last),
			1+strings.Count(string(frames), "\n\n"))
	})
}

var (
	sane    = regexp.MustCompile(`^[ -~]*$`)
	anEvent = regexp.MustCompile("^(id: [0-9]+\n)?event: [^\r\n]+\ndata: [^\r\n]*$")
)

// events checks a response with at most the given number of events, excluding final ones.
func (f *testEdge) events(t *testing.T, got answer, limit int) {
	t.Helper()
	if got.status != 200 {
		if got.status != 204 && got.problem(t).Status != got.status {
			t.Errorf("status %d, but %s in the body", got.status, got.body)
		}
		return
	}
	events := strings.SplitAfter(got.body, "\n\n")
	if len(events)-1 > limit+2 || events[len(events)-1] != "" {
		t.Errorf("%d events, want at most %d:\n%q", len(events), limit+2, got.body)
	}
	for i, event := range events[:len(events)-1] {
		if !anEvent.MatchString(strings.TrimSuffix(event, "\n\n")) {
			t.Errorf("want exactly one event: %q", event)
		}
		if strings.Contains("\n"+event, "\nevent: done\n") != (i == len(events)-2) {
			t.Errorf("want done as the last event and only there:\n%q", got.body)
		}
	}
}
