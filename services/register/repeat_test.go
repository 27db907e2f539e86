package register_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// TestRepeatedRequests retries requests, as a client does that lost its connection before the
// reply: with the same Nats-Msg-Id. The catalog contains each write once.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	server, conn, c := serve(t)
	serveResolve(t, server)
	send := func(subject, id, body string) (revision uint64, data []byte) {
		t.Helper()
		msg := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{jetstream.MsgIDHeader: {id}}}
		reply, err := conn.JetStream().Conn().RequestMsg(msg, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		token, err := schemas.ParseConsistencyToken(reply.Header.Get(bus.HeaderRevision))
		if err != nil {
			t.Fatalf("%s: %v", reply.Data, err)
		}
		return token.Revision, reply.Data
	}
	put, remove, bulk := bus.RegisterTool.Subject, bus.Unregister.Subject, bus.PutRecords.Subject
	one, two := `{"tool_data":{"tool_id":"a.b.c","of":1}}`, `{"tool_data":{"tool_id":"a.b.c","of":2}}`
	key := `{"kind":"tool","id":"a.b.c"}`
	lines := `{"records":[{"kind":"tool","record":{"tool_id":"a.b.c","of":3}},` +
		`{"kind":"tool","record":{"tool_id":"a.b.d"}},{"kind":"tool","record":{"tool_id":"a.b.c","of":4}}]}`
	var many []string // enough for an atomic batch
	for i := range 100 {
		many = append(many, fmt.Sprintf(`{"kind":"tool","record":{"tool_id":"many.b.c%d"}}`, i))
	}
	batch := `{"records":[` + strings.Join(many, ",") + `]}`
	for i, step := range []struct {
		subject, id, body string
		revision, last    uint64
	}{
		{put, "1", one, 1, 1},
		{put, "1", one, 1, 1},
		{put, "2", two, 2, 2},
		{put, "1", one, 1, 2},
		{remove, "3", key, 3, 3},
		{remove, "3", key, 3, 3},
		{put, "4", one, 4, 4},
		{remove, "3", key, 3, 4},
		{bulk, "5", lines, 7, 7},
		{bulk, "5", lines, 7, 7},
		{bulk, "6", batch, 107, 107},
		{bulk, "6", batch, 107, 107},
	} {
		revision, _ := send(step.subject, step.id, step.body)
		last, err := c.Revision(t.Context())
		if err != nil || revision != step.revision || last != step.last {
			t.Errorf("step %d: got revision %d, and %d, %v as the last one, want %d and %d", i+1, revision, last, err, step.revision, step.last)
		}
	}
	e, err := c.Get(t.Context(), catalog.Key{Kind: "tool", ID: "a.b.c"})
	if err != nil || !strings.Contains(string(e.Record), `"of":4`) {
		t.Errorf("got %s, %v, want the last line", e.Record, err)
	}
	first := schemas.RecordResults{}
	_, data := send(bulk, "5", lines)
	if err := json.Unmarshal(data, &first); err != nil || len(first.Results) != 3 || first.Results[0].Revision == first.Results[2].Revision {
		t.Errorf("got %s, %v, want a revision of each line", data, err)
	}
}
