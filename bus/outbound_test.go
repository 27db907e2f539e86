package bus_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/schemas"
)

// TestUnconfirmedMessagesAreBounded sends more large requests than a NATS server may hold
// for a worker that has not read them. It runs alone: others count missed heartbeats.
func TestUnconfirmedMessagesAreBounded(t *testing.T) {
	const requests, most = 64, 32 << 20
	conn, nc := listening(t)
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
