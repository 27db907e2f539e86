package bucket_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
)

// replicated is a stream with three replicas.
type replicated struct{ jetstream.Stream }

func (replicated) CachedInfo() *jetstream.StreamInfo {
	return &jetstream.StreamInfo{Config: jetstream.StreamConfig{Replicas: 3}}
}

// TestLastIgnoresExpired reads from a replica that has not removed a message yet: it has
// expired if the fence was written after its deadline. Otherwise a later read from another
// replica could find a message that had expired for an earlier one.
func TestLastIgnoresExpired(t *testing.T) {
	t.Parallel()
	stored := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name    string
		ttl     string
		fenced  time.Duration // after stored
		expired bool
	}{
		{"before the deadline", "2s", 1999 * time.Millisecond, false},
		{"at the deadline", "2s", 2 * time.Second, true},
		{"after the deadline", "2s", time.Minute, true},
		{"without a time to live", "", time.Hour, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn := bustest.Open(t)
			subscribe(t, conn.JetStream().Conn(), "$KV.b.=fence", &nats.Msg{Data: []byte(`{"stream":"KV_b","seq":7}`)})
			subscribe(t, conn.JetStream().Conn(), "$JS.API.DIRECT.GET.KV_b",
				message("$KV.b.key", "5", stored, row.ttl), message("$KV.b.=fence", "7", stored.Add(row.fenced), ""),
				&nats.Msg{Header: nats.Header{"Status": {"204"}, "Description": {"EOB"}}})
			msg, err := bucket.NewReader(conn.JetStream(), "b", replicated{}).Last(t.Context(), "$KV.b.key")
			if row.expired && !errors.Is(err, jetstream.ErrMsgNotFound) || !row.expired && (err != nil || msg.Sequence != 5) {
				t.Errorf("got %v, %v", msg, err)
			}
		})
	}
}

func message(subject, sequence string, stored time.Time, ttl string) *nats.Msg {
	m := &nats.Msg{Header: nats.Header{
		jetstream.SubjectHeader: {subject}, jetstream.SequenceHeader: {sequence},
		jetstream.TimeStampHeaer: {stored.Format(time.RFC3339Nano)},
		jetstream.StreamHeader:   {"KV_b"}, "Nats-Num-Pending": {"0"},
	}}
	if ttl != "" {
		m.Header.Set(jetstream.MsgTTLHeader, ttl)
	}
	return m
}

// subscribe answers each request with the messages.
func subscribe(t *testing.T, nc *nats.Conn, subject string, replies ...*nats.Msg) {
	t.Helper()
	bustest.Subscribe(t, nc, subject, func(request *nats.Msg) {
		for _, m := range replies {
			if err := request.RespondMsg(&nats.Msg{Header: m.Header, Data: m.Data}); err != nil {
				t.Error(err)
			}
		}
	})
}
