package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
)

// TestSearchesOfLargePools searches while the CPUs for long searches are in use: a search of a large tenant
// waits, and one of a small tenant does not.
func TestSearchesOfLargePools(t *testing.T) {
	t.Parallel()
	e := newEmbedded(vectorless{})
	changes := []Change{{Document: Document{Kind: "skill", Tenant: "small", ID: "a.b", Title: "vlan"}, Revision: 1}}
	for i := range largePool + 1 {
		changes = append(changes, Change{
			Document: Document{Kind: "skill", Tenant: "large", ID: fmt.Sprint("a.", i), Title: "vlan"}, Revision: uint64(i + 2),
		})
	}
	if err := e.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	search := func(ctx context.Context, tenant string) error {
		result, err := e.Search(ctx, Query{Kind: "skill", Tenant: tenant, Text: "vlan", By: Text, TopK: 1})
		if err == nil && len(result.Hits) != 1 {
			t.Errorf("tenant %q: got %d hits", tenant, len(result.Hits))
		}
		return err
	}
	units := int64(2 * runtime.GOMAXPROCS(0))
	if !e.searches.Acquire("another tenant", units) {
		t.Fatal("searches are in progress")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := search(canceled, "large"); !errors.Is(err, context.Canceled) {
		t.Errorf("a large tenant: got %v, want canceled", err)
	}
	if err := search(t.Context(), "small"); err != nil {
		t.Errorf("a small tenant: %v", err)
	}
	e.searches.Release("another tenant", units)
	if err := search(t.Context(), "large"); err != nil {
		t.Errorf("a large tenant afterwards: %v", err)
	}
}
