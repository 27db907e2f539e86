package bus_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// outageOf returns a connection, after a worker of WriteTag has replied and stopped, and a
// function that starts another worker.
func outageOf(t *testing.T) (conn *bus.Conn, end func()) {
	t.Helper()
	server, conn := bustest.Start(t)
	worker := func() *bus.Service {
		s := bustest.Service(t, bustest.Dial(t, server), "tags")
		bustest.Must(t, bus.WriteTag.Serve(s, func(context.Context, schemas.TagWrite) (schemas.TagWritten, error) {
			return schemas.TagWritten{}, nil
		}))
		return s
	}
	s := worker()
	if _, err := bus.WriteTag.Call(t.Context(), conn, writeTag("r")); err != nil {
		t.Fatal(err)
	}
	bustest.Must(t, s.Stop(t.Context()))
	return conn, func() { worker() }
}

// TestRequestWaitsForAWorker: a write that reached no worker is delivered to the next one.
func TestRequestWaitsForAWorker(t *testing.T) {
	t.Parallel()
	conn, end := outageOf(t)
	written := make(chan error, 1)
	go func() {
		_, err := bus.WriteTag.Call(t.Context(), conn, writeTag("r"))
		written <- err
	}()
	wait.Until(t, "the request waits", func() bool { return bus.Undelivered(conn) == 1 })
	end()
	if err := <-written; err != nil {
		t.Errorf("the request in the outage: %v", err)
	}
	if n := bus.Undelivered(conn); n != 0 {
		t.Errorf("%d requests wait after the reply, want none", n)
	}
}

// TestQueueInAnOutage sends more requests than may be in flight: the others wait in the queue of the connection.
func TestQueueInAnOutage(t *testing.T) {
	t.Parallel()
	conn, end := outageOf(t)
	var callers sync.WaitGroup
	for range 300 {
		callers.Go(func() {
			if _, err := bus.WriteTag.Call(t.Context(), conn, writeTag("r")); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Until(t, "requests wait", func() bool { return bus.Undelivered(conn) > 1 })
	end()
	callers.Wait()
}

// TestCanceledCallerInOutage: the request is not sent when a worker starts later.
func TestCanceledCallerInOutage(t *testing.T) {
	t.Parallel()
	conn, _ := outageOf(t)
	caller, leave := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() {
		_, err := bus.WriteTag.Call(bus.WithCaller(t.Context(), caller), conn, writeTag("r"))
		written <- err
	}()
	wait.Until(t, "the request waits", func() bool { return bus.Undelivered(conn) == 1 })
	leave()
	if err := <-written; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestReplyAfterLostConnection: the worker has lost its connection when the handler returns. The client
// receives the reply once the worker has reconnected.
func TestReplyAfterLostConnection(t *testing.T) {
	t.Parallel()
	server, client := bustest.Start(t)
	worker := bustest.Dial(t, server)
	bustest.Must(t, bus.WriteTag.Serve(bustest.Service(t, worker, "tags"),
		func(_ context.Context, w schemas.TagWrite) (schemas.TagWritten, error) {
			return schemas.TagWritten{RequestID: w.RequestID}, worker.JetStream().Conn().ForceReconnect()
		}))
	if written, err := bus.WriteTag.Call(t.Context(), client, writeTag("r")); err != nil || written.RequestID != "r" {
		t.Errorf("got %+v, %v", written, err)
	}
}

// TestWriteIsRetriedAfterLostConnection: the client loses its connection after a worker has stored the
// write and before it replies. The retry stores nothing.
func TestWriteIsRetriedAfterLostConnection(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name         string
		size         int
		precondition schemas.Precondition
		want         error
		copies       int
	}{
		{"a write", 1, schemas.Precondition{}, nil, 2},
		{"a large write, over its own connection", 300 << 10, schemas.Precondition{}, nil, 2},
		{"a write with a precondition", 1, schemas.Precondition{IfNoneMatch: "*"}, schemas.ErrUnavailable, 1},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server, conn := bustest.Start(t)
			client := bustest.Dial(t, server)
			js := conn.JetStream()
			stream, err := bucket.Setup(t.Context(), js, bucket.Tags, bucket.Replication{}, func(*jetstream.StreamConfig) {})
			bustest.Must(t, err)
			var sequences []uint64
			var mu sync.Mutex
			answered := make(chan struct{})
			service := bustest.Service(t, conn, "tags")
			err = bus.WriteTag.Serve(service, func(ctx context.Context, w schemas.TagWrite) (schemas.TagWritten, error) {
				seq, err := bucket.Publish(ctx, js, &nats.Msg{Subject: "$KV.cairn_tags.r", Header: nats.Header{}})
				mu.Lock()
				sequences = append(sequences, seq)
				first := len(sequences) == 1
				mu.Unlock()
				if first {
					nc := client.JetStream().Conn()
					if row.size > 1 {
						nc = bus.Bulk(client)
					}
					err = errors.Join(err, nc.ForceReconnect())
					<-answered
				}
				return schemas.TagWritten{RequestID: w.RequestID}, err
			})
			bustest.Must(t, err)
			ctx := bus.WithPrecondition(t.Context(), row.precondition)
			tag := writeTag("r")
			tag.Tags = map[string]jsontext.Value{"k": jsontext.Value(`"` + strings.Repeat("v", row.size) + `"`)}
			if _, err := bus.WriteTag.Call(ctx, client, tag); !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
			close(answered)
			bustest.Must(t, service.Stop(t.Context()))
			info, err := stream.Info(t.Context())
			if err != nil || info.State.LastSeq != 1 {
				t.Errorf("the last sequence is %d, %v, want 1", info.State.LastSeq, err)
			}
			if want := slices.Repeat([]uint64{1}, row.copies); !slices.Equal(sequences, want) {
				t.Errorf("the copies of the request were stored with the sequences %d, want %d", sequences, want)
			}
		})
	}
}

// TestStreamWaitsForAWorker: a run starts when a worker does.
func TestStreamWaitsForAWorker(t *testing.T) {
	t.Parallel()
	conn, _ := startServer(t)
	setupReplay(t, conn)
	worker := func() *bus.Service {
		s := bustest.Service(t, conn, "analyze")
		bustest.Must(t, bus.Analyze.Serve(s, many))
		return s
	}
	first := worker()
	listen(t, conn, bus.NewRun(), 0)
	bustest.Must(t, first.Stop(t.Context()))
	run, events := bus.NewRun(), make(chan int)
	go func() {
		n := 0
		for _, err := range bus.Analyze.Run(t.Context(), conn, run, anything) {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		events <- n
	}()
	wait.Until(t, "the request waits", func() bool { return bus.Undelivered(conn) == 1 })
	worker()
	if n := <-events; n != 701 {
		t.Errorf("%d events of the run, want 701", n)
	}
}
