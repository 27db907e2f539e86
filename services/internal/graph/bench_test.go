package graph_test

import (
	"fmt"
	"testing"

	"cairn/schemas"
	"cairn/services/internal/graph"
)

// filled returns a graph of n skills with ten links each: 10,000 skills are
// 100,000 quads.
func filled(n int) *graph.Graph {
	g := graph.New()
	for i := range n {
		g.Apply(skill("", id(i)), named(i, 0))
	}
	return g
}

func id(i int) string { return fmt.Sprintf("domain%d.skill%d", i%50, i) }

// named returns the links of skill i. Two versions differ in one context builder and the template.
func named(i, version int) []graph.Edge {
	var edges []graph.Edge
	for j := range 4 {
		edges = append(edges, graph.Edge{Predicate: graph.ContextBuilders, To: fmt.Sprintf("cb.%d", (i*7+j+version)%5000)})
	}
	for j := range 5 {
		edges = append(edges, graph.Edge{Predicate: graph.Tools, To: fmt.Sprintf("aws.ec2.op%d", (i*11+j)%5000)})
	}
	return append(edges, graph.Edge{Predicate: graph.Template, To: fmt.Sprintf("template.%d.%d", i, version)})
}

func BenchmarkLinks(b *testing.B) {
	g := filled(10_000)
	for i := 0; b.Loop(); i++ {
		if got := g.Links(skill("", id(i%10_000)), graph.Tools); len(got) != 5 {
			b.Fatal(got)
		}
	}
}

func BenchmarkReferrers(b *testing.B) {
	g := filled(10_000)
	for i := 0; b.Loop(); i++ {
		to := builder("", fmt.Sprintf("cb.%d", i%5000))
		if got := referrersOf(b, g, schemas.KindSkill, to); len(got) != 8 {
			b.Fatal(len(got))
		}
	}
}

// BenchmarkApply changes one of the ten links of a record.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("quads=%d", n*10), func(b *testing.B) {
			g := filled(n)
			for i := 0; b.Loop(); i++ {
				g.Apply(skill("", id(i%n)), named(i%n, 1+i/n))
			}
		})
	}
}

func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		filled(10_000)
	}
}
