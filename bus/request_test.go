package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// unresponsive subscribes to the subject as a worker that does not reply, for the given
// number of requests; 0: for all.
func unresponsive(t *testing.T, nc *nats.Conn, subject string, most int) (taken *atomic.Int64) {
	t.Helper()
	taken = new(atomic.Int64)
	sub, err := nc.QueueSubscribe(subject, "q", func(*nats.Msg) { taken.Add(1) })
	bustest.Must(t, err)
	if most > 0 {
		bustest.Must(t, sub.AutoUnsubscribe(most))
	}
	bustest.Must(t, nc.Flush())
	return taken
}

// TestRetryAfterMissedHeartbeats: one of two workers does not reply. The other one receives a retry of a read, and
// of a write that is stored once, unless it is large.
func TestRetryAfterMissedHeartbeats(t *testing.T) {
	t.Parallel()
	write := func(ctx context.Context, conn *bus.Conn, id string) error {
		_, err := bus.WriteTag.Call(ctx, conn, writeTag(id))
		return err
	}
	for _, row := range []struct {
		name    string
		subject string
		call    func(context.Context, *bus.Conn) error
		retried bool
	}{
		{"a read", bus.ReadTag.Subject, func(ctx context.Context, conn *bus.Conn) error {
			_, err := bus.ReadTag.Call(ctx, conn, schemas.TagKey{RequestID: "r"})
			return err
		}, true},
		{"a write that is stored once", bus.WriteTag.Subject, func(ctx context.Context, conn *bus.Conn) error {
			return write(ctx, conn, "r")
		}, true},
		{"a large write", bus.WriteTag.Subject, func(ctx context.Context, conn *bus.Conn) error {
			return write(ctx, conn, strings.Repeat("r", 32<<10))
		}, false},
		{"a write with a precondition", bus.WriteTag.Subject, func(ctx context.Context, conn *bus.Conn) error {
			return write(bus.WithPrecondition(ctx, schemas.Precondition{IfNoneMatch: "*"}), conn, "r")
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn, nc := startServer(t)
			service := bustest.Service(t, conn, "tags")
			var handled, answered atomic.Int64
			err := errors.Join(
				bus.ReadTag.Serve(service, func(context.Context, schemas.TagKey) (res schemas.TagFound, err error) {
					handled.Add(1)
					return res, nil
				}),
				bus.WriteTag.Serve(service, func(context.Context, schemas.TagWrite) (res schemas.TagWritten, err error) {
					handled.Add(1)
					return res, nil
				}))
			bustest.Must(t, err)
			for taken := unresponsive(t, nc, row.subject, 1); taken.Load() == 0; {
				if err = row.call(t.Context(), conn); err == nil {
					answered.Add(1)
				}
			}
			switch {
			case row.retried && err != nil:
				t.Error(err)
			case !row.retried && (!errors.Is(err, schemas.ErrUnavailable) || !strings.Contains(err.Error(), "no heartbeat")):
				t.Errorf("got %v, want %v: no heartbeat", err, schemas.ErrUnavailable)
			}
			if handled.Load() != answered.Load() {
				t.Errorf("%d requests were handled, and %d answered", handled.Load(), answered.Load())
			}
		})
	}
}

// TestRetriesOfWrite: a retry has the Nats-Msg-Id of the first copy and the remaining timeout.
func TestRetriesOfWrite(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	var copies []*nats.Msg
	_, err := nc.QueueSubscribe(bus.WriteTag.Subject, "q", func(msg *nats.Msg) {
		copies = append(copies, msg)
	})
	bustest.Must(t, err)
	bustest.Must(t, nc.Flush())
	if _, err := bus.WriteTag.Call(t.Context(), conn, writeTag("r")); !errors.Is(err, schemas.ErrUnavailable) ||
		!strings.Contains(err.Error(), "no heartbeat") {
		t.Errorf("got %v, want %v: no heartbeat", err, schemas.ErrUnavailable)
	}
	if err := nc.Drain(); err != nil { // no copy is added afterwards
		t.Fatal(err)
	}
	wait.Until(t, "the subscriber has ended", nc.IsClosed)
	if len(copies) != 3 {
		t.Fatalf("%d copies were sent, want 3", len(copies))
	}
	id := copies[0].Header.Get(jetstream.MsgIDHeader)
	for n, msg := range copies {
		if got := msg.Header.Get(jetstream.MsgIDHeader); got == "" || got != id {
			t.Errorf("copy %d has the ID %q, want %q", n, got, id)
		}
		if left, err := time.ParseDuration(msg.Header.Get(bus.HeaderTimeout)); n > 0 &&
			(err != nil || left >= 15*time.Second) {
			t.Errorf("copy %d has the timeout %v, %v, want the rest of 15 s", n, left, err)
		}
	}
}

// TestReadWaitsForSuccessorOfLostWorker: the only worker is lost, and another one starts later than the last
// hedged request.
func TestReadWaitsForSuccessorOfLostWorker(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	handle := func(context.Context, schemas.TagKey) (res schemas.TagFound, err error) { return res, nil }
	read := func() error {
		_, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r"})
		return err
	}
	former := bustest.Service(t, conn, "tags")
	bustest.Must(t, errors.Join(bus.ReadTag.Serve(former, handle), read(), former.Stop(t.Context())))
	unresponsive(t, nc, bus.ReadTag.Subject, 1)
	result := make(chan error, 1)
	go func() { result <- read() }()
	select {
	case err := <-result:
		t.Fatal(err)
	case <-time.After(3 * time.Second): // longer than a request waits without a heartbeat
	}
	bustest.Must(t, bus.ReadTag.Serve(bustest.Service(t, conn, "tags"), handle))
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// A client does not retry a request while the worker sends heartbeats.
func TestHeartbeatExtendsWait(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	bustest.Must(t, bus.ReadTag.Serve(bustest.Service(t, conn, "tags"),
		func(ctx context.Context, _ schemas.TagKey) (schemas.TagFound, error) {
			long, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			<-long.Done()
			return schemas.TagFound{Tags: schemas.Tag{Flow: "late"}}, nil
		}))
	tag, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r"})
	if err != nil || tag.Tags.Flow != "late" {
		t.Errorf("got %v, %v, want the late reply", tag, err)
	}
}

func TestRetryBudget(t *testing.T) {
	t.Parallel()
	const requests, again = 50, 100
	conn, nc := startServer(t)
	taken := unresponsive(t, nc, bus.ReadTag.Subject, 0)
	var callers sync.WaitGroup
	for range requests {
		callers.Go(func() {
			if _, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r"}); !errors.Is(err,
				schemas.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if n := taken.Load(); n != requests+again {
		t.Errorf("%d requests were sent, want %d and %d retries", n, requests, again)
	}
}
