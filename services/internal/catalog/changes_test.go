package catalog_test

import (
	"context"
	"testing"

	"cairn/schemas"
	"cairn/services/internal/catalog"
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
		err := c.Changes(ctx, "", []string{""}, 0, func(catalog.Change) error { stop(); return nil })
		if stop(); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := js.Stream(t.Context(), catalog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Consumers; n != 0 {
		t.Errorf("%d consumers are left, want none", n)
	}
}
