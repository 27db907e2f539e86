package resolve

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"cairn/bus/overload"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// TestLongScans scans a collection while the CPUs for long scans are in use: the scan visits the first
// batches and waits until its context ends.
func TestLongScans(t *testing.T) {
	t.Parallel()
	r := &Resolver{view: catalog.NewView[storedRecord](), longScans: overload.NewLongPool()}
	const records = longScan*scanBatch + 1
	changes := make([]catalog.Change, records)
	for i := range changes {
		changes[i] = catalog.Change{Key: catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: fmt.Sprint(i)}, Revision: uint64(i + 1)}
	}
	r.view.Apply(changes, make([]storedRecord, records))
	units := int64(max(2, runtime.GOMAXPROCS(0)))
	if !r.longScans.Acquire("another tenant", units) {
		t.Fatal("scans are in progress")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	visited := 0
	for range r.scan(ctx, schemas.KindTool, "acme", "") {
		if visited++; visited == records-1 {
			cancel()
		}
	}
	if visited != records-1 {
		t.Errorf("visited %d records, want %d", visited, records-1)
	}
	r.longScans.Release("another tenant", units)
	visited = 0
	for range r.scan(t.Context(), schemas.KindTool, "acme", "") {
		visited++
	}
	if visited != records || r.longScans.Used() != 0 {
		t.Errorf("visited %d records and hold %d units, want %d and none", visited, r.longScans.Used(), records)
	}
}
