// Package graph keeps who names whom among the records, and who serves which
// domain: a record's own links in their order, and as quads in Cayley's memory
// store what leads back, from the named to who names. A traversal costs
// microseconds.
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
	mu      sync.RWMutex // guards what readers see
	// edges are each record's links in their order.
	edges map[Node][]Edge
	// store has those that are followed from what is named to who names it. A
	// node of its own costs more than a kilobyte in it, on either side of a quad.
	store *memstore.QuadStore
	quads int // how many hold
	// retired are the ids of quads in the store that no longer hold. To delete
	// a quad the memory store searches a list of all it has, so a retired one
	// is only passed over, until there are as many as hold.
	retired map[int64]struct{}
}

// New is an empty graph.
func New() *Graph {
	return &Graph{store: memstore.New(), edges: map[Node][]Edge{}, retired: map[int64]struct{}{}}
}

// Links are the ids that the record names by the predicate, in the order in
// which it does. They may be ids of nothing.
func (g *Graph) Links(from Node, predicate string) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	var ids []string
	for _, e := range g.edges[from] {
		if e.Predicate == predicate {
			ids = append(ids, e.To)
		}
	}
	return ids
}

// Namers are the ids of the records of the kind that name the node by the
// predicate, one of those that are followed back, sorted. They are of the
// node's tenant: records of another name another node.
func (g *Graph) Namers(kind, predicate string, to Node) []string {
	var ids []string
	g.back(to, predicate, kind, func(id string) bool {
		ids = append(ids, id)
		return true
	})
	slices.Sort(ids)
	return ids
}

// named reports whether one of the Namers is good.
func (g *Graph) named(kind, predicate string, to Node, good func(id string) bool) bool {
	found := false
	g.back(to, predicate, kind, func(id string) bool {
		found = good(id)
		return !found
	})
	return found
}
