package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

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
	bustest.Must(t, nc.Flush())
	tag := schemas.TagWrite{Tag: schemas.Tag{RequestID: strings.Repeat("r", 900<<10)}}
	var calls sync.WaitGroup
	for range requests {
		calls.Go(func() { _, _ = bus.WriteTag.Call(t.Context(), conn, tag) }) // each is answered with an error
	}
	ended := make(chan struct{})
	go func() { calls.Wait(); close(ended) }()
	for {
		var unconfirmed []*nats.Msg
		bytes := 0
		missed := time.After(time.Second) // calls fail 2.5 s after they were sent, for lack of a heartbeat
		for next := true; next; {
			select {
			case msg := <-received:
				unconfirmed, bytes = append(unconfirmed, msg), bytes+len(msg.Data)
			case <-time.After(300 * time.Millisecond):
				next = len(unconfirmed) == 0
			case <-missed:
				next = false
			case <-ended:
				return
			}
		}
		if bytes > most {
			t.Errorf("%d bytes are unconfirmed, want at most %d", bytes, most)
		}
		for _, msg := range unconfirmed {
			refusal := &nats.Msg{Header: nats.Header{"Nats-Service-Error": {"refused"}, "Nats-Service-Error-Code": {"500"}}}
			bustest.Must(t, msg.RespondMsg(refusal))
		}
	}
}

// TestConnectionLostDuringUpload stops the server while a worker has not confirmed a chunk.
func TestConnectionLostDuringUpload(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	conn, nc := bustest.Dial(t, server), bustest.Connect(t, server)
	control := nc.NewInbox()
	bustest.Subscribe(t, nc, control, func(*nats.Msg) { server.Stop() })
	bustest.Subscribe(t, nc, bus.Analyze.Subject, func(msg *nats.Msg) { _ = nc.PublishRequest(msg.Reply, control, nil) })
	for _, err := range bus.Analyze.Forward(t.Context(), conn, make([]byte, 9<<20)) {
		if !errors.Is(err, schemas.ErrAnalysisUnavailable) || !errors.Is(err, bus.ErrInterrupted) {
			t.Errorf("got %v, want the lost connection", err)
		}
	}
}

// TestLargeRequestsHaveTheirOwnConnection checks that a large request delays neither the heartbeats,
// acknowledgements and small requests of its client nor those that a worker receives.
func TestLargeRequestsHaveTheirOwnConnection(t *testing.T) {
	t.Parallel()
	node := bustest.StartNode(t, &server.Options{JetStream: true})
	dial := func(name string) *bus.Conn {
		conn, err := bus.Open(node.ClientURL(), name)
		bustest.Must(t, err)
		t.Cleanup(conn.Close)
		return conn
	}
	client := dial("client")
	s := bustest.Service(t, dial("worker"), "register")
	bustest.Must(t, bus.PutRecords.Serve(s, func(context.Context, schemas.PutRecords) (schemas.RecordResults, error) {
		return schemas.RecordResults{}, nil
	}))
	const small, large = 100 << 10, 900 << 10
	for _, size := range []int{small, large} {
		body := `{"records":[{"kind":"tool","record":{"tool_id":"a.b.c","of":"` + strings.Repeat("v", size) + `"}}]}`
		if _, err := bus.PutRecords.Forward(t.Context(), client, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	connections, err := node.Connz(nil)
	bustest.Must(t, err)
	sent, received := map[string]int64{}, map[string]int64{}
	for _, c := range connections.Conns {
		sent[c.Name], received[c.Name] = c.InBytes, c.OutBytes
	}
	if sent["client"] < small || sent["client"] >= large || sent["client bulk"] < large {
		t.Errorf("bytes sent by connection: %v", sent)
	}
	if received["worker"] >= small || received["worker bulk"] < large {
		t.Errorf("bytes received by connection: %v", received)
	}
}
