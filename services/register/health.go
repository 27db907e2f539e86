package register

import (
	"context"
	"time"

	"cairn/bus"
	"cairn/schemas"
)

const (
	// logTime is how long the log has to say how it is, and an index that
	// resolve workers keep themselves.
	logTime = 2 * time.Second
	// healthTime is how long backends have.
	healthTime = 650 * time.Millisecond
)

func (r registry) health(ctx context.Context) (schemas.Health, error) {
	h := schemas.Health{Service: "register", Status: schemas.StatusOK, Version: bus.Version}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	revision, err := r.catalog.Revision(ctx)
	if err != nil {
		h.Status = schemas.StatusDown
		h.Degraded = []string{"the catalog does not answer: " + err.Error()}
		return h, nil
	}
	h.Revision = revision
	r.searchHealth(ctx, &h)
	r.storageHealth(ctx, &h)
	if len(h.Degraded) > 0 {
		h.Status = schemas.StatusDegraded
	}
	return h, nil
}

// searchHealth says how far what is registered is found.
func (r registry) searchHealth(ctx context.Context, h *schemas.Health) {
	if r.projector != nil {
		ctx, cancel := context.WithTimeout(ctx, healthTime)
		defer cancel()
		h.Index, h.Degraded = r.projector.Status(ctx)
		return
	}
	if err := r.visible(ctx, h.Revision); err != nil {
		h.Degraded = []string{"new records become searchable later: " + err.Error()}
	}
}

// storageHealth reports buckets that are nearly full.
func (r registry) storageHealth(ctx context.Context, h *schemas.Health) {
	if r.pressure == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	full, err := r.pressure(ctx)
	if err != nil {
		full = []string{err.Error()}
	}
	h.Degraded = append(h.Degraded, full...)
}

// reindex has a new index filled with all records. One in memory is made
// anew at each start.
func (r registry) reindex(ctx context.Context, _ schemas.Nothing) (schemas.Reindexed, error) {
	if r.projector == nil {
		return schemas.Reindexed{}, schemas.ErrNotImplemented.Because(
			"the index is in memory, and made anew whenever a resolve worker starts")
	}
	return r.projector.Reindex(ctx)
}
