package catalog

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
)

// View holds a V for every record at its newest revision, in memory. Feed it with
// Apply, usually from Catalog.Follow, and read it from as many goroutines as you
// like.
type View[V any] struct {
	mu          sync.RWMutex
	collections map[collection]*records[V]
	revision    uint64
	advanced    chan struct{} // closed, and replaced, when revision grows
}

// collection is one tenant's records of one kind.
type collection struct{ kind, tenant string }

type records[V any] struct {
	byID map[string]V
	// ids has every id of byID in order, and perhaps some since removed; nil
	// when it has to be made anew.
	ids   []string
	added uint64 // how many ids have come to byID
}

// NewView is a view of an empty log.
func NewView[V any]() *View[V] {
	return &View[V]{collections: map[collection]*records[V]{}, advanced: make(chan struct{})}
}

// Apply applies changes in ascending order of revision. values has the value of
// each change's record at the same index. WaitFor of the last revision returns
// when Apply does.
func (v *View[V]) Apply(changes []Change, values []V) {
	if len(changes) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, change := range changes {
		if change.IsRecord() {
			v.apply(change, values[i])
		}
	}
	v.revision = changes[len(changes)-1].Revision
	close(v.advanced)
	v.advanced = make(chan struct{})
}

func (v *View[V]) apply(change Change, value V) {
	c := collection{change.Key.Kind, change.Key.Tenant}
	r := v.collections[c]
	if r == nil {
		r = &records[V]{byID: map[string]V{}}
		v.collections[c] = r
	}
	id := change.Key.ID
	if change.Removed {
		delete(r.byID, id)
		return
	}
	if _, known := r.byID[id]; !known {
		r.ids = nil
		r.added++
	}
	r.byID[id] = value
}

// Revision is the newest revision taken in.
func (v *View[V]) Revision() uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.revision
}

// WaitFor returns once the view has taken in the revision, at once when it
// has already, or with ctx's error when that comes first.
func (v *View[V]) WaitFor(ctx context.Context, revision uint64) error {
	for {
		v.mu.RLock()
		reached, advanced := v.revision, v.advanced
		v.mu.RUnlock()
		if reached >= revision {
			return nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Get is what is held of the key's record, and whether there is one.
func (v *View[V]) Get(key Key) (value V, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	r := v.collections[collection{key.Kind, key.Tenant}]
	if r == nil {
		return value, false
	}
	value, ok = r.byID[key.ID]
	return value, ok
}

// Len is the number of the tenant's records of the kind.
func (v *View[V]) Len(kind, tenant string) int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	r := v.collections[collection{kind, tenant}]
	if r == nil {
		return 0
	}
	return len(r.byID)
}

// After is the ids greater than id of the tenant's records of the kind, in order,
// with what is held of each. What is written meanwhile may or may not be among
// them; the view is not locked while the caller looks at a record.
func (v *View[V]) After(kind, tenant, id string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		ids := v.sorted(collection{kind, tenant})
		from, exact := slices.BinarySearch(ids, id)
		if exact {
			from++
		}
		for _, next := range ids[from:] {
			if value, ok := v.Get(Key{kind, tenant, next}); ok && !yield(next, value) {
				return
			}
		}
	}
}

// sorted is the collection's ids in order, and perhaps some since removed. The
// slice is never written to again.
func (v *View[V]) sorted(c collection) []string {
	v.mu.RLock()
	r := v.collections[c]
	if r == nil || r.ids != nil {
		defer v.mu.RUnlock()
		return r.sorted()
	}
	added, ids := r.added, slices.AppendSeq(make([]string, 0, len(r.byID)), maps.Keys(r.byID))
	v.mu.RUnlock()

	slices.Sort(ids) // outside of the lock: it takes milliseconds
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.added == added {
		r.ids = ids
	}
	return ids
}

func (r *records[V]) sorted() []string {
	if r == nil {
		return nil
	}
	return r.ids
}
