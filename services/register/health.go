package register

import (
	"context"
	"time"

	"cairn/bus"
	"cairn/schemas"
)

const (
	// logTime bounds the health check of the catalog and of an embedded index.
	logTime = 2 * time.Second
	// healthTime bounds the health checks of the other backends.
	healthTime = 650 * time.Millisecond
)

func (r registry) health(ctx context.Context) (schemas.Health, error) {
	h := schemas.Health{Service: "register", Status: schemas.StatusOK, Version: bus.Version}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	revision, err := r.catalog.Revision(ctx)
	if err != nil {
		h.Status = schemas.StatusDown
		h.Degraded = []string{"catalog unavailable: " + err.Error()}
		return h, nil
	}
	h.Catalog, h.Revision = r.catalog.ID(), revision
	r.searchHealth(ctx, &h)
	r.storageHealth(ctx, &h)
	if len(h.Degraded) > 0 {
		h.Status = schemas.StatusDegraded
	}
	return h, nil
}

// searchHealth reports whether registered records are searchable.
func (r registry) searchHealth(ctx context.Context, h *schemas.Health) {
	if r.projector != nil {
		ctx, cancel := context.WithTimeout(ctx, healthTime)
		defer cancel()
		h.Index, h.Degraded = r.projector.Status(ctx)
		return
	}
	if err := r.visible(ctx, h.Revision); err != nil {
		h.Degraded = []string{"new records are not searchable yet: " + err.Error()}
	}
}

// storageHealth reports buckets that are nearly full.
func (r registry) storageHealth(ctx context.Context, h *schemas.Health) {
	if r.storageWarnings == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	full, err := r.storageWarnings(ctx)
	if err != nil {
		full = []string{err.Error()}
	}
	h.Degraded = append(h.Degraded, full...)
}

// reindex fills a new index generation with all records. The embedded index does
// not support it, because each start rebuilds it.
func (r registry) reindex(ctx context.Context, _ schemas.Nothing) (schemas.Reindexed, error) {
	if r.projector == nil {
		return schemas.Reindexed{}, schemas.ErrNotImplemented.Because(
			"the embedded index is rebuilt whenever a resolve worker starts; a reindex needs a shared index")
	}
	return r.projector.Reindex(ctx)
}
