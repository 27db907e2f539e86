package bus_test

import (
	"slices"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

func TestTopicReachesAllSubscribers(t *testing.T) {
	t.Parallel()
	server, publisher := bustest.Start(t)
	received := make(chan schemas.Projected, 8)
	var stops []func()
	for _, conn := range []*bus.Conn{publisher, bustest.Dial(t, server), bustest.Dial(t, server)} {
		stop, err := bus.Projected.Subscribe(conn, func(p schemas.Projected) { received <- p })
		bustest.Must(t, err)
		stops = append(stops, stop)
	}
	sent := schemas.Projected{Generation: "one", Revisions: []uint64{3, 1 << 60}}
	bustest.Must(t, bus.Projected.Publish(publisher, sent))
	for range stops {
		select {
		case got := <-received:
			if got.Generation != sent.Generation || !slices.Equal(got.Revisions, sent.Revisions) {
				t.Errorf("got %+v, want %+v", got, sent)
			}
		case <-time.After(wait.Timeout):
			t.Fatal("a subscriber did not receive the message")
		}
	}
	for _, stop := range stops {
		stop()
	}
}

func TestUnsubscribeOnClosedConnection(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	stop, err := bus.Projected.Subscribe(conn, func(schemas.Projected) {})
	bustest.Must(t, err)
	conn.Close()
	stop()
}
