package resolve

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
)

// TestMemoryAfterDeletion applies 5,000 records of 1,000 tenants and then their
// deletion: the heap returns to that of an empty worker.
func TestMemoryAfterDeletion(t *testing.T) { // not parallel: it measures the heap
	e, err := embed.Open(t.Context(), "lexical:")
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Open("embedded:", e, "")
	if err != nil {
		t.Fatal(err)
	}
	r := newResolver(Deps{Log: slog.New(slog.DiscardHandler)})
	r.feed = newFeed(ix, r.view, r.deps.Log)
	revision := uint64(0)
	apply := func(removed bool) {
		t.Helper()
		for tenant := range 1000 {
			var changes []catalog.Change
			for n, kind := range []string{schemas.KindSkill, schemas.KindTool, schemas.KindContextBuilder, schemas.KindAgent,
				schemas.KindTemplate} {
				revision++
				c := catalog.Change{Key: catalog.Key{Kind: kind, Tenant: fmt.Sprint("tenant", tenant), ID: fmt.Sprintf("a.r%d", n)},
					Revision: revision,
					Removed:  removed}
				if !removed {
					c.Record = fmt.Appendf(nil,
						`{"purpose":"finds %d of %d","tool_ids":["a.r1"],"skill_ids":["a.r0"],"context_builder_ids":["a.r2"]}`, n, tenant)
				}
				changes = append(changes, c)
			}
			if err := r.apply(changes); err != nil {
				t.Fatal(err)
			}
			if err := r.feed.apply(context.Background(), changes); err != nil {
				t.Fatal(err)
			}
		}
	}
	empty := Heap()
	apply(false)
	full := Heap()
	apply(true)
	after := Heap()
	t.Logf("heap: %d KiB empty, %d KiB with 5,000 records, %d KiB without them", empty>>10, full>>10, after>>10)
	if after > empty+empty/10 {
		t.Errorf("the heap has %d KiB after the deletion, want at most 10 %% above %d", after>>10, empty>>10)
	}
	runtime.KeepAlive(r)
}

// Heap returns the bytes of live objects.
func Heap() uint64 {
	for range 3 { // sync.Pools and weak pointers of unique take more than one cycle
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
