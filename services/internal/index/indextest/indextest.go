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

// Run checks the indexes that open returns: each one empty, and closed by its own
// cleanup.
func Run(t *testing.T, open func(testing.TB) index.Index) {
	for _, c := range []struct {
		name  string
		check func(testing.TB, subject)
	}{
		{"applied changes are searchable at once", found},
		{"the matching document is the best hit", foundFirst},
		{"each sentence of a query finds a document", foundBySentence},
		{"an example query finds its document", foundByExample},
		{"an off-topic query has no hits", offTopic},
		{"an id finds its document first, with a score of 1", foundByID},
		{"the words of a joined name find its document", foundByJoinedName},
		{"punctuation at the end of a query does not change the hits", punctuated},
		{"a sentence after 20 others finds a document", foundByLastSentence},
		{"full-width letters find a document", foundByFullWidth},
		{"a word with a typing error finds a document", foundByMisspeltWord},
		{"an empty index, an empty query and a TopK of 0 have no hits", nothing},
		{"at most TopK hits are returned", limited},
		{"scores are in [0,1] and descend, ranks count from 1", scored},
		{"a method uses only its sides", methods},
		{"results of each method have the same properties", anyMethod},
		{"an update replaces the document", updated},
		{"a removed document is not found", removed},
		{"only active and deprecated documents are found", active},
		{"instructions find their document", instructed},
		{"a filter selects documents, not hits", filtered},
		{"the higher revision wins in any order, in an index of several processes", ordered},
		{"reordered and repeated changes converge, in an index of several processes", shuffled},
		{"kinds are searched separately", kinds},
		{"a tenant's documents are separate", tenants},
		{"a canceled context is an error", canceled},
		{"concurrent changes and searches", concurrent},
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
		s.wantBest(c.Title, c.ID)
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
		s.wantBest(query, want)
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
	s.wantBest("whom should I ring", "people.find_contact")
	s.wantBest("is there a telephone number for this", "people.find_contact")
}

func offTopic(t testing.TB, s subject) {
	s.apply(catalog()...)
	for _, query := range []string{"pineapple pizza recipe", "qwzx vbnm", "!!! ???", "who are you"} {
		s.wantBest(query)
	}
}

func nothing(_ testing.TB, s subject) {
	s.wantBest("list vlans")
	s.apply(catalog()...)
	s.wantBest("")
	s.wantBest(" \n\t")
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
		t.Errorf("no hit has text rank 1: %+v", got)
	}
}

func updated(t testing.TB, s subject) {
	s.apply(catalog()...)
	s.apply(put("network.list_vlans", "Brew coffee", "Makes an espresso", 60))
	s.wantBest("espresso coffee", "network.list_vlans")
	if got := ids(s.searchSkills("list vlans", "")); slices.Contains(got, "network.list_vlans") {
		t.Errorf("found by the words of the old revision: %v", got)
	}
}

func removed(t testing.TB, s subject) {
	s.apply(catalog()...)
	s.wantBest("espresso coffee")
	s.apply(put("kitchen.coffee", "Brew coffee", "Makes an espresso", 60))
	s.wantBest("espresso coffee", "kitchen.coffee")
	s.apply(remove("kitchen.coffee", 61), remove("kitchen.never_there", 62))
	s.wantBest("espresso coffee")
}

func active(t testing.TB, s subject) {
	c := put("kitchen.coffee", "Brew coffee", "Makes an espresso", 1)
	for i, row := range []struct {
		status string
		want   []string
	}{
		{"draft", nil}, {"active", []string{c.ID}}, {"retired", nil}, {"", []string{c.ID}},
		{"other", nil}, {"deprecated", []string{c.ID}},
	} {
		c.Status, c.Revision = row.status, uint64(i+1)
		s.apply(c)
		s.wantBest("espresso coffee", row.want...)
	}
}

// filtered has more better matches outside of the filter than a search fuses.
func filtered(t testing.TB, s subject) {
	var all []index.Change
	for i := range 150 {
		c := put(fmt.Sprintf("kitchen.coffee%d", i), "Brew strong coffee", "Brew strong coffee", uint64(i+1))
		c.Domain, c.Labels, c.Capabilities = "kitchen", []string{"tier=gold"}, []string{"brew"}
		c.Name, c.Version = "Kitchen coffee", "1.0.0"
		all = append(all, c)
	}
	bar := put("bar.coffee", "Brew strong coffee", "Brew strong coffee behind the counter", 200)
	bar.Domain, bar.Status = "bar", "deprecated"
	bar.Labels, bar.Capabilities = []string{"team=a", "tier=gold"}, []string{"brew", "Serve guests"}
	bar.Name, bar.Version, bar.Public = "Bar Coffee", "2.0.0", true
	s.apply(append(all, bar)...)
	for _, row := range []struct {
		filter  index.Filter
		visible bool
	}{
		{index.Filter{Domain: "bar"}, true},
		{index.Filter{Status: "deprecated"}, true},
		{index.Filter{Labels: []string{"team=a"}}, true},
		{index.Filter{Labels: []string{"team=a", "tier=gold"}}, true},
		{index.Filter{Capabilities: []string{"Serve guests", "brew"}}, true},
		{index.Filter{Public: true}, true},
		{index.Filter{Any: index.Any{IDs: []string{"x", "bar.coffee"}}}, true},
		{index.Filter{Any: index.Any{Names: []string{"bar cOFFEE"}}}, true},
		{index.Filter{Any: index.Any{Versions: []string{"2.0.0", "3.0.0"}}}, true},
		{index.Filter{Any: index.Any{Domains: []string{"x", "bar"}}}, true},
		{index.Filter{Any: index.Any{Statuses: []string{"deprecated"}}}, true},
		{index.Filter{Any: index.Any{Capabilities: []string{"x", "Serve guests"}}}, true},
		{index.Filter{Any: index.Any{Labels: [][]string{{"team=b", "team=a"}, {"tier=gold"}}}}, true},
		{index.Filter{Public: true, Any: index.Any{Capabilities: []string{"brew"}}}, true},
		{index.Filter{Public: true, Any: index.Any{Domains: []string{"kitchen"}}}, false},
		{index.Filter{Any: index.Any{Labels: [][]string{{"team=a"}, {"tier=silver"}}}}, false},
		{index.Filter{Any: index.Any{Versions: []string{"2.0"}}}, false},
		{index.Filter{Domain: "bar", Status: "active"}, false},
		{index.Filter{Domain: "ba"}, false},
		{index.Filter{Labels: []string{"team=a", "tier=silver"}}, false},
		{index.Filter{Capabilities: []string{"Serve"}}, false},
	} {
		for _, method := range []index.Method{index.Hybrid, index.Text, index.Vector} {
			got := ids(s.search(index.Query{Kind: "skill", Text: "brew strong coffee", TopK: 5, By: method, Filter: row.filter}))
			if (len(got) == 1 && got[0] == bar.ID) != row.visible || !row.visible && len(got) > 0 {
				t.Errorf("%s with %+v: got %v, want %s: %v", method, row.filter, got, bar.ID, row.visible)
			}
		}
	}
	bar.Domain, bar.Public, bar.Revision = "cafe", false, 201
	s.apply(bar)
	for _, former := range []index.Filter{{Domain: "bar"}, {Public: true}} {
		if left := s.search(index.Query{Kind: "skill", Text: "brew strong coffee", TopK: 5,
			Filter: former}); len(left.Hits) > 0 {
			t.Errorf("an update left %v among those of %+v", ids(left), former)
		}
	}
}

// instructed searches by words and by vectors, and checks that each of them finds the document.
func instructed(t testing.TB, s subject) {
	coffee := put("kitchen.coffee", "Brew coffee", "Makes an espresso", 1)
	coffee.Instructions = "Descale the boiler with citric acid every month."
	s.apply(put("kitchen.tea", "Boil tea", "Makes a cup of tea", 2), coffee)
	for _, method := range []index.Method{index.Hybrid, index.Text, index.Vector} {
		got := ids(s.search(index.Query{Kind: "skill", Text: "descale the boiler with citric acid", TopK: 5, By: method}))
		if len(got) == 0 || got[0] != coffee.ID {
			t.Errorf("%s: got %v, want %s first", method, got, coffee.ID)
		}
	}
	coffee.Instructions, coffee.Revision = "", 3
	s.apply(coffee)
	s.wantBest("citric acid")
}

func ordered(_ testing.TB, s subject) {
	if !s.shared() {
		return
	}
	tea := put("kitchen.drink", "Boil tea", "Makes a cup of tea", 7)
	coffee := put("kitchen.drink", "Brew coffee", "Makes an espresso", 5)
	s.apply(tea)
	s.apply(coffee)
	s.wantBest("espresso coffee")
	s.wantBest("cup of tea", "kitchen.drink")
	s.apply(remove("kitchen.drink", 6))
	s.wantBest("cup of tea", "kitchen.drink")
	s.apply(remove("kitchen.drink", 9))
	tea.Revision = 8
	s.apply(tea)
	s.wantBest("cup of tea")
	coffee.Revision = 10
	s.apply(coffee, tea)
	s.wantBest("espresso coffee", "kitchen.drink")
}

func shuffled(t testing.TB, s subject) {
	if !s.shared() {
		return
	}
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
	want := s.searchSkills("check the network and say so to the team", "").Hits
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
	got := other.searchSkills("check the network and say so to the team", "shuffled").Hits
	if diff := cmp.Diff(hitIDs(want), hitIDs(got)); diff != "" {
		t.Errorf("hits after a shuffled delivery (-want +got):\n%s", diff)
	}
}

func canceled(t testing.TB, s subject) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Index.Apply(ctx, catalog()); err == nil {
		t.Error("apply with a canceled context: got no error")
	}
	for _, method := range []index.Method{index.Hybrid, index.Text, index.Vector} {
		if _, err := s.Index.Search(ctx, index.Query{Kind: "skill", Text: "list vlans", TopK: 5, By: method}); err == nil {
			t.Errorf("%s search with a canceled context: got no error", method)
		}
	}
}
