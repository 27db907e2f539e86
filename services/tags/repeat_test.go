package tags_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/tags"
)

// TestRepeatedRequests retries requests, as a client does that lost its connection before the
// reply: with the same Nats-Msg-Id, to another worker.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	const body = `{"request_id":"r1","flow":"default","tags":{}}`
	type request struct{ subject, id, status string } // a question mark after an id: an earlier copy may be performed later
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
		{"a delete before another write", 0, []request{
			{write, "1", ""}, {remove, "2", ""}, {write, "3", ""}, {remove, "2", ""}, {read, "", ""}}},
		{"a retry of a write", 0, []request{{write, "1", ""}, {write, "1?", ""}, {read, "", ""}}},
		{"a retry of a write of a tag that was deleted meanwhile", 0, []request{
			{write, "1", ""}, {remove, "2", ""}, {write, "1?", ""}, {read, "", "404"}}},
		{"a retry of a write of a tag that was replaced meanwhile", 0, []request{
			{write, "1", ""}, {remove, "2", ""}, {write, "3", ""}, {write, "1?", ""}, {read, "", ""}}},
		{"a retry of a delete before another write", 0, []request{
			{write, "1", ""}, {remove, "2", ""}, {write, "3", ""}, {remove, "2?", ""}, {read, "", ""}}},
		{"two retries of a write of a tag that was deleted meanwhile", 0, []request{
			{write, "1?", ""}, {remove, "2", ""}, {write, "1??", ""}, {read, "", "404"}}},
		{"a second retry before the earlier copies", 0, []request{
			{write, "1??", ""}, {remove, "2", ""}, {write, "1?", ""}, {write, "1", ""}, {read, "", "404"}}},
		{"a second retry after a rejected one, before the first copy", 0, []request{
			{write, "1", ""}, {write, "2?", "409"}, {remove, "3", ""}, {write, "2??", ""}, {remove, "4", ""}, {write, "2", ""},
			{read, "", "404"}}},
		{"a retry before the first copy", 0, []request{
			{write, "1?", ""}, {read, "", ""}, {remove, "2", ""}, {write, "1", ""}, {read, "", "404"}}},
		{"a rejected retry before the first copy", 0, []request{
			{write, "1", ""}, {write, "2?", "409"}, {remove, "3", ""}, {write, "2", ""}, {read, "", "404"}}},
		{"a retry of a delete of nothing before the first copy", 0, []request{
			{remove, "1?", ""}, {write, "2", ""}, {remove, "1", ""}, {read, "", ""}}},
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
				id := strings.TrimRight(step.id, "?")
				if id != "" {
					msg.Header.Set(jetstream.MsgIDHeader, id)
				}
				if retries := strings.Count(step.id, "?"); retries > 0 {
					msg.Header.Set(bus.HeaderRetry, strconv.Itoa(retries))
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

// TestSuspendedWorker suspends one of two workers, so that it performs requests later. Every request that has a
// result got it from the other worker, and its first copy has no effect.
func TestSuspendedWorker(t *testing.T) {
	t.Parallel()
	const requests = 16 // so many that the retries of some certainly reach the other worker
	server := bustest.Listen(t)
	at, suspend, resume := bustest.Link(t, strings.TrimPrefix(server.URL(), "nats://"))
	slow, err := bus.Open("nats://"+at, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slow.Close)
	serve(t, bustest.Dial(t, server))
	store, err := tags.Create(t.Context(), slow, tags.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	service, err := bus.Start(slow, "tags", 256, slog.New(slog.DiscardHandler))
	if err == nil {
		err = tags.Serve(service, store, tags.DefaultTTL)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := client{t, bustest.Dial(t, server)}
	suspend()
	write := func(id string) error { return c.write(id, "a") }
	var known sync.Map // whether the tag exists, by its request_id
	var all sync.WaitGroup
	for i := range requests {
		steps, exists := []func(string) error{write, c.delete}, false
		if i%2 > 0 {
			steps, exists = []func(string) error{c.delete, write}, true
		}
		all.Go(func() {
			id := fmt.Sprint("r", i)
			for _, do := range steps {
				switch err := do(id); {
				case errors.Is(err, schemas.ErrUnavailable): // its retry has reached the suspended worker too
					return
				case err != nil:
					t.Errorf("%s: %v", id, err)
				}
			}
			known.Store(id, exists)
		})
	}
	all.Wait()
	resume()
	if err := service.Stop(t.Context()); err != nil { // it performs the requests that have reached it
		t.Fatal(err)
	}
	checked := 0
	known.Range(func(id, exists any) bool {
		checked++
		if _, err := c.read(id.(string)); (err == nil) != exists.(bool) || err != nil && !errors.Is(err, schemas.ErrTagNotFound) {
			t.Errorf("read %v: got %v, want exists %v", id, err, exists)
		}
		return true
	})
	if checked == 0 {
		t.Error("no request had a result")
	}
}
