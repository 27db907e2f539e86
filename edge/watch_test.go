package edge_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/schemas"
)

// TestWatchEndsOnShutdown checks the ids of the events, and that a watch ends with done, which
// has no id, when the edge begins to drain.
func TestWatchEndsOnShutdown(t *testing.T) {
	t.Parallel()
	f := open(t)
	requests := make(chan schemas.Watch, 1)
	if err := bus.Watch.Serve(f.service, func(ctx context.Context, req schemas.Watch, to bus.Sender) error {
		requests <- req
		if err := to.Send(schemas.EventWatching, schemas.Watching{Revision: "ID-7"}); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	res := f.open(t, "GET /watch?tenant_id=acme&after=ID-3", nil, "Last-Event-ID: ID-7")
	if got := <-requests; got.After != "ID-7" || *got.TenantID != "acme" {
		t.Errorf("got %+v, want a watch after the Last-Event-ID", got)
	}
	var lines []string
	scanner := bufio.NewScanner(res.Body)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
		if len(lines) == 3 {
			f.stop()
		}
	}
	want := `id: ID-7|event: watching|data: {"revision":"ID-7"}||event: done|data: {}|`
	if got := strings.Join(lines, "|"); got != want || scanner.Err() != nil {
		t.Errorf("got %q, %v, want %q", got, scanner.Err(), want)
	}
}

// TestStreamIsCutWithoutHeartbeats: the worker sends an event and no heartbeats, as when NATS does
// not deliver them. The stream may continue, so the client receives no error and no done, and
// reconnects.
func TestStreamIsCutWithoutHeartbeats(t *testing.T) {
	t.Parallel()
	f := open(t)
	nc := f.conn.JetStream().Conn()
	_, err := nc.Subscribe(bus.Watch.Subject, func(msg *nats.Msg) {
		event := &nats.Msg{Subject: msg.Reply, Reply: nc.NewInbox(), Data: []byte(`{"revision":"ID-7"}`),
			Header: nats.Header{}}
		event.Header.Set(bus.HeaderEvent, schemas.EventWatching)
		_ = nc.PublishMsg(event)
	})
	if err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	res := f.open(t, "GET /watch", nil)
	body, err := io.ReadAll(res.Body)
	whole := strings.Contains(string(body), "event: watching") && !strings.Contains(string(body), "event: error")
	if !errors.Is(err, io.ErrUnexpectedEOF) || !whole {
		t.Errorf("got %q, %v, want the event and the end of the connection", body, err)
	}
}
