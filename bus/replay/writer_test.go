package replay_test

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/replay"
	"cairn/schemas"
)

// TestCloseWaitsForQueries: a client's query that arrives while a run ends is answered before
// Close returns.
func TestCloseWaitsForQueries(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	if err := replay.Setup(t.Context(), js, "runs", "runs.*", bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		w := replay.NewWriter(t.Context(), js, "runs", "runs.a", "", admission.NewPool(1<<20), slog.Default())
		w.Add(replay.Event{Type: schemas.EventDone, Sequence: 1, Data: []byte("{}")})
		var queries, answers atomic.Int64
		var closed atomic.Bool
		var client sync.WaitGroup
		client.Go(func() {
			for !closed.Load() {
				queries.Add(1)
				w.AfterStored(func() { answers.Add(1) })
			}
		})
		w.Close()
		closed.Store(true)
		client.Wait()
		if queries.Load() != answers.Load() {
			t.Fatalf("%d of %d queries were answered", answers.Load(), queries.Load())
		}
	}
}
