package register

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
)

// TestSuggestionsEndWithTheRequest checks that ids are not compared for a request that has ended.
func TestSuggestionsEndWithTheRequest(t *testing.T) {
	t.Parallel()
	h := handlers{Deps{Counter: newCounter(quota.Limit{})}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	absent := map[catalog.Key]bool{{Kind: schemas.KindTool, ID: "a.b.list"}: true}
	list := []entry{{key: catalog.Key{Kind: schemas.KindTool, ID: "a.b.lists"}}}
	if got := h.suggestions(ctx, absent, list); len(got) > 0 {
		t.Errorf("got %v, want no suggestion", got)
	}
}

// TestSuggestionsAreBounded checks that the number of ids that a request compares does not grow with the
// number of its absent references, or with the delete markers of its tenant.
func TestSuggestionsAreBounded(t *testing.T) {
	t.Parallel()
	c, err := catalog.Setup(t.Context(), bustest.Open(t).JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	key := func(id string) catalog.Key { return catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: id} }
	first, second := key("a.b.list"), key("c.d.list")
	for _, id := range []string{"a.b.lists", "c.d.lists"} {
		if _, err := c.Put(t.Context(), key(id), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name             string
		records, markers int
		want             map[catalog.Key]string
	}{
		{"a small tenant", 5000, 0, map[catalog.Key]string{first: "a.b.lists", second: "c.d.lists"}},
		{"a large tenant", 5001, 0, map[catalog.Key]string{first: "a.b.lists", second: ""}},
		{"a tenant with many records", 10_001, 0, map[catalog.Key]string{first: "", second: ""}},
		{"a tenant with many delete markers", 0, 10_001, map[catalog.Key]string{first: "", second: ""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := newFollower()
			for i := range row.records {
				f.put(key(fmt.Sprint(i)), 1)
			}
			for i := range row.markers {
				f.remove(key(fmt.Sprint(i)), 1)
			}
			got := handlers{Deps{Catalog: c, Counter: f.Counter}}.suggestions(t.Context(), map[catalog.Key]bool{first: true, second: true}, nil)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
