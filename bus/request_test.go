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

func TestReadIsRetried(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	err := bus.ReadTag.Serve(bustest.Service(t, conn, "tags"), func(context.Context, schemas.TagKey) (schemas.TagFound, error) {
		return schemas.TagFound{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for taken := unresponsive(t, nc, bus.ReadTag.Subject, 1); taken.Load() == 0; {
		began := time.Now()
		if _, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r"}); err != nil {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
	}
}

func TestWriteIsNotRetried(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	var written, answered atomic.Int64
	err := bus.WriteTag.Serve(bustest.Service(t, conn, "tags"), func(context.Context, schemas.TagWrite) (schemas.TagWritten, error) {
		written.Add(1)
		return schemas.TagWritten{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for taken := unresponsive(t, nc, bus.WriteTag.Subject, 1); ; answered.Add(1) {
		_, err := bus.WriteTag.Call(t.Context(), conn, writeTag("r"))
		if taken.Load() > 0 && (!errors.Is(err, schemas.ErrUnavailable) || !strings.Contains(err.Error(), "no heartbeat")) {
			t.Errorf("got %v, want %v: no heartbeat", err, schemas.ErrUnavailable)
		}
		if err != nil {
			break
		}
	}
	if written.Load() != answered.Load() {
		t.Errorf("%d tags were written, and %d requests answered", written.Load(), answered.Load())
	}
}

// TestReadWaitsForSuccessorOfLostWorker: the only worker is lost, and another one starts later than the last
// hedged request.
func TestReadWaitsForSuccessorOfLostWorker(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	found := func(context.Context, schemas.TagKey) (res schemas.TagFound, err error) { return res, nil }
	read := func() error {
		_, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r"})
		return err
	}
	former := bustest.Service(t, conn, "tags")
	if err := errors.Join(bus.ReadTag.Serve(former, found), read(), former.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	unresponsive(t, nc, bus.ReadTag.Subject, 1)
	result := make(chan error, 1)
	go func() { result <- read() }()
	select {
	case err := <-result:
		t.Fatal(err)
	case <-time.After(3 * time.Second): // longer than a request waits without a heartbeat
	}
	if err := bus.ReadTag.Serve(bustest.Service(t, conn, "tags"), found); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
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
