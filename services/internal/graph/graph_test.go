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

// referrersOf returns the ids of the records of the kind that link to the context builder, sorted.
func referrersOf(t testing.TB, g *graph.Graph, kind string, to graph.Node) []string {
	t.Helper()
	return slices.Sorted(g.Referrers(t.Context(), kind, graph.ContextBuilders, to))
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
			g.Apply(from, names(row.before2...))
			g.Apply(from, names(row.before...))
			g.Apply(from, names(row.after...))
			if diff := cmp.Diff(row.after, g.Links(from, graph.ContextBuilders)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScopesKindsAndPredicatesAreSeparate(t *testing.T) {
	t.Parallel()
	g := graph.New()
	g.Apply(skill("acme", "a.b"), names("b.1"))
	g.Apply(skill("", "a.b"), names("b.2"))
	g.Apply(graph.Node{Kind: schemas.KindContextBuilder, Tenant: "acme", ID: "a.b"}, names("b.1", "b.3"))
	got := map[string][]string{
		"tenant":               g.Links(skill("acme", "a.b"), graph.ContextBuilders),
		"global":               g.Links(skill("", "a.b"), graph.ContextBuilders),
		"unknown":              g.Links(skill("other", "a.b"), graph.ContextBuilders),
		"predicate":            g.Links(skill("acme", "a.b"), graph.Skills),
		"referrers":            referrersOf(t, g, schemas.KindSkill, builder("acme", "b.1")),
		"other kind":           referrersOf(t, g, schemas.KindContextBuilder, builder("acme", "b.1")),
		"of nothing":           referrersOf(t, g, schemas.KindSkill, builder("acme", "b.2")),
		"the node of a tenant": referrersOf(t, g, schemas.KindSkill, builder("", "b.2")),
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
// several rebuilds of the store.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	g, model := graph.New(), map[graph.Node][]string{}
	for range 5000 {
		from := skill([]string{"", "acme"}[random.IntN(2)], fmt.Sprintf("s.%d", random.IntN(20)))
		var ids []string
		for _, i := range random.Perm(8)[:random.IntN(9)] {
			ids = append(ids, fmt.Sprintf("b.%d", i))
		}
		g.Apply(from, names(ids...))
		model[from] = ids
	}
	referrers := map[graph.Node][]string{}
	for from, want := range model {
		if diff := cmp.Diff(want, g.Links(from, graph.ContextBuilders)); diff != "" {
			t.Errorf("links of %v (-want +got):\n%s", from, diff)
		}
		for _, id := range want {
			to := builder(from.Tenant, id)
			referrers[to] = append(referrers[to], from.ID)
		}
	}
	for to, want := range referrers {
		slices.Sort(want)
		if diff := cmp.Diff(want, referrersOf(t, g, schemas.KindSkill, to)); diff != "" {
			t.Errorf("referrers of %v (-want +got):\n%s", to, diff)
		}
	}
	for from := range model {
		g.Apply(from, nil)
	}
	for to := range referrers {
		if got := referrersOf(t, g, schemas.KindSkill, to); got != nil {
			t.Errorf("%v still has the referrers %v", to, got)
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
				referrersOf(t, g, schemas.KindSkill, builder("", "b.1"))
			}
		})
	}
	for i := range 4000 {
		g.Apply(skill("", fmt.Sprintf("s.%d", i%10)), names("b.1", fmt.Sprintf("b.%d", i+2)))
	}
}
