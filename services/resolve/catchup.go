package resolve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/scope"
	"cairn/services/internal/watermark"
)

// catchUpTimeout bounds the wait of a request for this worker to catch up.
const catchUpTimeout = 2 * time.Second

// usualLag is the time within which a worker with CPU has applied a new revision. A
// revision that takes longer is compared with the end of the log, by a request to NATS.
const usualLag = 20 * time.Millisecond

// waitMinRevision waits until the view has applied the minimum revision of the request.
func (r *Resolver) waitMinRevision(ctx context.Context) error {
	revision := r.minRevision(ctx)
	if r.view.Applied.Revision() >= revision {
		return nil // the common case needs neither a request nor a timer
	}
	if err := waitWithoutSlot(ctx, &r.view.Applied, revision, usualLag); !isTimeout(err) {
		return err
	}
	if err := r.checkRevision(ctx, revision); err != nil {
		return err
	}
	return r.waitApplied(ctx, revision)
}

// minRevision returns the minimum revision of the request in this worker's catalog.
func (r *Resolver) minRevision(ctx context.Context) uint64 {
	return bus.MinRevisionOf(ctx, r.deps.Catalog.ID())
}

// checkRevision returns ErrMalformed for a revision beyond the end of the log. The leader's
// state suffices to accept a revision; rejecting one takes a fence, since a deposed
// leader may lack the newest writes.
func (r *Resolver) checkRevision(ctx context.Context, revision uint64) error {
	return bucket.Bounded(ctx, "catalog", func(ctx context.Context) error {
		last, err := r.latestRevision(ctx)
		if err != nil || last < revision {
			last, err = r.deps.Catalog.Fence(ctx)
		}
		if err != nil {
			return fmt.Errorf("read the last revision: %w", err)
		}
		if last < revision {
			return schemas.ErrMalformed.With(schemas.FieldError{
				Field:   bus.HeaderMinRevision,
				Message: fmt.Sprintf("expected a revision of the catalog, whose last one is %d, got %d", last, revision),
			})
		}
		return nil
	})
}

// latestRevision returns the catalog's revision. Concurrent calls share one read.
func (r *Resolver) latestRevision(ctx context.Context) (uint64, error) {
	last, err, _ := r.revisionReads.Do("", func() (any, error) {
		return r.deps.Catalog.Revision(context.WithoutCancel(ctx))
	})
	return last.(uint64), err
}

// waitApplied waits until the view has applied the revision.
func (r *Resolver) waitApplied(ctx context.Context, revision uint64) error {
	err := waitWithoutSlot(ctx, &r.view.Applied, revision, catchUpTimeout)
	if isTimeout(err) {
		return errBehind("records", revision, r.view.Applied.Revision())
	}
	return err
}

// waitWithoutSlot waits for the revision up to the timeout. It releases the slot of
// the request meanwhile, so that other requests can use it.
func waitWithoutSlot(ctx context.Context, w *watermark.Watermark, revision uint64, timeout time.Duration) error {
	if w.Revision() >= revision {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return bus.WaitWithoutSlot(waiting, func(ctx context.Context) error { return w.Wait(ctx, revision) })
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// waitSearchable waits until the index has applied the minimum revision of the
// request. It does not wait for a stuck index, which degrades the response. It
// does not wait for a shared index either: registration updates it before it
// returns the revision.
func (r *Resolver) waitSearchable(ctx context.Context) (stuck bool, err error) {
	if err := r.waitMinRevision(ctx); err != nil || r.feed == nil {
		return false, err
	}
	return r.feed.waitRevision(ctx, r.minRevision(ctx))
}

func (f *feed) waitRevision(ctx context.Context, revision uint64) (stuck bool, err error) {
	err = waitWithoutSlot(ctx, &f.applied, revision, catchUpTimeout)
	applied, stall := f.applied.State()
	switch {
	case isTimeout(err):
		return false, errBehind("index", revision, applied)
	case errors.Is(err, bus.ErrNoSlot):
		return false, err
	default:
		return stall != nil || err != nil, nil
	}
}

func errBehind(what string, required, applied uint64) error {
	return schemas.ErrUnavailable.Because(fmt.Sprintf(
		"the %s of the worker have applied revision %d of the catalog; the request requires %d", what, applied, required))
}

// awaitAbsent waits until the view includes every write before the request, if it lacks one
// of the records: an id that is missing afterwards had no record when the request arrived. It reads one fence for all ids.
func (r *Resolver) awaitAbsent(ctx context.Context, kind string, s scope.Scope, ids ...string) error {
	if !r.anyMissing(kind, s, ids) {
		return nil
	}
	var fence uint64
	err := bucket.Bounded(ctx, "catalog", func(ctx context.Context) (err error) {
		fence, err = r.deps.Catalog.Fence(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("find records of kind %s: %w", kind, err)
	}
	return r.waitApplied(ctx, fence)
}

// anyMissing reports whether any of the ids has no record in the scope.
func (r *Resolver) anyMissing(kind string, s scope.Scope, ids []string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range ids {
		if _, ok := r.named(kind, s, id); !ok {
			return true
		}
	}
	return false
}
