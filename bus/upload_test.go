package bus_test

import (
	"cmp"
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
	"cairn/test/wait"
)

// TestUploadBudget: a worker grants chunks to the clients of several connections up to its
// budget, 32 chunks of 512 KiB, of which one tenant gets 80 %, and further ones as chunks arrive.
func TestUploadBudget(t *testing.T) {
	t.Parallel()
	const uploads, most = 40, 25
	server, conn := bustest.Start(t)
	serve(t, conn, func(context.Context, schemas.Analysis, bus.Sender) error { return nil })
	granted := make(chan func(), uploads)
	for range uploads {
		nc := bustest.Dial(t, server).JetStream().Conn()
		body, grants := nc.NewInbox(), nc.NewInbox()
		events, err := nc.SubscribeSync(body)
		bustest.Must(t, err)
		request := &nats.Msg{Subject: bus.Analyze.Subject, Reply: body, Header: nats.Header{bus.HeaderBodySize: {"1000000"}}}
		bustest.Must(t, nc.PublishMsg(request))
		first, err := events.NextMsg(10 * time.Second)
		bustest.Must(t, err)
		subject := first.Header.Get(bus.HeaderBodySubject)
		bustest.Subscribe(t, nc, grants, func(*nats.Msg) {
			granted <- func() { _ = nc.Publish(subject, make([]byte, 1_000_000)) } // the rest of the body
		})
		bustest.Must(t, nc.PublishRequest(subject, grants, nil))
	}
	var arrive []func()
	for range most {
		arrive = append(arrive, <-granted)
	}
	select {
	case <-granted:
		t.Errorf("more than %d chunks are granted", most)
	case <-time.After(200 * time.Millisecond):
	}
	for n := most; n < uploads; n++ {
		arrive[0]()
		arrive = append(arrive[1:], <-granted)
	}
}

// TestUploadsToASuspendedWorker: the worker reads nothing while 24 bodies of 6 MiB, more than a
// connection may have pending, arrive from three edges. They share the worker with writes of
// tags. Nothing fails.
func TestUploadsToASuspendedWorker(t *testing.T) {
	const bodies, size = 24, 6 << 20
	node := bustest.StartNode(t, &server.Options{})
	address, cut, heal := bustest.Link(t, strings.TrimPrefix(node.ClientURL(), "nats://"))
	worker := bustest.DialURL(t, "nats://"+address)
	bustest.Must(t, bus.Analyze.ServeBody(bustest.Service(t, worker, "analyze"),
		func(_ context.Context, body []byte, _ bus.Sender) error {
			if len(body) != size {
				t.Errorf("a body of %d bytes arrived, want %d", len(body), size)
			}
			return nil
		}))
	bustest.Must(t, bus.WriteTag.Serve(bustest.Service(t, worker, "tags"),
		func(context.Context, schemas.TagWrite) (schemas.TagWritten, error) {
			return schemas.TagWritten{}, nil
		}))
	var edges []*bus.Conn
	for range 3 {
		edges = append(edges, bustest.DialURL(t, node.ClientURL()))
	}
	body := make([]byte, size)
	var uploads, writes sync.WaitGroup
	for i := range bodies {
		uploads.Go(func() {
			for _, err := range bus.Analyze.Forward(t.Context(), edges[i%3], body) {
				if err != nil {
					t.Errorf("an analysis: %v", err)
				}
			}
		})
	}
	ended, end := context.WithCancel(t.Context())
	failed := make([]error, len(edges))
	for i, edge := range edges {
		writes.Go(func() {
			for ended.Err() == nil {
				_, err := bus.WriteTag.Call(t.Context(), edge, writeTag("r"))
				failed[i] = cmp.Or(failed[i], err)
			}
		})
	}
	received := func() int64 { // in MiB
		v, err := node.Varz(nil)
		bustest.Must(t, err)
		return v.InBytes >> 20
	}
	wait.Until(t, "a quarter of the bodies has been sent", func() bool { return received() >= bodies*size/4>>20 })
	cut()
	suspended := time.Now()
	last, same := received(), 0
	wait.Until(t, "the edges wait for the worker", func() bool {
		now := received()
		if same++; now != last {
			last, same = now, 0
		}
		return same == 20
	})
	heal()
	healed := time.Since(suspended)
	uploads.Wait()
	end()
	writes.Wait()
	// On a busy machine, the suspension is longer than a client waits for a heartbeat.
	if err := errors.Join(failed...); err != nil && !(errors.Is(err, schemas.ErrUnavailable) && healed > 2*time.Second) {
		t.Errorf("a tag, with a suspension of %v: %v", healed, err)
	}
	if n := node.NumSlowConsumers(); n > 0 {
		t.Errorf("%d slow consumers", n)
	}
}
