// Package graph keeps who names whom among the records, and who serves which
// domain, as quads in Cayley's memory store: a traversal costs microseconds.
//
// Each tenant's records are a graph of their own, labelled with the tenant: a
// record names ids, not records, so what it names is a node of the same
// tenant whether or not a record is there yet. Whether the id then means the
// tenant's record or the global one is decided by who reads.
package graph

import (
	"slices"
	"sync"

	"github.com/cayleygraph/cayley/graph/memstore"
)

// Node is a record, or the place where one would be.
type Node struct {
	Kind   string
	Tenant string // empty: global
	ID     string
}

// Edge is one link of a record: by predicate, to an id of the predicate's kind.
type Edge struct {
	Predicate string
	To        string
}

// Graph holds the links of records. It may be used concurrently.
type Graph struct {
	writing sync.Mutex   // held by whoever changes anything
	mu      sync.RWMutex // guards what readers see: store and retired
	store   *memstore.QuadStore
	// edges are each record's links in their order: what Apply compares with,
	// and what the store is made anew from.
	edges map[Node][]Edge
	quads int // how many hold
	// retired are the ids of quads in the store that no longer hold. To delete
	// a quad the memory store searches a list of all it has, so a retired one
	// is only passed over, until waste is as much as what holds.
	retired map[int64]struct{}
	waste   int // retirements since the store was made
}

// New is an empty graph.
func New() *Graph {
	return &Graph{store: memstore.New(), edges: map[Node][]Edge{}, retired: map[int64]struct{}{}}
}

// Links are the ids that the record names by the predicate, in the order in
// which it does. They may be ids of nothing.
func (g *Graph) Links(from Node, predicate string) []string {
	var ids []string
	g.walk(from, along(predicate), func(id string) bool {
		ids = append(ids, id)
		return true
	})
	return ids
}

// Namers are the ids of the records of the kind that name the node by the
// predicate, sorted. They are of the node's tenant: records of another name
// another node.
func (g *Graph) Namers(kind, predicate string, to Node) []string {
	var ids []string
	g.walk(to, against(predicate, kind), func(id string) bool {
		ids = append(ids, id)
		return true
	})
	slices.Sort(ids)
	return ids
}

// named reports whether one of the Namers is good.
func (g *Graph) named(kind, predicate string, to Node, good func(id string) bool) bool {
	found := false
	g.walk(to, against(predicate, kind), func(id string) bool {
		found = good(id)
		return !found
	})
	return found
}
