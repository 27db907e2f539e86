// Package graph holds the links between records: forward links as lists in the
// order of the record, and backward links (from a target to its referrers) as quads
// in Cayley's memory store. A traversal takes microseconds.
//
// Each tenant's records form a separate graph, labelled with the tenant. A
// record links to ids, so the target is a node of the same tenant whether or not a
// record exists there; the Reader decides whether the id means the tenant's record
// or the global one.
package graph

import (
	"slices"
	"sync"

	"github.com/cayleygraph/cayley/graph/memstore"
)

// Node identifies a record, which may not exist.
type Node struct {
	Kind   string
	Tenant string // empty: global
	ID     string
}

// Edge is one link of a record: a predicate and an id of the predicate's kind.
type Edge struct {
	Predicate string
	To        string
}

// Graph holds the links of records. It may be used concurrently.
type Graph struct {
	writing sync.Mutex   // serializes changes
	mu      sync.RWMutex // guards the fields below
	// edges are the links of each record, in its order.
	edges map[Node][]Edge
	// store has the links that are traversed backward. Each node of a quad, subject or
	// object, takes more than 1 KiB in it.
	store *memstore.QuadStore
	quads int // number of active quads
	// retired are the IDs of inactive quads in the store. Deleting a quad from the
	// memory store scans all its primitives, so quads are marked instead, and the
	// store is rebuilt when as many are retired as active.
	retired map[int64]struct{}
}

// New returns an empty graph.
func New() *Graph {
	return &Graph{store: memstore.New(), edges: map[Node][]Edge{}, retired: map[int64]struct{}{}}
}

// Links returns the ids that the record links to by the predicate, in the order of
// the record. The targets may not exist.
func (g *Graph) Links(from Node, predicate string) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return linksOf(g.edges[from], predicate)
}

// Field returns the field of the record with a link to the id of the kind; false: there is none.
func (g *Graph) Field(from Node, kind, id string) (field string, ok bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, e := range g.edges[from] {
		if e.To == id && kindOf(e.Predicate) == kind {
			return e.Predicate, true
		}
	}
	return "", false
}

// linksOf returns the targets of the edges with the predicate, in order.
func linksOf(edges []Edge, predicate string) (ids []string) {
	for _, e := range edges {
		if e.Predicate == predicate {
			ids = append(ids, e.To)
		}
	}
	return ids
}

// Referrers returns the ids of the records of the kind that link to the node by the
// predicate, which must have a reverse index, sorted. They belong to the node's tenant.
func (g *Graph) Referrers(kind, predicate string, to Node) []string {
	var ids []string
	g.referrersOf(to, predicate, kind, func(id string) bool {
		ids = append(ids, id)
		return true
	})
	slices.Sort(ids)
	return ids
}

// hasReferrer reports whether the node has a referrer that satisfies match.
func (g *Graph) hasReferrer(kind, predicate string, to Node, match func(id string) bool) bool {
	found := false
	g.referrersOf(to, predicate, kind, func(id string) bool {
		found = match(id)
		return !found
	})
	return found
}
