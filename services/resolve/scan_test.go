package resolve

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"cairn/bus/admission"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// TestLongScans scans a collection while the CPUs for long scans are in use: the scan visits the first
// batches and waits until its context ends.
func TestLongScans(t *testing.T) {
	t.Parallel()
	r := &Resolver{view: catalog.NewView[storedRecord](), longScans: admission.NewLongPool()}
	const records = longScan*scanBatch + 1
	tools := catalog.Collection{Kind: schemas.KindTool, Tenant: "acme"}
	changes := make([]catalog.Change, records)
	for i := range changes {
		changes[i] = catalog.Change{Key: catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: fmt.Sprint(i)},
			Revision: uint64(i + 1)}
	}
	r.view.Apply(changes, make([]storedRecord, records))
	units := int64(2 * runtime.GOMAXPROCS(0))
	if !r.longScans.Acquire("another tenant", units) {
		t.Fatal("scans are in progress")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	visited := 0
	for range r.scan(ctx, tools, "") {
		if visited++; visited == records-1 {
			cancel()
		}
	}
	if visited != records-1 {
		t.Errorf("visited %d records, want %d", visited, records-1)
	}
	r.longScans.Release("another tenant", units)
	visited = 0
	for range r.scan(t.Context(), tools, "") {
		visited++
	}
	if visited != records || r.longScans.Used() != 0 {
		t.Errorf("visited %d records and hold %d units, want %d and none", visited, r.longScans.Used(), records)
	}
}

// batchCounter counts the checks of a context, one for each batch of a scan.
type batchCounter struct {
	context.Context

	batches int
}

func (c *batchCounter) Err() error { c.batches++; return c.Context.Err() }

// TestListingOfClassVisitsItsTools lists tools of a tenant with many others: a listing by class, also with a
// provider, visits the tools that match only.
func TestListingOfClassVisitsItsTools(t *testing.T) {
	t.Parallel()
	r := newResolver(Deps{Log: slog.New(slog.DiscardHandler)})
	const others = 5 * scanBatch
	var changes []catalog.Change
	put := func(id, record string) {
		changes = append(changes, catalog.Change{
			Key: catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: id}, Record: []byte(record),
			Revision: uint64(len(changes) + 1),
		})
	}
	for i := range others {
		put(fmt.Sprintf("a%d", i), `{"tool_class":"mcp","provider":"many"}`)
		put(fmt.Sprintf("b%d", i), `{"tool_class":"mcp","provider":"retired","status":"retired"}`)
	}
	put("c", `{"tool_class":"mcp","provider":"one"}`)
	put("d", `{"tool_class":"other"}`)
	if err := r.apply(changes); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		want  filter
		tools int
	}{
		{filter{class: "mcp", provider: "one"}, 1},
		{filter{class: "mcp", provider: "none"}, 0},
		{filter{class: "mcp", provider: "retired"}, 0},
		{filter{class: "other"}, 1},
		{filter{class: "none"}, 0},
	} {
		ctx := &batchCounter{Context: t.Context()}
		list, _, err := fillPage(ctx, r, listing{kind: schemas.KindTool, want: row.want}, start{tenant: "acme"})
		if err != nil || len(list) != row.tools || ctx.batches > 2 { // the scan and the page check the context
			t.Errorf("%+v: %d tools with %d checks, %v, want %d with at most 2", row.want, len(list), ctx.batches, err,
				row.tools)
		}
	}
}
