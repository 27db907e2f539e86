package projection_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/catalog"
)

func TestLostIndexIsFilledAnew(t *testing.T) {
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

func TestGenerationIsPromotedWhenItIsFull(t *testing.T) {
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
	w.eventually("the worker says that the index is filled", func() bool {
		err := p.Visible(t.Context(), last)
		return err != nil && strings.Contains(err.Error(), "filled")
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

// TestModelsDoNotTakeTurns has another worker, with another model, promote what
// it has filled. What this one has made live before, it does not again.
func TestModelsDoNotTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.projector()
	w.visible(p, w.put("net.one", "word"))
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
	w.drained(p)
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

func TestReindexAppliesAllAnew(t *testing.T) {
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
	w.drained(p)
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
