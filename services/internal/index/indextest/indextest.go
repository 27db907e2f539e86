// Package indextest is the conformance suite of index implementations.
package indextest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/index"
)

// Run checks the indexes that open returns: each one empty, and closed by a cleanup
// of its own.
func Run(t *testing.T, open func(testing.TB) index.Index) {
	for _, c := range []struct {
		name  string
		check func(testing.TB, subject)
	}{
		{"what is applied is found at once", found},
		{"a query finds what it is about first", foundFirst},
		{"each sentence of a query finds its own", foundBySentence},
		{"an example query finds its document", foundByExample},
		{"a query about something else finds nothing", offTopic},
		{"an empty index, an empty query and no TopK find nothing", nothing},
		{"no more than the best TopK are found", limited},
		{"scores are from 0 to 1 and descend, ranks count from 1", scored},
		{"a method compares what it says", methods},
		{"a method alone finds the same kind of answer", anyMethod},
		{"an update replaces the document", updated},
		{"a removed document is not found", removed},
		{"only active documents are found", active},
		{"the higher revision wins in any order", ordered},
		{"deliveries shuffled and repeated end the same", shuffled},
		{"kinds do not mix", kinds},
		{"tenants see their own documents and the global ones", tenants},
		{"the global documents answer where the tenant's do not", fallback},
		{"a cancelled context is an error", cancelled},
		{"changes and searches at the same time", concurrent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, subject{t, open(t)})
		})
	}
}

func found(t testing.TB, s subject) {
	for _, c := range catalog() {
		s.apply(c)
		s.wants(c.Title, c.ID)
	}
}

func foundFirst(t testing.TB, s subject) {
	s.apply(catalog()...)
	for query, want := range map[string]string{
		"Which VLANs are there on the switches?":             "network.list_vlans",
		"I'd like to know when our certificates will expire": "security.check_certificates",
		"how much do we pay for virtual machines per month":  "cost.estimate_compute",
		"restore yesterday's database backup":                "storage.restore_backup",
	} {
		s.wants(query, want)
	}
}

func foundBySentence(t testing.TB, s subject) {
	s.apply(catalog()...)
	got := s.search(index.Query{
		Kind: "skill", TopK: 2,
		Text: "List the VLANs of the network. Then check which certificates expire soon. Thank you!",
	})
	ids := ids(got)
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"network.list_vlans", "security.check_certificates"}, ids); diff != "" {
		t.Errorf("hits of two sentences (-want +got):\n%s", diff)
	}
}

func foundByExample(t testing.TB, s subject) {
	s.apply(catalog()...)
	c := put("people.find_contact", "Find contact. Who to talk to", "Looks up the owner of a system", 50)
	c.Examples = []string{"Whom do I ring at night?", "Give me a telephone number"}
	s.apply(c)
	s.wants("whom should I ring", "people.find_contact")
	s.wants("is there a telephone number for this", "people.find_contact")
}

func offTopic(t testing.TB, s subject) {
	s.apply(catalog()...)
	for _, query := range []string{"pineapple pizza recipe", "qwzx vbnm", "!!! ???", "who are you"} {
		s.wants(query)
	}
}

func nothing(_ testing.TB, s subject) {
	s.wants("list vlans")
	s.apply(catalog()...)
	s.wants("")
	s.wants(" \n\t")
	for _, k := range []int{0, -1} {
		if got := s.search(index.Query{Kind: "skill", Text: "list vlans", TopK: k}); len(got.Hits) > 0 {
			s.t.Errorf("top %d: got %v, want nothing", k, ids(got))
		}
	}
}

func limited(t testing.TB, s subject) {
	var changes []index.Change
	for i := range 150 {
		id := fmt.Sprintf("host.check_%d", i)
		changes = append(changes, put(id, "Check host", fmt.Sprintf("Checks host number %d", i), uint64(i+1)))
	}
	s.apply(changes...)
	for _, k := range []int{1, 7, 100} {
		if got := len(s.search(index.Query{Kind: "skill", Text: "check host", TopK: k}).Hits); got != k {
			t.Errorf("top %d of 150: got %d hits", k, got)
		}
	}
}

func scored(t testing.TB, s subject) {
	s.apply(catalog()...)
	got := s.search(index.Query{Kind: "skill", Text: "Check the storage. Check the network.", TopK: 10}).Hits
	if len(got) < 2 {
		t.Fatalf("got %d hits, want several", len(got))
	}
	for i, h := range got {
		if h.Score <= 0 || h.Score > 1 || i > 0 && h.Score > got[i-1].Score {
			t.Errorf("scores not descending in (0,1]: %+v", got)
		}
		if h.TextRank < 0 || h.VectorRank < 0 || h.TextRank+h.VectorRank == 0 {
			t.Errorf("hit without a rank: %+v", h)
		}
	}
	if !slices.ContainsFunc(got, func(h index.Hit) bool { return h.TextRank == 1 }) {
		t.Errorf("no hit is the first by its words: %+v", got)
	}
}

func updated(t testing.TB, s subject) {
	s.apply(catalog()...)
	s.apply(put("network.list_vlans", "Brew coffee", "Makes an espresso", 60))
	s.wants("espresso coffee", "network.list_vlans")
	if got := ids(s.ask("list vlans", "")); slices.Contains(got, "network.list_vlans") {
		t.Errorf("found by the words of the old revision: %v", got)
	}
}

func removed(t testing.TB, s subject) {
	s.apply(catalog()...)
	s.wants("espresso coffee")
	s.apply(put("kitchen.coffee", "Brew coffee", "Makes an espresso", 60))
	s.wants("espresso coffee", "kitchen.coffee")
	s.apply(remove("kitchen.coffee", 61), remove("kitchen.never_there", 62))
	s.wants("espresso coffee")
}

func active(t testing.TB, s subject) {
	c := put("kitchen.coffee", "Brew coffee", "Makes an espresso", 1)
	for i, row := range []struct {
		status string
		want   []string
	}{
		{"draft", nil}, {"active", []string{c.ID}}, {"retired", nil}, {"", []string{c.ID}},
	} {
		c.Status, c.Revision = row.status, uint64(i+1)
		s.apply(c)
		s.wants("espresso coffee", row.want...)
	}
}

func ordered(_ testing.TB, s subject) {
	tea := put("kitchen.drink", "Boil tea", "Makes a cup of tea", 7)
	coffee := put("kitchen.drink", "Brew coffee", "Makes an espresso", 5)
	s.apply(tea)
	s.apply(coffee)
	s.wants("espresso coffee")
	s.wants("cup of tea", "kitchen.drink")
	s.apply(remove("kitchen.drink", 6))
	s.wants("cup of tea", "kitchen.drink")
	s.apply(remove("kitchen.drink", 9))
	tea.Revision = 8
	s.apply(tea)
	s.wants("cup of tea")
	coffee.Revision = 10
	s.apply(coffee, tea)
	s.wants("espresso coffee", "kitchen.drink")
}

func shuffled(t testing.TB, s subject) {
	log := catalog()
	for i, c := range catalog() {
		c.Revision = uint64(100 + i)
		switch i % 3 {
		case 0:
			log = append(log, remove(c.ID, c.Revision))
		case 1:
			c.Body += " and says so to the platform team"
			log = append(log, c)
		}
	}
	for _, c := range log {
		s.apply(c)
	}
	want := s.ask("check the network and say so to the team", "").Hits
	if len(want) == 0 {
		t.Fatal("nothing found")
	}
	again := append(slices.Clone(log), log...)
	shuffle := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- reproducible order
	shuffle.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	other := subject{s.t, s.Index}
	for i := range again {
		again[i].Tenant = "shuffled"
	}
	for batch := range slices.Chunk(again, 5) {
		other.apply(batch...)
	}
	got := other.ask("check the network and say so to the team", "shuffled").Hits
	if diff := cmp.Diff(hitIDs(want), hitIDs(got)); diff != "" {
		t.Errorf("hits after a shuffled delivery (-want +got):\n%s", diff)
	}
}

func cancelled(t testing.TB, s subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Index.Apply(ctx, catalog()); err == nil {
		t.Error("apply with a cancelled context: got no error")
	}
	for _, by := range []index.Method{index.Hybrid, index.Text, index.Vector} {
		if _, err := s.Index.Search(ctx, index.Query{Kind: "skill", Text: "list vlans", TopK: 5, By: by}); err == nil {
			t.Errorf("%s search with a cancelled context: got no error", by)
		}
	}
}
