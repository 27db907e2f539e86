package indextest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/index"
)

func kinds(t testing.TB, s subject) {
	for _, kind := range []string{"skill", "agent", "tool"} {
		c := put("kitchen.coffee."+kind, "Brew coffee", "Makes an espresso", 1)
		c.Kind = kind
		s.apply(c)
	}
	for _, kind := range []string{"skill", "agent", "tool"} {
		got := ids(s.search(index.Query{Kind: kind, Text: "espresso", TopK: 5}))
		if diff := cmp.Diff([]string{"kitchen.coffee." + kind}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if got := ids(s.search(index.Query{Kind: "template", Text: "espresso", TopK: 5})); len(got) > 0 {
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
	gone := remove("kitchen.coffee", 3)
	gone.Tenant = "acme"
	s.apply(gone)
	s.wantBest("espresso coffee", "kitchen.coffee")
}

func fallback(t testing.TB, s subject) {
	s.apply(catalog()...)
	global := put("kitchen.drinks", "Coffee list. Espresso and more", "All coffee", 20)
	own := put("kitchen.coffee", "Brew coffee", "Makes an espresso", 21)
	own.Tenant = "acme"
	s.apply(global, own)
	for _, row := range []struct {
		query, tenant, want, from string
	}{
		{"espresso coffee", "acme", "kitchen.coffee", "acme"},
		{"espresso coffee", "initech", "kitchen.drinks", ""},
		{"list vlans of the network", "acme", "network.list_vlans", ""},
		{"list vlans of the network", "initech", "network.list_vlans", ""},
		{"list vlans of the network", "", "network.list_vlans", ""},
	} {
		got := s.searchSkills(row.query, row.tenant)
		if len(got.Hits) == 0 || got.Hits[0].ID != row.want || got.Tenant != row.from {
			t.Errorf("%q for tenant %q: got %+v, want %s from %q", row.query, row.tenant, got, row.want, row.from)
		}
	}
	if got := s.searchSkills("espresso coffee", "acme"); len(got.Hits) != 1 {
		t.Errorf("a tenant's answer with global documents: %+v", got.Hits)
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
