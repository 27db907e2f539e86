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

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// unresponsive subscribes to the subject as a worker that does not reply, for the given
// number of requests; 0: for all.
func unresponsive(t *testing.T, nc *nats.Conn, subject string, most int) (taken *atomic.Int64) {
	t.Helper()
	taken = new(atomic.Int64)
	sub, err := nc.QueueSubscribe(subject, "q", func(*nats.Msg) { taken.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	if most > 0 {
		if err := sub.AutoUnsubscribe(most); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return taken
}

// TestRetryAfterMissedHeartbeats: one of two workers does not reply. A request is sent to the other
// one unless that could perform it twice.
func TestRetryAfterMissedHeartbeats(t *testing.T) {
	t.Parallel()
	write := func(ctx context.Context, conn *bus.Conn) error {
		_, err := bus.WriteTag.Call(ctx, conn, writeTag("r"))
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
		{"a write that is stored once", bus.WriteTag.Subject, write, true},
		{"a large write", bus.WriteTag.Subject, func(ctx context.Context, conn *bus.Conn) error {
			_, err := bus.WriteTag.Call(ctx, conn, writeTag(strings.Repeat("r", 32<<10)))
			return err
		}, false},
		{"a write with a precondition", bus.WriteTag.Subject, func(ctx context.Context, conn *bus.Conn) error {
			return write(bus.WithPrecondition(ctx, schemas.Precondition{IfNoneMatch: "*"}), conn)
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
			if err != nil {
				t.Fatal(err)
			}
			for taken := unresponsive(t, nc, row.subject, 1); ; {
				err = row.call(t.Context(), conn)
				if err == nil {
					answered.Add(1)
				}
				if err != nil || taken.Load() > 0 {
					break
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

// A client does not retry a request while the worker sends heartbeats.
func TestHeartbeatExtendsWait(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	err := bus.ReadTag.Serve(bustest.Service(t, conn, "tags"), func(ctx context.Context, _ schemas.TagKey) (schemas.TagFound, error) {
		long, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		<-long.Done()
		return schemas.TagFound{Tags: schemas.Tag{Flow: "late"}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r"})
	if err != nil || found.Tags.Flow != "late" {
		t.Errorf("got %v, %v, want the late reply", found, err)
	}
}

func TestRetryBudget(t *testing.T) {
	t.Parallel()
	const requests, again = 300, 100
	conn, nc := startServer(t)
	taken := unresponsive(t, nc, bus.ReadTag.Subject, 0)
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			if _, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r"}); !errors.Is(err, schemas.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != requests+again {
		t.Errorf("%d requests were sent, want %d and %d retries", n, requests, again)
	}
}
