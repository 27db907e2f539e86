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

// current waits until the view has applied the minimum revision of the request.
func (r *Resolver) current(ctx context.Context) error {
	revision := bus.MinRevision(ctx)
	if r.view.Applied.Revision() >= revision {
		return nil // nearly always: neither a request nor a timer
	}
	if err := r.exists(ctx, revision); err != nil {
		return err
	}
	return r.reach(ctx, revision)
}

// exists returns ErrMalformed for a revision after the newest of the log. The
// leader's state suffices to accept a revision; rejecting one takes a fence, since
// a deposed leader may not know the newest writes.
func (r *Resolver) exists(ctx context.Context, revision uint64) error {
	return bucket.Bounded(ctx, "catalog", func(ctx context.Context) error {
		last, err := r.last(ctx)
		if err == nil && last < revision {
			last, err = r.deps.Catalog.Fence(ctx)
		}
		if err != nil {
			return fmt.Errorf("read the last revision: %w", err)
		}
		if last < revision {
			return schemas.ErrMalformed.With(schemas.FieldError{
				Field:   bus.HeaderMinRevision,
				Message: fmt.Sprintf("want a revision of the catalog, whose last one is %d, got %d", last, revision),
			})
		}
		return nil
	})
}

// last returns the catalog's revision. Concurrent calls share one read.
func (r *Resolver) last(ctx context.Context) (uint64, error) {
	last, err, _ := r.lasts.Do("", func() (any, error) {
		return r.deps.Catalog.Revision(context.WithoutCancel(ctx))
	})
	return last.(uint64), err
}

// reach waits until the view has applied the revision.
func (r *Resolver) reach(ctx context.Context, revision uint64) error {
	err := await(ctx, &r.view.Applied, revision)
	if late(err) {
		return behind("records", revision, r.view.Applied.Revision())
	}
	return err
}

// await waits for the revision with catchUpTimeout and without the slot of the
// request, so that other requests can use it.
func await(ctx context.Context, w *watermark.Watermark, revision uint64) error {
	if w.Revision() >= revision {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	return bus.Park(waiting, func(ctx context.Context) error { return w.Wait(ctx, revision) })
}

func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// searchCurrent waits until the index has applied the minimum revision of the
// request. It does not wait for a stuck index, which degrades the response. It
// does not wait for a shared index either: registration updates it before it
// returns the revision.
func (r *Resolver) searchCurrent(ctx context.Context) (stuck bool, err error) {
	if err := r.current(ctx); err != nil || r.feed == nil {
		return false, err
	}
	return r.feed.current(ctx)
}

func (f *feed) current(ctx context.Context) (stuck bool, err error) {
	revision := bus.MinRevision(ctx)
	err = await(ctx, &f.applied, revision)
	applied, stall := f.applied.State()
	switch {
	case late(err):
		return false, behind("index", revision, applied)
	case errors.Is(err, bus.ErrNotParked):
		return false, err
	default:
		return stall != nil || err != nil, nil
	}
}

func behind(what string, wanted, applied uint64) error {
	return schemas.ErrUnavailable.Because(fmt.Sprintf(
		"the %s of the worker have applied revision %d of the catalog; the request requires %d", what, applied, wanted))
}

// find waits for records that the view lacks: an id that is still missing
// afterwards had no record when the request arrived. It reads one fence for all
// ids.
func (r *Resolver) find(ctx context.Context, kind string, s scope.Scope, ids ...string) error {
	if !r.lacks(kind, s, ids) {
		return nil
	}
	var fence uint64
	err := bucket.Bounded(ctx, "catalog", func(ctx context.Context) (err error) {
		fence, err = r.deps.Catalog.Fence(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for records of kind %s: %w", kind, err)
	}
	return r.reach(ctx, fence)
}

// lacks reports whether any of the ids has no record in the scope.
func (r *Resolver) lacks(kind string, s scope.Scope, ids []string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, id := range ids {
		if _, ok := r.reader.Find(kind, s, id); !ok {
			return true
		}
	}
	return false
}
