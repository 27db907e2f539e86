package replay_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/replay"
	"cairn/schemas"
)

var stored = replay.Location{Stream: "runs", Subject: "runs.*"}

func everyRun(string) bool { return true }

// TestListsAreLimited: a list waits while its tenant reads another one, and those of other tenants do not.
func TestListsAreLimited(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	bustest.Must(t, replay.Setup(t.Context(), js, stored, bucket.Replication{}))
	l := replay.NewLister()
	if !l.Reads("acme") {
		t.Fatal("the first list was refused")
	}
	list := func(ctx context.Context, tenant string) error {
		_, err := l.List(ctx, js, replay.Query{Events: stored, Tenant: tenant, Owned: everyRun})
		return err
	}
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := list(brief, "acme"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second list of the tenant: got %v, want that it waits", err)
	}
	if err := list(t.Context(), "globex"); err != nil {
		t.Errorf("a list of another tenant: %v", err)
	}
}

// TestEndedRunsAreCached: a list reads a run again while it is running, and not after its end. A run
// that is no longer stored is not listed.
func TestEndedRunsAreCached(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	setup := func() {
		bustest.Must(t, replay.Setup(t.Context(), js, stored, bucket.Replication{}))
	}
	setup()
	var reads atomic.Int64
	bustest.Subscribe(t, js.Conn(), "$JS.API.DIRECT.GET.runs", func(*nats.Msg) { reads.Add(1) })
	l := replay.NewLister()
	list := func() (states string) {
		runs, err := l.List(t.Context(), js, replay.Query{Events: stored, Owned: everyRun})
		bustest.Must(t, err)
		for _, run := range runs {
			states += run.Name + " " + run.State
		}
		return states
	}
	w := replay.NewWriter(t.Context(), js, replay.Target{
		Location: replay.Location{Stream: "runs", Subject: "runs.a"}, Share: admission.NewPool(1 << 20), Log: slog.Default(),
	})
	w.Begin()
	w.WaitStored()
	if got := list(); got != "a "+schemas.RunRunning {
		t.Errorf("listed %q, want a running run", got)
	}
	w.Add(replay.Event{Type: schemas.EventDone, Sequence: 1, Data: []byte("{}")})
	w.Close()
	for range 3 {
		if got := list(); got != "a "+schemas.RunDone {
			t.Errorf("listed %q, want a run that has ended", got)
		}
	}
	bustest.Must(t, js.DeleteStream(t.Context(), "runs"))
	setup()
	if got := list(); got != "" {
		t.Errorf("listed %q after its events have expired", got)
	}
	if got := reads.Load(); got != 2 {
		t.Errorf("the events of the run were read %d times, want 2", got)
	}
}
