package resolve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
)

// patience is how long a request waits for this worker to catch up.
const patience = 2 * time.Second

// current waits until the records are as new as the caller asks for.
func (r *Resolver) current(ctx context.Context) error {
	return r.reach(ctx, bus.MinRevision(ctx))
}

func (r *Resolver) reach(ctx context.Context, revision uint64) error {
	if r.view.Revision() >= revision {
		return nil // nearly always, and without a timer
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.view.WaitFor(waiting, revision); err != nil {
		return behind("records", revision, r.view.Revision())
	}
	return nil
}

// searchCurrent waits until what is searched is as new as the caller asks
// for. An index that is stuck is not waited for: the answer says that it is
// behind. Who feeds an index of several workers has seen to it before the
// caller got the revision.
func (r *Resolver) searchCurrent(ctx context.Context) (stuck bool, err error) {
	if err := r.current(ctx); err != nil || r.feed == nil {
		return false, err
	}
	return r.feed.current(ctx)
}

func (f *feed) current(ctx context.Context) (stuck bool, err error) {
	revision := bus.MinRevision(ctx)
	if reached, stall := f.mark.get(); reached >= revision {
		return stall != nil, nil
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = f.mark.waitFor(waiting, revision)
	reached, stall := f.mark.get()
	switch {
	case err == nil:
		return stall != nil, nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return false, behind("index", revision, reached)
	default:
		return true, nil
	}
}

func behind(what string, wanted, reached uint64) error {
	return schemas.ErrUnavailable.Because(fmt.Sprintf(
		"the worker's %s are at revision %d of the catalog, and %d is asked for", what, reached, wanted))
}

// find makes sure that records of the ids that the worker does not have are
// not in the log either: a miss is decided by the log's leader, who knows of
// every acknowledged write.
func (r *Resolver) find(ctx context.Context, kind, tenant string, ids ...string) error {
	newest := uint64(0)
	for _, id := range r.unknown(kind, tenant, ids) {
		for _, n := range scoped(kind, tenant, id) {
			var e catalog.Entry
			err := bucket.Bounded(ctx, func(ctx context.Context) (err error) {
				e, err = r.deps.Catalog.Get(ctx, keyOf(n))
				return err
			})
			if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrBadKey) {
				continue
			}
			if err != nil {
				return fmt.Errorf("look for %s %q: %w", kind, id, err)
			}
			newest = max(newest, e.Revision)
		}
	}
	// A revision that was reached already is that of a record set aside.
	return r.reach(ctx, newest)
}

// unknown are the ids that mean no record to the tenant.
func (r *Resolver) unknown(kind, tenant string, ids []string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var unknown []string
	for _, id := range ids {
		if _, ok := r.reader.Find(kind, tenant, id); !ok {
			unknown = append(unknown, id)
		}
	}
	return unknown
}

// scoped are the records that the id may mean to the tenant, its own first.
func scoped(kind, tenant, id string) []graph.Node {
	global := graph.Node{Kind: kind, ID: id}
	if tenant == "" {
		return []graph.Node{global}
	}
	return []graph.Node{{Kind: kind, Tenant: tenant, ID: id}, global}
}
