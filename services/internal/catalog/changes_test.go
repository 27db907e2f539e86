package catalog_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/test/wait"
)

// TestWatchLeavesNoConsumer ends watches: the server has no consumer of one that has ended.
func TestWatchLeavesNoConsumer(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	if _, err := c.Put(t.Context(), catalog.Key{Kind: schemas.KindTool, ID: "a.b.c"}, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ctx, stop := context.WithCancel(t.Context())
		err := c.Changes(ctx, catalog.Selection{Tenants: []string{""}}, func(catalog.Change) error { stop(); return nil })
		if stop(); err != nil {
			t.Fatal(err)
		}
	}
	maxConsumers(t, js, 0)
}

// TestAbandonedWatchLeavesNoConsumer ends watches while the server creates their consumers.
func TestAbandonedWatchLeavesNoConsumer(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	creations := make(chan *nats.Msg, 1)
	if _, err := js.Conn().ChanSubscribe("$JS.API.CONSUMER.CREATE."+catalog.Stream+".>", creations); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			<-creations
			stop()
		}()
		if err := c.Changes(ctx, catalog.Selection{Tenants: []string{""}},
			func(catalog.Change) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	maxConsumers(t, js, 0)
}

// TestInterruptedWatchesLeaveNoConsumer starts watches, and ends half of them, while the server is suspended. When
// it has performed the requests of all attempts, it has one consumer for each watch that continues.
func TestInterruptedWatchesLeaveNoConsumer(t *testing.T) {
	t.Parallel()
	const watches = 3
	s := startListening(t, t.TempDir(), -1)
	js := connectTo(t, s)
	c, err := catalog.Setup(t.Context(), js, bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), catalog.Key{Kind: schemas.KindTool, ID: "a.b.c"}, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	address, cut, heal := bustest.Link(t, fmt.Sprintf("127.0.0.1:%d", portOf(t, s)))
	nc, err := nats.Connect("nats://" + address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	impatient, err := jetstream.New(nc, jetstream.WithDefaultTimeout(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	var interrupted *catalog.Catalog
	wait.Success(t, func() error { interrupted, err = catalog.Open(t.Context(), impatient); return err })

	cut()
	start := func(ctx context.Context, group *sync.WaitGroup, apply func()) {
		for range watches {
			group.Go(func() {
				err := interrupted.Changes(ctx, catalog.Selection{Tenants: []string{""}},
					func(catalog.Change) error { apply(); return nil })
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	var abandoned, continued, received sync.WaitGroup
	abandoning, abandon := context.WithCancel(t.Context())
	start(abandoning, &abandoned, func() {})
	received.Add(watches)
	ctx, stop := context.WithCancel(t.Context())
	start(ctx, &continued, received.Done)
	sent := nc.Stats().OutMsgs
	wait.Until(t, "each watch has sent several requests", func() bool { return nc.Stats().OutMsgs > sent+4*watches })
	abandon()
	abandoned.Wait()
	heal()
	received.Wait()
	maxConsumers(t, js, 2*watches) // the deletion of a consumer is tried once
	stop()
	continued.Wait()
	maxConsumers(t, js, watches)
}

// maxConsumers checks that the catalog has at most limit consumers.
func maxConsumers(t *testing.T, js jetstream.JetStream, limit int) {
	t.Helper()
	stream, err := js.Stream(t.Context(), catalog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Consumers; n > limit {
		t.Errorf("the server has %d consumers, want at most %d", n, limit)
	}
}

// TestMoreWatchesThanDefaultLimit has more consumers than nats-server permits by default.
func TestMoreWatchesThanDefaultLimit(t *testing.T) {
	t.Parallel()
	_, js := open(t)
	for n := range server.JSDefaultMaxConsumersPerStream + 1 {
		if _, err := js.CreateConsumer(t.Context(), catalog.Stream,
			jetstream.ConsumerConfig{MemoryStorage: true}); err != nil {
			t.Fatalf("consumer %d: %v", n+1, err)
		}
	}
}

// TestBatchesAreLimited starts batches of watches until one has to wait, and cancels that one. A batch counts
// for longer the more changes it has.
func TestBatchesAreLimited(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	ends := startBatches(t, c)
	if len(ends) > 2*runtime.GOMAXPROCS(0)-1 {
		t.Errorf("%d batches of a tenant at the same time", len(ends))
	}
	ends[0](1_000_000)
	for _, end := range ends[1:] {
		end(0)
	}
	if held, _ := c.Batches(); held != 1 {
		t.Errorf("%d batches count, want the one with many changes", held)
	}
}

// startBatches starts all batches that the tenant without a name may have at the same time.
func startBatches(t *testing.T, c *catalog.Catalog) (ends []func(changes int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no call waits
	for {
		end, err := c.StartBatch(ctx)
		if err != nil {
			end(0)
			return ends
		}
		if ends = append(ends, end); len(ends) > 10*runtime.GOMAXPROCS(0) {
			t.Fatalf("%d batches at the same time", len(ends))
		}
	}
}

// pull is a request of a consumer for messages.
type pull struct {
	Batch    int
	MaxBytes int `json:"max_bytes"`
}

// subscribePulls returns a function that waits for the next request for messages of the log.
func subscribePulls(t *testing.T, js jetstream.JetStream) (next func() pull) {
	t.Helper()
	pulls, err := js.Conn().SubscribeSync("$JS.API.CONSUMER.MSG.NEXT." + catalog.Stream + ".>")
	if err != nil {
		t.Fatal(err)
	}
	return func() (p pull) {
		t.Helper()
		msg, err := pulls.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(msg.Data, &p); err != nil {
			t.Fatalf("%s: %v", msg.Data, err)
		}
		return p
	}
}

// TestChangesTakeBatches watches while all batches are taken: after maxWatchBatch changes, and after minCounted
// changes that arrive one by one, the watch waits for a batch. It requests the messages of a batch after those of
// the one before.
func TestChangesTakeBatches(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	nextPull := subscribePulls(t, js)
	put := func() {
		if _, err := c.Put(t.Context(), catalog.Key{Kind: schemas.KindTool, ID: "a.b." + rand.Text()},
			[]byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	for range catalog.MaxWatchBatch + 1 {
		put()
	}
	ctx, stop := context.WithCancel(t.Context())
	var passed atomic.Int64
	first, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- c.Changes(ctx, catalog.Selection{Tenants: []string{""}}, func(catalog.Change) error {
			if passed.Add(1) == 1 {
				close(first)
				<-resume
			}
			return nil
		})
	}()
	passes := func(want int64) {
		t.Helper()
		wait.Until(t, "the changes are passed", func() bool { return passed.Load() == want })
	}
	waitsAfter := func(want int64, ends []func(int)) {
		t.Helper()
		wait.Until(t, "the watch waits for a batch", func() bool { _, queued := c.Batches(); return queued == 1 })
		if n := passed.Load(); n != want {
			t.Errorf("%d changes were passed, want %d", n, want)
		}
		for _, end := range ends {
			end(0)
		}
	}
	released := func() {
		t.Helper()
		wait.Until(t, "the batches have ended", func() bool { held, _ := c.Batches(); return held == 0 })
	}

	<-first
	released()
	ends := startBatches(t, c)
	close(resume)
	waitsAfter(catalog.MaxWatchBatch, ends)
	passes(catalog.MaxWatchBatch + 1)

	released()
	ends = startBatches(t, c)
	last := int64(catalog.MaxWatchBatch + catalog.MinCounted)
	for n := passed.Load(); n < last; n++ {
		put()
		passes(n + 1)
	}
	put()
	waitsAfter(last, ends)
	passes(last + 1)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for range 2 {
		if p := nextPull(); p.Batch != catalog.MaxWatchBatch {
			t.Errorf("got %+v, want a request for %d messages", p, catalog.MaxWatchBatch)
		}
	}
}

// TestReadsAreLimited reads the history of a record until a read has to wait, and cancels that one.
func TestReadsAreLimited(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	key := catalog.Key{Kind: schemas.KindTool, ID: "a.b.c"}
	if _, err := c.Put(t.Context(), key, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	release := c.HoldReads(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.History(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("history: got %v, want canceled", err)
	}
	if _, err := c.Get(ctx, key); !errors.Is(err, context.Canceled) {
		t.Errorf("get: got %v, want canceled", err)
	}
	if _, err := c.At(ctx, key, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("read a revision: got %v, want canceled", err)
	}
	release()
	if n := c.Reads(); n != 0 {
		t.Errorf("%d bytes are held without a read", n)
	}
	if list, err := c.History(t.Context(), key); err != nil || len(list) != 1 {
		t.Errorf("got %d revisions, %v", len(list), err)
	}
}

// TestWatchLimitsBytes checks the requests of a watch for messages: a slow client holds no more.
func TestWatchLimitsBytes(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	nextPull := subscribePulls(t, js)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- c.Changes(ctx, catalog.Selection{Tenants: []string{""}}, func(catalog.Change) error { return nil })
	}()
	if p := nextPull(); p.MaxBytes < 1<<20 || p.MaxBytes > 2<<20 {
		t.Errorf("got %+v, want between 1 and 2 MiB", p)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
