package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

func TestWithReplyMarginErrors(t *testing.T) {
	t.Parallel()
	unrelated := errors.New("other")
	for _, c := range []struct{ err, want error }{
		{nil, nil},
		{unrelated, unrelated},
		{fmt.Errorf("write a fence: %w", context.DeadlineExceeded), schemas.ErrUnavailable},
		{nats.ErrTimeout, schemas.ErrUnavailable},
	} {
		if err := bucket.WithReplyMargin(t.Context(), "tag store",
			func(context.Context) error { return c.err }); !errors.Is(err, c.want) {
			t.Errorf("%v: got %v, want %v", c.err, err, c.want)
		}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	err := bucket.WithReplyMargin(left, "tag store", func(ctx context.Context) error { return ctx.Err() })
	if !errors.Is(err, context.Canceled) || errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("after the caller canceled: %v", err)
	}
}

// withoutJetStream returns a connection to a server without JetStream, in whose place a test replies.
func withoutJetStream(t *testing.T, options *server.Options) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	js := bustest.DialURL(t, bustest.StartNode(t, options).ClientURL()).JetStream()
	return js.Conn(), js
}

// TestPurgeOfFullStore deletes a message while the server cannot store the tombstone.
func TestPurgeOfFullStore(t *testing.T) {
	t.Parallel()
	nc, js := withoutJetStream(t, &server.Options{})
	bustest.Subscribe(t, nc, "$JS.API.STREAM.PURGE.KV_b", func(msg *nats.Msg) {
		_ = msg.Respond([]byte(
			`{"error":{"code":500,"err_code":10051,"description":"write /data/1.blk: no space left on device"}}`))
	})
	err := bucket.WithReplyMargin(t.Context(), "tag store", func(ctx context.Context) error {
		_, err := bucket.Purge(ctx, js, "b", bucket.Range{Subject: "$KV.b.k", Last: 1})
		return err
	})
	const want = "the tag store cannot be written (no space left on device)"
	if e, ok := errors.AsType[*schemas.Error](err); !ok || e.Detail != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestPurgeDuringLeaderElection has a request lost after a server has replied several times that there is no leader.
func TestPurgeDuringLeaderElection(t *testing.T) {
	t.Parallel()
	responder, js := withoutJetStream(t, &server.Options{})
	requests := 0
	bustest.Subscribe(t, responder, "$JS.API.STREAM.PURGE.KV_b", func(msg *nats.Msg) {
		switch requests++; {
		case requests <= 5:
			_ = msg.Respond([]byte(`{"error":{"code":503,"err_code":10008,"description":"system unavailable"}}`))
		case requests > 6:
			_ = msg.Respond([]byte(`{"success":true,"purged":1}`))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	purged, err := bucket.Purge(ctx, js, "b", bucket.Range{Subject: "$KV.b.k", Last: 1})
	if err != nil || purged != 1 {
		t.Errorf("got %d messages, %v", purged, err)
	}
}

// TestPublishWithoutReply sends writes to a server that replies to some of them only, as nats-server with a full disk.
func TestPublishWithoutReply(t *testing.T) {
	t.Parallel()
	const outdated = `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 0"}}`
	for _, row := range []struct {
		name    string
		replies []string // to the write, one with an expected sequence, and the repeated write; nil: no stream
		problem string
	}{
		{"a write is refused if the server replies to later messages only", []string{"", outdated},
			"the tag store cannot be written (the disk of the NATS server may be full)"},
		{"a write is refused if no stream receives it", nil,
			"the tag store cannot be written (the disk of the NATS server may be full)"},
		{"a write is repeated if the server replies to no message", []string{"", "", `{"stream":"s","seq":1}`}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := bustest.Listen(t)
			requests := 0
			responder, subject := bustest.Connect(t, server), "writes"
			if row.replies == nil {
				subject = "other"
			}
			bustest.Subscribe(t, responder, subject, func(msg *nats.Msg) {
				if requests++; requests <= len(row.replies) && row.replies[requests-1] != "" {
					_ = msg.Respond([]byte(row.replies[requests-1]))
				}
			})
			conn := bustest.Dial(t, server)
			ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
			defer cancel()
			err := bucket.WithReplyMargin(ctx, "tag store", func(ctx context.Context) error {
				_, err := bucket.Publish(ctx, conn.JetStream(), nats.NewMsg("writes"))
				return err
			})
			got := ""
			if e, ok := errors.AsType[*schemas.Error](err); ok {
				got = e.Detail
			}
			if got != row.problem || (err != nil) != (row.problem != "") {
				t.Errorf("got %v, want %q", err, row.problem)
			}
		})
	}
}
