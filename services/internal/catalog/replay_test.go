package catalog_test

import (
	"context"
	"testing"

	"cairn/services/internal/catalog"
)

// replay applies the log to view until the view has caught up.
func replay(t testing.TB, c *catalog.Catalog, view *view) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	follow := func(changes []catalog.Change) error { apply(view, changes...); return nil }
	return c.Follow(ctx, follow, stop)
}

// view stores the encoded records.
type view = catalog.View[[]byte]

func apply(v *view, changes ...catalog.Change) {
	records := make([][]byte, len(changes))
	for i, c := range changes {
		records[i] = c.Record
	}
	v.Apply(changes, records)
}
