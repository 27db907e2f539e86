package indextest

import (
	"slices"
	"testing"

	"cairn/services/internal/index"
)

// methods checks that a search uses only the result lists (words, vectors) of its method.
func methods(t testing.TB, s subject) {
	s.apply(catalog()...)
	for _, row := range []struct {
		method        index.Method
		words, vector bool
	}{
		{"", true, true}, {index.Hybrid, true, true}, {index.Text, true, false}, {index.Vector, false, true},
	} {
		for _, query := range []string{
			"Which VLANs are there on the switches?",
			"Show me all VLANs there are. I need them by switch and port.",
		} {
			hits := s.search(index.Query{Kind: "skill", Text: query, TopK: 3, By: row.method}).Hits
			if len(hits) == 0 || hits[0].ID != "network.list_vlans" {
				t.Errorf("%q by %q: got %+v, want network.list_vlans first", query, row.method, hits)
				continue
			}
			if best := hits[0]; best.TextRank == 1 != row.words || best.VectorRank == 1 != row.vector || best.Score > 1 {
				t.Errorf("%q by %q: got %+v, want words %t, vectors %t", query, row.method, best, row.words, row.vector)
			}
			for _, h := range hits {
				if !row.words && h.TextRank > 0 || !row.vector && h.VectorRank > 0 {
					t.Errorf("%q by %q: a rank from an unused retriever: %+v", query, row.method, h)
				}
			}
		}
	}
}

// anyMethod checks properties of every method.
func anyMethod(t testing.TB, s subject) {
	s.apply(catalog()...)
	own := put("kitchen.coffee", "Brew coffee", "Makes an espresso", 30)
	own.Tenant = "acme"
	s.apply(own)
	for _, method := range []index.Method{index.Text, index.Vector} {
		for _, row := range []struct {
			query, tenant string
			topK          int
			want          []string
		}{
			{"list the VLANs of the network", "", 1, []string{"network.list_vlans"}},
			{"espresso coffee", "acme", 5, []string{"kitchen.coffee"}},
			{"list the VLANs of the network", "acme", 1, nil},
			{"pineapple pizza recipe", "", 5, nil},
			{"!!! ???", "", 5, nil},
			{" ", "", 5, nil},
			{"list the VLANs of the network", "", 0, nil},
		} {
			got := s.search(index.Query{Kind: "skill", Tenant: row.tenant, Text: row.query, TopK: row.topK, By: method})
			if !slices.Equal(ids(got), row.want) || got.Degraded != "" {
				t.Errorf("%q for tenant %q by %s: got %+v, want %v", row.query, row.tenant, method, got, row.want)
			}
		}
	}
}
