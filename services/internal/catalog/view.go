package catalog

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"cairn/services/internal/watermark"
)

// View stores a V for the newest revision of every record in memory. Apply,
// usually called by Catalog.Follow, updates it. It is safe for concurrent use.
type View[V any] struct {
	Applied watermark.Watermark // advanced by Apply

	mu          sync.RWMutex
	collections map[collection]*records[V]
}

// collection identifies one tenant's records of one kind.
type collection struct{ kind, tenant string }

type records[V any] struct {
	byID map[string]V
	// ids contains every id of byID in order, and possibly removed ones; nil
	// if it must be rebuilt.
	ids   []string
	added uint64 // number of ids ever added to byID
}

// NewView returns a view of an empty log.
func NewView[V any]() *View[V] {
	return &View[V]{collections: map[collection]*records[V]{}}
}

// Apply applies changes in ascending order of revision. values contains the value
// of each change at the same index.
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
	v.Applied.Advance(changes[len(changes)-1].Watermark())
}

func (v *View[V]) apply(change Change, value V) {
	c := collection{change.Key.Kind, change.Key.Tenant}
	id := change.Key.ID
	r := v.collections[c]
	if change.Removed {
		v.remove(c, r, id)
		return
	}
	if r == nil {
		r = &records[V]{byID: map[string]V{}}
		v.collections[c] = r
	}
	if _, known := r.byID[id]; !known {
		r.ids = nil
		r.added++
	}
	r.byID[id] = value
}

// remove removes the record, and the collection r with its last record.
func (v *View[V]) remove(c collection, r *records[V], id string) {
	if r == nil {
		return
	}
	delete(r.byID, id)
	if len(r.byID) == 0 {
		delete(v.collections, c)
	}
	if len(v.collections) == 0 {
		v.collections = map[collection]*records[V]{} // a map does not shrink
	}
}

// Get returns the value of the record and whether it exists.
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

// After iterates over the tenant's records of the kind whose ids follow id, in
// order of ids. Concurrent writes may or may not be included; the view is not
// locked while the loop body runs.
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

// sorted returns the collection's ids in order, and possibly removed ones. The
// slice is never modified.
func (v *View[V]) sorted(c collection) []string {
	v.mu.RLock()
	r := v.collections[c]
	if r == nil || r.ids != nil {
		defer v.mu.RUnlock()
		return r.sorted()
	}
	added, ids := r.added, slices.AppendSeq(make([]string, 0, len(r.byID)), maps.Keys(r.byID))
	v.mu.RUnlock()

	slices.Sort(ids) // without the lock: sorting takes milliseconds
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
