package tags_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/services/tags"
)

// TestRepeatedRequests retries requests, as a client does that lost its connection before the
// reply: with the same Nats-Msg-Id, to another worker.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	const body = `{"request_id":"r1","flow":"default","tags":{}}`
	type request struct{ subject, id, status string }
	write, remove, read := bus.WriteTag.Subject, bus.DeleteTag.Subject, bus.ReadTag.Subject
	rows := []struct {
		name  string
		limit int
		steps []request
	}{
		{"a write", 0, []request{{write, "1", ""}, {write, "1", ""}, {write, "2", "409"}}},
		{"a write at the limit of the tenant", 1, []request{{write, "1", ""}, {write, "1", ""}, {write, "2", "409"}}},
		{"a write of a tag that was deleted meanwhile", 0, []request{
			{write, "1", ""}, {remove, "2", ""}, {write, "1", ""}, {read, "", "404"}}},
		{"a rejected write", 0, []request{{write, "1", ""}, {write, "2", "409"}, {write, "2", "409"}}},
		{"a delete with the ID of a write", 0, []request{{write, "1", ""}, {remove, "1", ""}, {read, "", "404"}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server, conn := bustest.Start(t)
			for range 2 {
				serveWith(t, bustest.Dial(t, server), limited(int64(row.limit), 0), tags.DefaultTTL)
			}
			for i, step := range row.steps {
				msg := &nats.Msg{Subject: step.subject, Data: []byte(body), Header: nats.Header{}}
				if step.subject != write {
					msg.Data = []byte(`{"request_id":"r1"}`)
				}
				if step.id != "" {
					msg.Header.Set(jetstream.MsgIDHeader, step.id)
				}
				reply, err := conn.JetStream().Conn().RequestMsg(msg, 10*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				if got := reply.Header.Get(micro.ErrorCodeHeader); got != step.status {
					t.Errorf("step %d: got status %q and %s, want %q", i+1, got, reply.Data, step.status)
				}
			}
		})
	}
}
