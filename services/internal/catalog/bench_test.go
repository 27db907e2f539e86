package catalog_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// record has the size of a typical skill record.
var record = []byte(`{"purpose":"` + strings.Repeat("x", 1000) + `"}`)

// always permits each deletion.
func always(uint64) error { return nil }

func skill(n int) catalog.Key {
	return catalog.Key{Kind: schemas.KindSkill, ID: fmt.Sprintf("bench.skill%06d", n)}
}

// BenchmarkPut writes records concurrently.
func BenchmarkPut(b *testing.B) {
	for _, syncAlways := range []bool{true, false} {
		for _, callers := range []int{1, 32, 256} {
			b.Run(fmt.Sprintf("sync=%v/callers=%d", syncAlways, callers), func(b *testing.B) {
				js := connect(b, startServer(b, b.TempDir(), syncAlways))
				c, err := catalog.Setup(b.Context(), js, bucket.Replication{Replicas: 1})
				if err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				inParallel(b, callers, func(n int) error {
					_, err := c.Put(b.Context(), skill(n), record)
					return err
				})
			})
		}
	}
}

func inParallel(b *testing.B, workers int, do func(n int) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := do(int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkFollow replays 100,000 records into a view.
func BenchmarkFollow(b *testing.B) {
	const n = 100_000
	js := connect(b, startServer(b, b.TempDir(), false))
	c, err := catalog.Setup(b.Context(), js, bucket.Replication{Replicas: 1})
	if err != nil {
		b.Fatal(err)
	}
	fill(b, js, n)
	for b.Loop() {
		view := catalog.NewView[[]byte]()
		if err := replay(b, c, view); err != nil {
			b.Fatal(err)
		}
		if got := length(view, schemas.KindSkill); got != n {
			b.Fatalf("%d records replayed, want %d", got, n)
		}
	}
}

func fill(b *testing.B, js jetstream.JetStream, n int) {
	b.Helper()
	for i := range n {
		if _, err := js.PublishAsync("$KV.cairn_catalog."+skill(i).String(), record,
			jetstream.WithStallWait(time.Minute)); err != nil {
			b.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		b.Fatal("the records are not acknowledged")
	}
}
