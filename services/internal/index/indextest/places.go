package indextest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/schemas"
	"cairn/services/internal/index"
)

func kinds(t testing.TB, s subject) {
	for _, kind := range schemas.SearchableKinds() {
		c := put("kitchen.coffee."+kind, "Brew coffee", "Makes an espresso", 1)
		c.Kind = kind
		s.apply(c)
	}
	for _, kind := range schemas.SearchableKinds() {
		got := ids(s.search(index.Query{Kind: kind, Text: "espresso", TopK: 5}))
		if diff := cmp.Diff([]string{"kitchen.coffee." + kind}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if got := ids(s.search(index.Query{Kind: schemas.KindContextBuilder, Text: "espresso", TopK: 5})); len(got) > 0 {
		t.Errorf("a kind without documents: got %v", got)
	}
}

func tenants(t testing.TB, s subject) {
	for _, tenant := range []string{"", "acme", "globex"} {
		c := put("kitchen.coffee", "Brew coffee", "Makes an espresso", 1)
		c.Tenant = tenant
		s.apply(c)
	}
	secret := put("kitchen.secret", "Mix lemonade", "Keeps the recipe of the house", 2)
	secret.Tenant = "acme"
	s.apply(secret)
	for _, tenant := range []string{"", "globex", "initech"} {
		if got := ids(s.searchSkills("lemonade recipe", tenant)); len(got) > 0 {
			t.Errorf("tenant %q sees a document of another: %v", tenant, got)
		}
	}
	if got := ids(s.searchSkills("lemonade recipe", "acme")); len(got) == 0 || got[0] != secret.ID {
		t.Errorf("got %v, want the tenant's document first", got)
	}
	gone := remove("kitchen.coffee", 3)
	gone.Tenant = "acme"
	s.apply(gone)
	s.wantBest("espresso coffee", "kitchen.coffee")
	if got := ids(s.searchSkills("espresso coffee", "acme")); slices.Contains(got, gone.ID) {
		t.Errorf("got %v, with a document of other tenants", got)
	}
}

func concurrent(_ testing.TB, s subject) {
	s.apply(catalog()...)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 30 {
				host := fmt.Sprintf("web%dx%d", worker, i)
				id := "host.check_" + host
				s.apply(put(id, "Check host "+host, "Checks a host", uint64(1000+i)))
				s.wantBest("Check host "+host, id)
				if i%2 == 0 {
					s.apply(remove(id, uint64(2000+i)))
				}
			}
		})
		group.Go(func() {
			for range 30 {
				s.wantBest("Which VLANs are there on the switches?", "network.list_vlans")
			}
		})
	}
	group.Wait()
}
