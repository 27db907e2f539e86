// Package index finds records by meaning and by words. An index is a projection of
// the catalog: it can be dropped and rebuilt, and holds ids, never records.
package index

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"cairn/schemas"
	"cairn/services/internal/embed"
)

// Open returns the index at url, with vectors from e, of the catalog with the ID
// log; documents of another catalog are ignored. The caller closes it.
//
//	embedded:                   in memory, begins empty
//	http://user:password@host:9200?prefix=cairn&timeout=4s
//	                            Elasticsearch 8, a Migrator; https as well
//
// Elasticsearch need not be reachable yet. Index names begin with prefix; two
// catalogs on one server need different ones. timeout bounds a search.
func Open(url string, e embed.Embedder, log string) (Index, error) {
	switch {
	case url == "embedded:":
		return newEmbedded(e), nil
	case strings.HasPrefix(url, "http://"), strings.HasPrefix(url, "https://"):
		return openElastic(url, e, log)
	}
	return nil, fmt.Errorf("index %q: expected embedded: or http://host:9200", url)
}

// Index is a searchable projection of the catalog. It may be used concurrently.
type Index interface {
	// Apply applies changes in the order of their revisions. After an error, some may have been applied, and
	// the caller repeats them. When it returns nil, Search sees the changes.
	Apply(ctx context.Context, changes []Change) error
	// Search returns the relevant documents for q, best first. A search without hits is not an error.
	// A search by Vector without vectors returns [ErrNoVectors].
	Search(ctx context.Context, q Query) (Result, error)
	// Close releases the index's resources.
	Close()
}

// Document is the indexed part of a record.
type Document struct {
	Kind         string // one of schemas.SearchableKinds; kinds are searched separately
	Tenant       string // empty: global
	ID           string
	Title        string   // name and purpose
	Body         string   // all other text
	Instructions string   // a separate text
	Examples     []string // queries that the record should match
	Domain       string
	Status       string // only active and deprecated documents are found; empty means active
	Class        string
	Provider     string
	Labels       []string // name=value
	Capabilities []string
	Name         string // display name
	Version      string
	Public       bool // published
}

func (d Document) attributes() attributes {
	return attributes{d.ID, d.Domain, cmp.Or(d.Status, schemas.StatusActive), folded(d.Name), d.Version, d.Public}
}

// texts returns the texts to embed: all text, each example by itself, and the
// instructions. Lexical vectors are better with the examples as part of the text.
func (d Document) texts(space embed.Space) []string {
	title := embed.SplitNames(d.Title)
	texts := []string{title + "\n" + d.body()}
	if !space.Lexical {
		texts = []string{title + "\n" + d.Body}
		for _, example := range d.Examples {
			texts = append(texts, trimPunctuation(example))
		}
	}
	if d.Instructions != "" {
		texts = append(texts, title+"\n"+d.Instructions)
	}
	for i, text := range texts {
		texts[i] = norm.NFKC.String(text)
	}
	return texts
}

// body returns all text except the title and the instructions.
func (d Document) body() string {
	return strings.Join(append([]string{d.Body}, d.Examples...), "\n")
}

// Change is a document stored or removed at a revision of the catalog.
type Change struct {
	Document // when Removed, only Kind, Tenant and ID are set
	Revision uint64
	Removed  bool
}

// searchable reports whether searches match the document.
func (c Change) searchable() bool {
	return !c.Removed && schemas.Searchable(c.Status)
}

// Query selects the TopK best documents of one kind and tenant; TopK below 1 selects none.
type Query struct {
	Kind   string
	Tenant string // empty: global
	Text   string
	TopK   int
	By     Method // empty: Hybrid
	Filter
}

// Result is the outcome of a search, best hit first.
type Result struct {
	Hits     []Hit
	Degraded string // TextOnly, or empty
}

// TextOnly marks a hybrid search without vectors: the embedder was unavailable, or
// the index did not have the model's vectors yet.
const TextOnly = schemas.TextOnly

// Hit is a matching document. Score is in [0,1], descending, and comparable between searches. Ranks
// count from 1; 0 means that the document is not in the result list (words or vectors).
type Hit struct {
	ID         string
	Score      float64
	TextRank   int
	VectorRank int
}
