package projection_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
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
	w.eventually("the last record is found", func() bool { return w.found("newest") == "net.new" })
	w.eventually("the first record is found", func() bool { return w.found("word0") == "net.s0" })
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
	w.eventually("the worker does not count on the first record", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		return p.Visible(ctx, first) != nil
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
		return errAway
	})
	close(release)
	w.caughtUp(p)
	w.eventually("the worker has tried to promote it", func() bool { return stuck(t, p) })
	w.server.lose("two")
	w.server.fail(nil)
	w.eventually("the record is found", func() bool { return w.found("word") == "net.one" })
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
	w.eventually("the worker reports that the index is being rebuilt", func() bool {
		err := p.Visible(t.Context(), last)
		return err != nil && strings.Contains(err.Error(), "rebuilt")
	})
	close(block)
	w.eventually("the generation is live", func() bool {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		return w.server.live == "one"
	})
	w.eventually("both workers know", func() bool {
		return p.Visible(t.Context(), last) == nil && second.Visible(t.Context(), last) == nil
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
	if err := w.conn.JetStream().DeleteConsumer(t.Context(), catalog.Stream, "index-one"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the worker says that its index is not searched", func() bool {
		_, wrong := p.Status(t.Context())
		return len(wrong) == 1 && strings.Contains(wrong[0], "another model")
	})
	w.caughtUp(p)
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if w.server.live != "of another model" {
		t.Errorf("got %q made live again", w.server.live)
	}
}

func TestEmptyGenerationIsLiveAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.live = "of another catalog"
	p := w.projector()
	if _, wrong := p.Status(t.Context()); len(wrong) > 0 {
		t.Errorf("got %q of an index that has all there is", wrong)
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
	w.eventually("the new generation is live", func() bool {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		return w.server.live == "one-again"
	})
	w.server.mu.Lock()
	for revision, times := range w.server.applied {
		if times < 2 {
			t.Errorf("revision %d was applied %d times, want 2", revision, times)
		}
	}
	w.server.mu.Unlock()
	w.eventually("the worker knows", func() bool { return p.Visible(t.Context(), last) == nil })
	w.visible(p, w.put("net.new", "newest"))
}
