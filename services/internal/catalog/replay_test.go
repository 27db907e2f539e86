package catalog_test

import (
	"context"
	"testing"

	"cairn/services/internal/catalog"
)

// replay follows the log into view until it has caught up.
func replay(t testing.TB, c *catalog.Catalog, view *catalog.View) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	apply := func(changes []catalog.Change) error { view.Apply(changes); return nil }
	return c.Follow(ctx, apply, stop)
}
