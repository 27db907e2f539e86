package index

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"cairn/services/internal/embed"
)

// textVersion is to be raised when embed.Plain, Document.texts or the documents
// of package projection change what is made of a record.
const textVersion = 1

// plan is how documents are kept whose vectors are of one space.
type plan struct {
	settings
	space       embed.Space
	body        []byte // settings and mapping of an index
	fingerprint string // of the body: documents of equal ones can be searched together
	build       int    // how often the indices were made anew, from 1; 0: not known
}

// planFor returns the plan for vectors of a space.
func (e *elastic) planFor(space embed.Space) *plan {
	space.Floor = 0 // nothing that is kept depends on it
	if p := e.plan.Load(); p != nil && p.space == space {
		return p
	}
	body, err := json.Marshal(layout(space, e.log))
	if err != nil {
		panic(fmt.Sprintf("layout of an index: %v", err)) // it has only texts and numbers
	}
	sum := sha256.Sum256(body)
	p := &plan{e.settings, space, body, hex.EncodeToString(sum[:6]), 0}
	e.plan.Store(p)
	return p
}

// at returns the plan for indices that were made anew so often.
func (p *plan) at(build int) *plan {
	next := *p
	next.build = build
	return &next
}

// mark tells indices of the plan from all others.
func (p *plan) mark() string { return p.fingerprint + "-" + strconv.Itoa(p.build) }

// family begins the names of the indices of a kind, of all builds.
func (p *plan) family(kind string) string { return p.alias(kind) + "-" + p.fingerprint + "-" }

// index is the name of the index of a kind.
func (p *plan) index(kind string) string { return p.alias(kind) + "-" + p.mark() }

// entrance is the alias through which documents are written. Elasticsearch
// makes an index that is missing, with a mapping of its own; not an alias.
func (p *plan) entrance(kind string) string { return p.index(kind) + "-put" }

type object = map[string]any

// layout is what an index is made with.
func layout(space embed.Space, log string) object {
	return object{
		"settings": object{
			// The statistics of BM25 are those of a shard: of all tenants.
			"number_of_shards":     1,
			"auto_expand_replicas": "0-1",
			"similarity":           object{"default": object{"type": "BM25", "k1": k1, "b": b}},
			"analysis":             analyzer(),
		},
		"mappings": object{
			"dynamic": "strict",
			"_meta": object{
				"model": space.Name, "dimensions": space.Dimensions, "lexical": space.Lexical,
				"text": textVersion, "catalog": log,
			},
			// The vectors are most of a document, and never read back.
			"_source":    object{"excludes": []string{"vectors"}},
			"properties": properties(space),
		},
	}
}

// analyzer takes texts apart as embed.Words does. The analyzer that comes with
// Elasticsearch for English knows 33 stop words and an older stemmer.
func analyzer() object {
	return object{
		"analyzer": object{"words": object{
			"type": "custom", "tokenizer": "standard",
			"filter": []string{"possessives", "lowercase", "stops", "stems"},
		}},
		"filter": object{
			"possessives": object{"type": "stemmer", "language": "possessive_english"},
			"stops":       object{"type": "stop", "stopwords": embed.StopWords()},
			"stems":       object{"type": "stemmer", "language": "porter2"},
		},
	}
}

func properties(space embed.Space) object {
	keyword := object{"type": "keyword", "ignore_above": 1024} // longer values are no labels
	text := object{"type": "text", "analyzer": "words"}
	return object{
		"tenant":   keyword,
		"id":       keyword,
		"status":   keyword,
		"domain":   keyword,
		"class":    keyword,
		"provider": keyword,
		"revision": object{"type": "long", "index": false},
		"title":    text,
		"body":     text,
		// A record has a vector of its text and one of each example. Nested
		// they live and die with it, and the nearest one counts. Of 4,000
		// records with 3 vectors each, the 100 nearest are 100 records; with a
		// document a vector, fewer. A record's only vector costs the same
		// nested or not.
		"vectors": object{"type": "nested", "properties": object{
			"vector": object{
				"type": "dense_vector", "dims": space.Dimensions, "similarity": "cosine",
				"index_options": object{"type": "hnsw"}, // floors want cosines, not their estimates
			},
		}},
	}
}
