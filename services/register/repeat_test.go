package register_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
	"cairn/services/register"
)

// TestRepeatedRequests retries requests, as a client does that lost its connection before the
// reply: with the same Nats-Msg-Id. The catalog contains each write once.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
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
	toolA, toolB := `{"tool_data":{"tool_id":"a.b.c","of":1}}`, `{"tool_data":{"tool_id":"a.b.c","of":2}}`
	key := `{"kind":"tool","id":"a.b.c"}`
	lines := `{"records":[{"kind":"tool","record":{"tool_id":"a.b.c","of":3}},` +
		`{"kind":"tool","record":{"tool_id":"a.b.d"}},{"kind":"tool","record":{"tool_id":"a.b.c","of":4}}]}`
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`{"kind":"tool","record":{"tool_id":"many.b.c%d"}}`, i))
	}
	batch := `{"records":[` + strings.Join(many, ",") + `]}`
	for i, step := range []struct {
		subject, id, body string
		revision, last    uint64
	}{
		{put, "1", toolA, 1, 1},
		{put, "1", toolA, 1, 1},
		{put, "2", toolB, 2, 2},
		{put, "1", toolA, 1, 2},
		{remove, "3", key, 3, 3},
		{remove, "3", key, 3, 3},
		{put, "4", toolA, 4, 4},
		{remove, "3", key, 3, 4},
		{bulk, "5", lines, 7, 7},
		{bulk, "5", lines, 7, 7},
		{bulk, "6", batch, 107, 107},
		{bulk, "6", batch, 107, 107},
	} {
		revision, _ := send(step.subject, step.id, step.body)
		last, err := c.Revision(t.Context())
		if err != nil || revision != step.revision || last != step.last {
			t.Errorf("step %d: got revision %d, and %d, %v as the last one, want %d and %d", i+1, revision, last, err,
				step.revision, step.last)
		}
	}
	e, err := c.Get(t.Context(), catalog.Key{Kind: "tool", ID: "a.b.c"})
	if err != nil || !strings.Contains(string(e.Record), `"of":4`) {
		t.Errorf("got %s, %v, want the last line", e.Record, err)
	}
	first := schemas.RecordResults{}
	_, data := send(bulk, "5", lines)
	if err := json.Unmarshal(data, &first); err != nil || len(first.Results) != 3 ||
		first.Results[0].Revision == first.Results[2].Revision {
		t.Errorf("got %s, %v, want a revision of each line", data, err)
	}
}

// TestRetryOfStoredWrite retries a request that was stored, when another one of its kind is refused.
func TestRetryOfStoredWrite(t *testing.T) {
	t.Parallel()
	skill := `"kind":"skill","id":"net.a","record":{"tool_ids":["x.y.z"]}`
	remove := func(t *testing.T, conn *bus.Conn) {
		_, err := bus.Unregister.Call(t.Context(), conn, schemas.Unregister{Kind: "tool", ID: "x.y.z"})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name          string
		limit         int64
		subject, body string
		refused       string
		after         func(t *testing.T, conn *bus.Conn) // gives the reason for a refusal
	}{
		{"the quota", 2, bus.PutRecord.Subject, `{"kind":"skill","id":"net.a","record":{}}`, "CE-008", nil},
		{"a warning", 9, bus.PutRecord.Subject, `{"strict":true,` + skill + `}`, "CE-061", remove},
		{"a warning, in a list", 9, bus.PutRecords.Subject, `{"strict":true,"records":[{` + skill + `}]}`, "CE-061", remove},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn := bustest.Open(t)
			visible := func(context.Context, uint64) error { return nil }
			serveCatalog(t, conn, register.Deps{Catalog: setupCatalog(t, conn), WaitVisible: visible},
				quota.Amount{Count: row.limit})
			registerReference(t, conn)
			send := func(id, body string) string {
				msg := &nats.Msg{Subject: row.subject, Data: []byte(body), Header: nats.Header{jetstream.MsgIDHeader: {id}}}
				reply, err := conn.JetStream().Conn().RequestMsg(msg, 10*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				return string(reply.Data)
			}
			stored := send("1", row.body)
			if row.after != nil {
				row.after(t, conn)
			}
			if got := send("1", row.body); strings.Contains(got, row.refused) || strings.Contains(stored, row.refused) {
				t.Errorf("got %s and %s for the retry, want success", stored, got)
			}
			if got := send("2", strings.ReplaceAll(row.body, "net.a", "net.b")); !strings.Contains(got, row.refused) {
				t.Errorf("another request: got %s, want %s", got, row.refused)
			}
		})
	}
}

// registerReference registers the tool x.y.z.
func registerReference(t *testing.T, conn *bus.Conn) {
	t.Helper()
	if _, err := bus.RegisterTool.Forward(t.Context(), conn, []byte(`{"tool_data":{"tool_id":"x.y.z"}}`)); err != nil {
		t.Fatal(err)
	}
}
