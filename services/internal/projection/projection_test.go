package projection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/bus/bustest"
	"cairn/services/internal/index"
	"cairn/services/internal/projection"
	"cairn/test/wait"
)

func TestRevisionIsVisibleToAllWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	workers := []*projection.Projector{w.projector(), w.projector(), w.projector()}
	for i := range 30 {
		id, word := fmt.Sprintf("net.s%d", i), fmt.Sprintf("word%d", i)
		w.visible(workers[i%3], w.put(id, word))
		if got := w.found(word); got != id {
			t.Errorf("got %q, want %q", got, id)
		}
	}
}

func TestRevisionIsVisibleWhileAnEarlierOneIsInProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began, release := make(chan struct{}, 16), make(chan struct{})
	w.server.fail(held("slow", began, release))
	a, b := w.projector(), w.projector()
	slow := w.put("net.slow", "slow")
	<-began
	fast := w.put("net.fast", "fast")
	w.visible(a, fast)
	w.visible(b, fast)
	close(release)
	w.visible(a, slow)
}

func TestUnannouncedRevisionIsVisible(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.put("net.old", "old")
	w.visible(w.projector(), old)
	w.server.fail(unavailable)
	replaced := w.put("net.a", "first")
	last := w.put("net.a", "second")
	w.server.fail(nil)
	p := w.projector() // has received no announcement of them
	for name, revision := range map[string]uint64{
		"applied before the worker began": old, "replaced before it was applied": replaced, "the last": last,
		"no record was removed": w.remove("net.never"),
	} {
		w.visible(p, revision)
		if got := w.found("second"); revision >= last && got != "net.a" {
			t.Errorf("%s: got %q, want net.a", name, got)
		}
	}
}

func TestTwoWorkersApplyAllDespiteFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var calls atomic.Int64
	w.server.fail(func(ctx context.Context, batch []index.Change) error {
		if n := calls.Add(1); n%3 == 0 && len(batch) > 0 {
			// Half of the batch was applied before the connection broke.
			w.server.mu.Lock()
			defer w.server.mu.Unlock()
			return errors.Join(errUnavailable, w.server.put(ctx, batch[len(batch)/2:]))
		}
		return nil
	})
	a, b := w.projector(), w.projector()
	const records = 120
	for round := range 4 {
		for i := range records {
			if id := fmt.Sprintf("net.s%d", i); (i+round)%7 == 0 {
				w.remove(id)
			} else {
				w.put(id, fmt.Sprintf("word%dround%d", i, round))
			}
		}
	}
	w.caughtUp(a)
	w.caughtUp(b)
	for i := range records {
		for round := range 4 {
			id := fmt.Sprintf("net.s%d", i)
			if round < 3 || (i+round)%7 == 0 {
				id = ""
			}
			if got := w.found(fmt.Sprintf("word%dround%d", i, round)); got != id {
				t.Errorf("record %d of round %d: got %q, want %q", i, round, got, id)
			}
		}
	}
}

func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began := make(chan struct{}, 16)
	w.server.fail(func(ctx context.Context, batch []index.Change) error {
		if len(batch) == 0 {
			return nil
		}
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	killed, conn := w.projectorOn(bustest.Dial(t, w.nats))
	revision := w.put("net.a", "precious")
	<-began
	conn.Close() // no more announcements
	killed.Close()
	w.server.fail(nil)
	w.visible(w.projector(), revision)
	if got := w.found("precious"); got != "net.a" {
		t.Errorf("got %q, want net.a", got)
	}
}

func TestStoppedWorkerRequeues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = time.Hour
	p, _ := w.projectorOn(bustest.Dial(t, w.nats))
	w.visible(p, w.put("net.a", "first"))
	w.server.fail(unavailable)
	revision := w.put("net.b", "second")
	wait.Until(w.t, "the worker has attempted the batch", func() bool { return isBlocked(t, p) })
	p.Close()
	w.server.fail(nil)
	w.visible(w.projector(), revision)
}

func TestUnavailableIndexDoesNotBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.fail(unavailable)
	p := w.projector()
	wait.Until(w.t, "the worker has attempted the batch", func() bool { return isBlocked(t, p) })
	var last uint64
	for i := range 300 {
		last = w.put(fmt.Sprintf("net.s%d", i), fmt.Sprintf("word%d", i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	if err := p.WaitVisible(ctx, last); !errors.Is(err, index.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, index.ErrUnavailable)
	}
	if ctx.Err() != nil {
		t.Error("no answer, want it at once")
	}
	w.server.fail(nil)
	w.caughtUp(p)
	w.visible(p, last)
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if len(w.server.applied) != 300 || w.server.batches > 30 {
		t.Errorf("got %d records in %d batches, want 300 in few", len(w.server.applied), w.server.batches)
	}
}

func TestSingleRecordsAreBatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = time.Minute
	began, release := make(chan struct{}, 16), make(chan struct{})
	w.server.fail(held("slow", began, release))
	p := w.projector()
	w.put("net.slow", "slow")
	<-began
	var last uint64
	for i := range 200 {
		last = w.put(fmt.Sprintf("net.s%d", i), "word")
	}
	close(release)
	w.visible(p, last)
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if w.server.batches > 4 {
		t.Errorf("got %d batches, want few for the changes that arrived during the first", w.server.batches)
	}
}

// TestLargeRecordsAreAppliedInSmallBatches has a first batch in progress, for which a
// partial batch waits.
func TestLargeRecordsAreAppliedInSmallBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = time.Minute
	began, full := make(chan struct{}, 16), make(chan int, 16)
	hold := held("slow", began, nil)
	w.server.fail(func(ctx context.Context, batch []index.Change) error {
		if large := titled(batch, "large"); len(large) > 0 {
			full <- len(large)
		}
		return hold(ctx, batch)
	})
	w.projector()
	padding := strings.Repeat("x", 1<<20)
	put := func(id, words string) {
		w.putRecord(id, fmt.Sprintf(`{"skill_id":%q,"purpose":%q,"more":%q}`, id, words, padding))
	}
	put("net.slow", "slow")
	<-began
	for i := range 12 {
		put(fmt.Sprintf("net.s%d", i), "large")
	}
	select {
	case records := <-full:
		if records > 8 {
			t.Errorf("got %d records of 1 MB in a batch, want 8 MB at most", records)
		}
	case <-time.After(wait.Timeout):
		t.Error("a batch of 8 MB was not full")
	}
}

// isBlocked reports whether the worker reports an error that prevents applying changes.
func isBlocked(t testing.TB, p *projection.Projector) bool {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	return errors.Is(p.WaitVisible(ctx, 1<<40), index.ErrUnavailable)
}

func TestFailureIsAnnounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.projector(), w.projector()
	w.visible(b, w.put("net.a", "first"))
	w.server.fail(unavailable)
	revision := w.put("net.b", "second")
	for _, p := range []*projection.Projector{a, b} {
		ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
		if err := p.WaitVisible(ctx, revision); err == nil || ctx.Err() != nil {
			t.Errorf("got %v, want the reason at once", err)
		}
		cancel()
	}
}

func TestBatchInProgressIsNotRedelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = 600 * time.Millisecond
	release, tried := make(chan struct{}), atomic.Int64{}
	time.AfterFunc(4*w.timeout, func() { close(release) })
	w.server.fail(func(ctx context.Context, batch []index.Change) error {
		if len(batch) > 0 {
			tried.Add(1)
		}
		return blocked(release)(ctx, batch)
	})
	p := w.projector()
	w.projector()
	w.visible(p, w.put("net.slow", "slow"))
	if got := tried.Load(); got != 1 {
		t.Errorf("got the record applied %d times, want once", got)
	}
}
