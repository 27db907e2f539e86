package catalog

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"cairn/services/internal/watermark"
)

// View stores a V for the newest revision of every record in memory. Apply,
// usually called by Catalog.Follow, updates it. It is safe for concurrent use.
type View[V any] struct {
	Applied watermark.Watermark // advanced by Apply
	// Groups returns the groups of a value, which are not empty strings; nil if there are none. Set it before Apply.
	Groups func(V) []string

	mu          sync.RWMutex
	collections map[Collection]*btree.Map[string, V] // by id
}

// Collection identifies one tenant's records of one kind: all of them, or those of a group.
type Collection struct{ Kind, Tenant, Group string }

// NewView returns a view of an empty log.
func NewView[V any]() *View[V] {
	return &View[V]{collections: map[Collection]*btree.Map[string, V]{}}
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
	c, id := Collection{change.Key.Kind, change.Key.Tenant, ""}, change.Key.ID
	var before V
	var existed bool
	if change.Removed {
		before, existed = v.remove(c, id)
	} else {
		before, existed = v.set(c, id, value)
	}
	if v.Groups == nil {
		return
	}
	if existed {
		for _, c.Group = range v.Groups(before) {
			v.remove(c, id)
		}
	}
	if !change.Removed {
		for _, c.Group = range v.Groups(value) {
			v.set(c, id, value)
		}
	}
}

// set returns the value that it replaces, and whether there was one.
func (v *View[V]) set(c Collection, id string, value V) (before V, existed bool) {
	r := v.collections[c]
	if r == nil {
		r = &btree.Map[string, V]{}
		v.collections[c] = r
	}
	return r.Set(id, value)
}

// remove returns the value that it removes, and whether there was one.
func (v *View[V]) remove(c Collection, id string) (before V, existed bool) {
	r := v.collections[c]
	if r == nil {
		return before, false
	}
	if before, existed = r.Delete(id); r.Len() == 0 {
		delete(v.collections, c)
	}
	if len(v.collections) == 0 {
		v.collections = map[Collection]*btree.Map[string, V]{} // a map does not shrink
	}
	return before, existed
}

// Get returns the value of the record and whether it exists.
func (v *View[V]) Get(key Key) (value V, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if r := v.collections[Collection{key.Kind, key.Tenant, ""}]; r != nil {
		return r.Get(key.ID)
	}
	return value, false
}

// Collections returns the collections that are not empty, without groups, by kind and tenant.
func (v *View[V]) Collections() []Collection {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var list []Collection
	for c := range v.collections {
		if c.Group == "" {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Collection) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Tenant, b.Tenant))
	})
	return list
}

// After iterates over the records of the collection whose ids follow id, in
// order of ids. Concurrent writes may or may not be included; the view is not
// locked while the loop body runs.
func (v *View[V]) After(c Collection, id string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for next := v.page(c, id); len(next) > 0; next = v.page(c, id) {
			for _, r := range next {
				if !yield(r.id, r.value) {
					return
				}
				id = r.id
			}
		}
	}
}

// pageSize is the number of records that After reads at a time.
const pageSize = 64

type record[V any] struct {
	id    string
	value V
}

// page returns the next records of the collection after the id, in order.
func (v *View[V]) page(c Collection, id string) (page []record[V]) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	r := v.collections[c]
	if r == nil {
		return nil
	}
	r.Ascend(id, func(next string, value V) bool {
		if next != id {
			page = append(page, record[V]{next, value})
		}
		return len(page) < pageSize
	})
	return page
}
