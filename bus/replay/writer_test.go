package replay_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/bus"
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
	bustest.Must(t, replay.Setup(t.Context(), js, stored, bucket.Replication{}))
	for range 200 {
		w := replay.NewWriter(t.Context(), js, replay.Target{
			Location: replay.Location{Stream: "runs", Subject: "runs.a"}, Share: admission.NewPool(1 << 20), Log: slog.Default(),
		})
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

// TestRunsTakeShare: each run takes a part of the tenant's share, its last batch too. Beyond the share
// only the done event is stored, and then no further run, while those of other tenants are. Many runs
// beyond the share do not fill the log.
func TestRunsTakeShare(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	bustest.Must(t, replay.Setup(t.Context(), js, stored, bucket.Replication{}))
	pool := admission.NewPool(10 << 10) // 8 KiB for a single tenant
	var lines bytes.Buffer
	log := slog.New(bus.LogHandler(slog.NewTextHandler(&lines, nil)))
	run := func(tenant, name string, bytes int) (stored []string) {
		w := replay.NewWriter(t.Context(), js, replay.Target{
			Location: replay.Location{Stream: "runs", Subject: "runs." + name}, Tenant: tenant, Share: pool, Log: log,
		})
		w.Begin()
		w.Add(replay.Event{Type: schemas.EventTextDelta, Sequence: 1, Data: []byte(`"` + strings.Repeat("x", bytes) + `"`)})
		w.Add(replay.Event{Type: schemas.EventDone, Sequence: 2, Data: []byte("{}")})
		w.Close()
		for r := replay.NewReader(js, replay.Location{Stream: "runs", Subject: "runs." + name}); ; {
			e, ok, err := r.Next(t.Context())
			bustest.Must(t, err)
			if !ok {
				if !r.Found() {
					return []string{"not stored"}
				}
				return stored
			}
			stored = append(stored, e.Type)
		}
	}
	for _, c := range []struct {
		tenant, name string
		bytes        int
		want         string
	}{
		{"acme", "a", 4000, "[text_delta done]"},
		{"acme", "b", 4000, "[done]"},
		{"acme", "c", 1000, "[done]"},
		{"acme", "d", 1000, "[not stored]"},
		{"globex", "e", 10, "[text_delta done]"},
	} {
		if got := fmt.Sprint(run(c.tenant, c.name, c.bytes)); got != c.want {
			t.Errorf("run %s of %s: stored %s, want %s", c.name, c.tenant, got, c.want)
		}
	}
	for i := range 100 {
		run("acme", fmt.Sprint("over", i), 10)
	}
	if n := strings.Count(lines.String(), "cannot be resumed"); n == 0 || n > 50 {
		t.Errorf("logged %d lines for 100 runs, want a limited number", n)
	}
}
