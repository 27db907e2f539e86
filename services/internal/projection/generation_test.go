package projection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
	"cairn/services/internal/projection"
	"cairn/test/wait"
)

func TestLostIndexIsRebuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.projector()
	var last uint64
	for i := range 50 {
		last = w.put(fmt.Sprintf("net.s%d", i), fmt.Sprintf("word%d", i))
	}
	w.visible(p, last)
	w.server.lose("two")
	w.put("net.new", "newest")
	wait.Until(w.t, "the last record is found", func() bool { return w.found("newest") == "net.new" })
	wait.Until(w.t, "the first record is found", func() bool { return w.found("word0") == "net.s0" })
	w.visible(p, last)
}

func TestLostIndexResetsProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.projector()
	first := w.put("net.first", "first")
	w.visible(p, first)
	release := make(chan struct{})
	w.server.fail(func(ctx context.Context, batch []index.Change) error {
		if w.server.isLost() { // the worker has to detect it
			return nil
		}
		return blocked(release)(ctx, batch)
	})
	w.server.lose("two")
	w.put("net.second", "second")
	wait.Until(w.t, "the worker does not report the first record as applied", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		return p.WaitVisible(ctx, first) != nil
	})
	close(release)
	w.visible(p, first)
	if got := w.found("first"); got != "net.first" {
		t.Errorf("got %q, want net.first", got)
	}
}

// TestIndexLostBeforePromotion loses the index after the last write, so that only the
// promotion can detect it.
func TestIndexLostBeforePromotion(t *testing.T) {
	t.Parallel()
	w, _ := failedPromotion(t)
	w.server.lose("two")
	w.server.fail(nil)
	wait.Until(w.t, "the record is found", func() bool { return w.found("word") == "net.one" })
}

func TestPromotionSucceedsLater(t *testing.T) {
	t.Parallel()
	w, p := failedPromotion(t)
	w.server.fail(nil)
	wait.Success(w.t, func() error {
		if _, wrong := p.Status(t.Context()); len(wrong) > 0 {
			return errors.New(wrong[0])
		}
		return nil
	})
	if got := w.found("word"); got != "net.one" {
		t.Errorf("got %q, want net.one", got)
	}
}

// failedPromotion returns a projector that has applied one record and tried to promote
// its generation.
func failedPromotion(t *testing.T) (*world, *projection.Projector) {
	t.Helper()
	w := newWorld(t)
	w.server.live = "before"
	began, release := make(chan struct{}, 16), make(chan struct{})
	w.server.fail(held("word", began, release))
	w.put("net.one", "word")
	p := w.projector()
	<-began
	w.server.fail(func(_ context.Context, batch []index.Change) error {
		if len(batch) > 0 {
			return nil
		}
		return errUnavailable
	})
	close(release)
	w.caughtUp(p)
	wait.Until(w.t, "the worker has attempted the promotion", func() bool { return isBlocked(t, p) })
	return w, p
}

func TestGenerationIsPromotedWhenComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.live = "before"
	block := make(chan struct{})
	w.server.fail(blocked(block))
	const records = 600
	var last uint64
	for i := range records {
		last = w.put(fmt.Sprintf("net.s%d", i), "word")
	}
	p, second := w.projector(), w.projector()
	wait.Until(w.t, "the worker reports that the index is being rebuilt", func() bool {
		err := p.WaitVisible(t.Context(), last)
		return err != nil && strings.Contains(err.Error(), "rebuilt")
	})
	close(block)
	w.server.waitLive("one")
	wait.Until(w.t, "both workers use the new generation", func() bool {
		return p.WaitVisible(t.Context(), last) == nil && second.WaitVisible(t.Context(), last) == nil
	})
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if got := w.server.promoted["one"]; got != records {
		t.Errorf("got it promoted with %d records, want %d", got, records)
	}
}

// TestModelsDoNotAlternate has a worker with another model promote its generation;
// this one must not promote again.
func TestModelsDoNotAlternate(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]int{"with a record": 1, "with none": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testModels(t, records)
		})
	}
}

func testModels(t *testing.T, records int) {
	w := newWorld(t)
	p := w.projector()
	for range records {
		w.visible(p, w.put("net.one", "word"))
	}
	w.server.mu.Lock()
	w.server.live = "of another model"
	w.server.mu.Unlock()
	if err := w.conn.JetStream().DeleteConsumer(t.Context(), catalog.Stream, "cairn_index_one"); err != nil {
		t.Fatal(err)
	}
	wait.Until(w.t, "the worker reports that its index is not live", func() bool {
		_, wrong := p.Status(t.Context())
		return len(wrong) == 1 && strings.Contains(wrong[0], "another model")
	})
	w.caughtUp(p)
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if w.server.live != "of another model" {
		t.Errorf("got live generation %q again", w.server.live)
	}
}

func TestEmptyGenerationIsLiveAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.live = "of another catalog"
	p := w.projector()
	if _, wrong := p.Status(t.Context()); len(wrong) > 0 {
		t.Errorf("got %q for a complete index", wrong)
	}
}

func TestReindexRebuilds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const records = 40
	var last uint64
	for i := range records {
		last = w.put(fmt.Sprintf("net.s%d", i), fmt.Sprintf("word%d", i))
	}
	p := w.projector()
	w.projector()
	w.visible(p, last)
	w.caughtUp(p)
	got, err := p.Reindex(t.Context())
	if err != nil || got.Generation != "one-again" || got.Records != records {
		t.Errorf("got %+v, %v, want generation one-again with %d records", got, err, records)
	}
	w.server.waitLive("one-again")
	w.server.mu.Lock()
	for revision, times := range w.server.applied {
		if times < 2 {
			t.Errorf("revision %d was applied %d times, want 2", revision, times)
		}
	}
	w.server.mu.Unlock()
	wait.Until(w.t, "the worker uses the new generation", func() bool { return p.WaitVisible(t.Context(), last) == nil })
	w.visible(p, w.put("net.new", "newest"))
}
