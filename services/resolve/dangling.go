package resolve

import (
	"context"
	"sync"
	"time"

	"cairn/schemas"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
)

const (
	// maxDangling is the maximum number of dangling references in the health.
	maxDangling = 20
	// danglingTimeout bounds a scan, which follows about a million links per second.
	danglingTimeout = 200 * time.Millisecond
	// danglingPause is the pause between two scans, in multiples of the duration of the last one.
	danglingPause = 20
)

// danglingReferences are those of the last scan.
type danglingReferences struct {
	mu       sync.Mutex
	revision uint64 // that the view had applied before the scan
	next     time.Time
	list     *schemas.DanglingReferences // nil: none
}

// current returns the dangling references. It scans the catalog after a change of it, in at most 1/danglingPause of
// the time. A registration that waits for its revision does not wait for a scan.
func (d *danglingReferences) current(ctx context.Context, r *Resolver) *schemas.DanglingReferences {
	d.mu.Lock()
	defer d.mu.Unlock()
	began, revision := time.Now(), r.view.Applied.Revision()
	if revision == d.revision || began.Before(d.next) || r.minRevision(ctx) > 0 {
		return d.list
	}
	d.revision, d.list = revision, scanLinks(ctx, r)
	d.next = time.Now().Add(danglingPause * time.Since(began))
	return d.list
}

// scanLinks follows the links by id of all records until ctx ends or danglingTimeout has passed.
func scanLinks(ctx context.Context, r *Resolver) *schemas.DanglingReferences {
	ctx, cancel := context.WithTimeout(ctx, danglingTimeout)
	defer cancel()
	list := &schemas.DanglingReferences{}
	for _, c := range r.view.Collections() {
		fields := graph.Linked(c.Kind)
		if len(fields) == 0 {
			continue
		}
		for id := range r.scan(ctx, c, "") {
			from := graph.Node{Kind: c.Kind, Tenant: c.Tenant, ID: id}
			reader := graph.Reader{Graph: r.graph, Has: r.has}
			for _, field := range fields {
				reader.Linked(scope.Scope(c.Tenant), from, field)
			}
			addDangling(list, from, reader.Missing())
		}
	}
	if list.Incomplete = ctx.Err() != nil; list.Count == 0 && !list.Incomplete {
		return nil
	}
	return list
}

// addDangling adds the links of a record to missing ones.
func addDangling(list *schemas.DanglingReferences, from graph.Node, missing []graph.LinkedRecord) {
	list.Count += len(missing)
	for _, to := range missing[:min(len(missing), maxDangling-len(list.First))] {
		list.First = append(list.First, schemas.DanglingReference{Kind: from.Kind, ID: from.ID, TenantID: from.Tenant,
			Field: to.Via, Target: to.ID})
	}
}
