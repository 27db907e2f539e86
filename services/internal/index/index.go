// Package index finds records by meaning and by words. An index is a view of
// the catalog: it can be thrown away and rebuilt, and holds ids, never records.
package index

import (
	"context"
	"fmt"
	"strings"

	"cairn/schemas"
	"cairn/services/internal/embed"
)

// Open returns the index that url names, with vectors made by e, of the catalog
// that is called log: what is there of another catalog is not its own. The
// caller closes it.
//
//	embedded:                   in memory, begins empty
//	http://user:password@host:9200?prefix=cairn&timeout=4s
//	                            Elasticsearch 8, a Migrator; https as well
//
// Elasticsearch need not be there yet. Names of indices begin with prefix; two
// catalogs on one server want different ones. A search takes timeout at most.
func Open(url string, e embed.Embedder, log string) (Index, error) {
	switch {
	case url == "embedded:":
		return newEmbedded(e), nil
	case strings.HasPrefix(url, "http://"), strings.HasPrefix(url, "https://"):
		return openElastic(url, e, log)
	}
	return nil, fmt.Errorf("index %q: want embedded: or http://host:9200", url)
}

// Index is a searchable view of the catalog. It may be used concurrently.
type Index interface {
	// Apply takes changes in any order, and may see one twice: of two
	// revisions of a document the higher one wins. When it returns nil, Search
	// sees them.
	Apply(ctx context.Context, changes []Change) error
	// Search answers with the best documents for q: the tenant's own, or the
	// global ones where the tenant has none that fit. No hits is no error.
	// [ErrNoVectors] is one of a search by Vector.
	Search(ctx context.Context, q Query) (Result, error)
	// Close releases what the index holds.
	Close() error
}

// Document is what an index keeps of a record.
type Document struct {
	Kind     string // skill, agent or tool; each kind is a pool of its own
	Tenant   string // empty: global
	ID       string
	Title    string   // name and purpose
	Body     string   // all other text
	Examples []string // queries that should find the record
	Domain   string
	Status   string // only active documents are found; empty is active
	Class    string
	Provider string
}

// Change is a document put or removed at a revision of the catalog.
type Change struct {
	Document // when Removed, only Kind, Tenant and ID are set
	Revision uint64
	Removed  bool
}

// Query asks for the TopK best documents of one kind; below 1 that is none.
type Query struct {
	Kind   string
	Tenant string // empty: the global collection only
	Text   string
	TopK   int
	By     Method // empty: Hybrid
}

// Result is what a search found, best first.
type Result struct {
	Hits     []Hit
	Tenant   string // the collection that answered; empty: the global one
	Degraded string // TextOnly, or empty when nothing was missing
}

// TextOnly says of a hybrid search that words were compared and vectors not: the
// embedder was away, or the index had no vectors of its model yet.
const TextOnly = schemas.TextOnly

// Hit is a document found. Score is in [0,1], descending, and comparable
// between searches. A rank counts from 1; 0: not among that side's hits.
type Hit struct {
	ID         string
	Score      float64
	TextRank   int
	VectorRank int
}
