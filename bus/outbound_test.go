package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// TestUnconfirmedMessagesAreBounded sends more bytes of large requests than the
// max_pending of a NATS server, to a worker that does not read them. It is not parallel,
// because the load delays heartbeats of other tests.
func TestUnconfirmedMessagesAreBounded(t *testing.T) {
	const requests, most = 64, 32 << 20
	conn, nc := startServer(t)
	received := make(chan *nats.Msg, requests)
	if _, err := nc.ChanSubscribe(bus.WriteTag.Subject, received); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	tag := schemas.TagWrite{Tag: schemas.Tag{RequestID: strings.Repeat("r", 900<<10)}}
	var calls sync.WaitGroup
	for range requests {
		calls.Go(func() { _, _ = bus.WriteTag.Call(t.Context(), conn, tag) }) // each is answered with an error
	}
	for answered := 0; answered < requests; {
		var unconfirmed []*nats.Msg
		bytes := 0
		for more := true; more; {
			select {
			case msg := <-received:
				unconfirmed, bytes = append(unconfirmed, msg), bytes+len(msg.Data)
			case <-time.After(300 * time.Millisecond):
				more = len(unconfirmed) == 0
			}
		}
		if bytes > most {
			t.Errorf("%d bytes are unconfirmed, want at most %d", bytes, most)
		}
		for _, msg := range unconfirmed {
			refusal := &nats.Msg{Header: nats.Header{"Nats-Service-Error": {"refused"}, "Nats-Service-Error-Code": {"500"}}}
			if err := msg.RespondMsg(refusal); err != nil {
				t.Fatal(err)
			}
		}
		answered += len(unconfirmed)
	}
	calls.Wait()
}

// TestConnectionLostDuringUpload stops the server while a worker has not confirmed a chunk.
func TestConnectionLostDuringUpload(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	conn, nc := bustest.Dial(t, server), bustest.Connect(t, server)
	control := nc.NewInbox()
	if _, err := nc.Subscribe(control, func(*nats.Msg) { server.Stop() }); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Subscribe(bus.Analyze.Subject, func(msg *nats.Msg) {
		_ = nc.PublishRequest(msg.Reply, control, nil)
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, err := range bus.Analyze.Forward(t.Context(), conn, make([]byte, 9<<20)) {
		if !errors.Is(err, schemas.ErrAnalysisUnavailable) || !errors.Is(err, bus.ErrInterrupted) {
			t.Errorf("got %v, want the lost connection", err)
		}
	}
}

// TestLargeRequestsHaveTheirOwnConnection: the bytes of a large request do not queue before the
// heartbeats, acknowledgements and small requests of a client.
func TestLargeRequestsHaveTheirOwnConnection(t *testing.T) {
	t.Parallel()
	node := bustest.StartNode(t, &server.Options{JetStream: true})
	dial := func(name string) *bus.Conn {
		conn, err := bus.Open(node.ClientURL(), name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	client := dial("client")
	s := bustest.Service(t, dial("worker"), "tags")
	if err := bus.WriteTag.Serve(s, func(context.Context, schemas.TagWrite) (schemas.TagWritten, error) {
		return schemas.TagWritten{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	const small, large = 100 << 10, 900 << 10
	for _, size := range []int{small, large} {
		tag := writeTag("r")
		tag.Tags = map[string]jsontext.Value{"k": jsontext.Value(`"` + strings.Repeat("v", size) + `"`)}
		if _, err := bus.WriteTag.Call(t.Context(), client, tag); err != nil {
			t.Fatal(err)
		}
	}
	connections, err := node.Connz(nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]int64{}
	for _, c := range connections.Conns {
		sent[c.Name] = c.InBytes
	}
	if sent["client"] < small || sent["client"] >= large || sent["client bulk"] < large {
		t.Errorf("bytes sent by connection: %v", sent)
	}
}
