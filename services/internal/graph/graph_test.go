package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/schemas"
	"cairn/services/internal/graph"
)

func skill(tenant, id string) graph.Node {
	return graph.Node{Kind: schemas.KindSkill, Tenant: tenant, ID: id}
}

func builder(tenant, id string) graph.Node {
	return graph.Node{Kind: schemas.KindContextBuilder, Tenant: tenant, ID: id}
}

// names returns edges from a skill to context builders.
func names(builders ...string) []graph.Edge {
	var edges []graph.Edge
	for _, id := range builders {
		edges = append(edges, graph.Edge{Predicate: graph.ContextBuilders, To: id})
	}
	return edges
}

func TestLinksKeepRecordOrder(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		before, after []string
		before2       []string
	}{
		{name: "first registration", after: []string{"c", "a", "b"}},
		{name: "a link added at the end", before: []string{"c", "a"}, after: []string{"c", "a", "b"}},
		{name: "a link added at the front", before: []string{"c", "a"}, after: []string{"b", "c", "a"}},
		{name: "a link removed in the middle", before: []string{"c", "a", "b"}, after: []string{"c", "b"}},
		{name: "another order", before: []string{"c", "a", "b"}, after: []string{"b", "a", "c"}},
		{name: "all replaced", before: []string{"c", "a", "b"}, after: []string{"x", "y"}},
		{name: "nothing left", before: []string{"c", "a", "b"}},
		{name: "a link that is restored", before2: []string{"a", "b"}, before: []string{"b"}, after: []string{"b", "a"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g, from := graph.New(), skill("acme", "net.diagnose")
			g.Apply(from, names(row.before2...), true)
			g.Apply(from, names(row.before...), true)
			g.Apply(from, names(row.after...), true)
			if diff := cmp.Diff(row.after, g.Links(from, graph.ContextBuilders)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScopesKindsAndPredicatesAreSeparate(t *testing.T) {
	t.Parallel()
	g := graph.New()
	g.Apply(skill("acme", "a.b"), names("b.1"), true)
	g.Apply(skill("", "a.b"), names("b.2"), true)
	g.Apply(graph.Node{Kind: schemas.KindContextBuilder, Tenant: "acme", ID: "a.b"}, names("b.1", "b.3"), true)
	got := map[string][]string{
		"tenant":               g.Links(skill("acme", "a.b"), graph.ContextBuilders),
		"global":               g.Links(skill("", "a.b"), graph.ContextBuilders),
		"unknown":              g.Links(skill("other", "a.b"), graph.ContextBuilders),
		"predicate":            g.Links(skill("acme", "a.b"), graph.Skills),
		"referrers":            g.Referrers(t.Context(), schemas.KindSkill, graph.ContextBuilders, builder("acme", "b.1")),
		"other kind":           g.Referrers(t.Context(), schemas.KindContextBuilder, graph.ContextBuilders, builder("acme", "b.1")),
		"of nothing":           g.Referrers(t.Context(), schemas.KindSkill, graph.ContextBuilders, builder("acme", "b.2")),
		"the node of a tenant": g.Referrers(t.Context(), schemas.KindSkill, graph.ContextBuilders, builder("", "b.2")),
	}
	want := map[string][]string{
		"tenant": {"b.1"}, "global": {"b.2"}, "unknown": nil, "predicate": nil,
		"referrers": {"a.b"}, "other kind": {"a.b"}, "of nothing": nil, "the node of a tenant": {"a.b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyChanges compares the graph with plain lists over enough changes for
// several rebuilds of the store. A quarter of the records is not linkable.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	g, model, linkable := graph.New(), map[graph.Node][]string{}, map[graph.Node]bool{}
	for range 5000 {
		from := skill([]string{"", "acme"}[random.IntN(2)], fmt.Sprintf("s.%d", random.IntN(20)))
		var ids []string
		for _, i := range random.Perm(8)[:random.IntN(9)] {
			ids = append(ids, fmt.Sprintf("b.%d", i))
		}
		linkable[from] = random.IntN(4) > 0
		g.Apply(from, names(ids...), linkable[from])
		model[from] = ids
		g.Referrers(t.Context(), schemas.KindSkill, graph.ContextBuilders, builder(from.Tenant, "b.1")) // caches them
	}
	referrers := map[graph.Node][]string{}
	for from, want := range model {
		if diff := cmp.Diff(want, g.Links(from, graph.ContextBuilders)); diff != "" {
			t.Errorf("links of %v (-want +got):\n%s", from, diff)
		}
		for _, id := range want {
			to := builder(from.Tenant, id)
			if linkable[from] {
				referrers[to] = append(referrers[to], from.ID)
			}
		}
	}
	for to, want := range referrers {
		slices.Sort(want)
		if diff := cmp.Diff(want, g.Referrers(t.Context(), schemas.KindSkill, graph.ContextBuilders, to)); diff != "" {
			t.Errorf("referrers of %v (-want +got):\n%s", to, diff)
		}
	}
	for from := range model {
		g.Apply(from, nil, true)
	}
	for to := range referrers {
		if got := g.Referrers(t.Context(), schemas.KindSkill, graph.ContextBuilders, to); got != nil {
			t.Errorf("%v still has the referrers %v", to, got)
		}
	}
}

// TestUnlinkableRecords changes a skill between active and draft without changing its links.
func TestUnlinkableRecords(t *testing.T) {
	t.Parallel()
	g, from, to := graph.New(), skill("acme", "net.x"), builder("acme", "b")
	for _, linkable := range []bool{false, true, false, false, true, true} {
		g.Apply(from, names("b"), linkable)
		if got := g.Links(from, graph.ContextBuilders); !slices.Equal(got, []string{"b"}) {
			t.Errorf("linkable %v: got the links %v", linkable, got)
		}
		if got := g.Referrers(t.Context(), schemas.KindSkill, graph.ContextBuilders, to); slices.Contains(got, "net.x") != linkable {
			t.Errorf("linkable %v: got the referrers %v", linkable, got)
		}
	}
}

func TestConcurrentReadersAndWriters(t *testing.T) {
	t.Parallel()
	g := graph.New()
	var wg sync.WaitGroup
	defer wg.Wait()
	for range 4 {
		wg.Go(func() {
			for i := range 2000 {
				got := g.Links(skill("", fmt.Sprintf("s.%d", i%10)), graph.ContextBuilders)
				if len(got) != 0 && len(got) != 2 {
					t.Errorf("a partial change was visible: %v", got)
					return
				}
				g.Referrers(t.Context(), schemas.KindSkill, graph.ContextBuilders, builder("", "b.1"))
			}
		})
	}
	for i := range 4000 {
		g.Apply(skill("", fmt.Sprintf("s.%d", i%10)), names("b.1", fmt.Sprintf("b.%d", i+2)), true)
	}
}
