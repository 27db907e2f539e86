package index

import (
	"strconv"

	"cairn/services/internal/embed"
)

// textVersion must be incremented when embed.Plain, Document.texts or the documents
// of package projection change, so that a new generation is filled.
const textVersion = 4

// plan is the index layout for vectors of one space.
type plan struct {
	settings
	space       embed.Space
	body        []byte // settings and mappings of the index
	fingerprint string // of body; indices with equal fingerprints can be searched together
	build       int    // number of the rebuild, from 1; 0: unknown
}

// withBuild returns the plan with another build number.
func (p *plan) withBuild(build int) *plan {
	next := *p
	next.build = build
	return &next
}

// suffix identifies the indices of this plan and build.
func (p *plan) suffix() string { return p.fingerprint + "-" + strconv.Itoa(p.build) }

// family is the name prefix of a kind's indices, all builds.
func (p *plan) family(kind string) string { return p.alias(kind) + "-" + p.fingerprint + "-" }

// index is the name of the index of a kind.
func (p *plan) index(kind string) string { return p.alias(kind) + "-" + p.suffix() }

// writeAlias is the alias that documents are written through, with require_alias:
// Elasticsearch creates a missing index with dynamic mappings, but not an alias.
func (p *plan) writeAlias(kind string) string { return p.index(kind) + "-put" }

type object = map[string]any

// layout returns the settings and mappings of an index.
func layout(space embed.Space, log string) object {
	return object{
		"settings": object{
			// BM25 statistics are per shard; one shard makes them consistent.
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
			// Vectors are most of a document and are never read back.
			"_source":    object{"excludes": []string{"vectors"}},
			"properties": properties(space),
		},
	}
}

// analyzer tokenizes as embed.Words does. Elasticsearch's "english" analyzer has
// only 33 stop words and an older stemmer.
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
	keyword := object{"type": "keyword", "ignore_above": 1024} // longer values are not labels
	text := object{"type": "text", "analyzer": "words"}
	return object{
		"tenant":       keyword,
		"id":           keyword,
		"status":       keyword,
		"domain":       keyword,
		"class":        keyword,
		"provider":     keyword,
		"labels":       keyword,
		"capabilities": keyword,
		"name":         keyword,
		"version":      keyword,
		"public":       object{"type": "boolean"},
		"revision":     object{"type": "long", "index": false},
		"title":        text,
		"body":         text,
		"instructions": text,
		// A record has a vector of its text and one per example. As nested documents
		// they are replaced together, and the nearest one counts: the 100 nearest of
		// 4,000 records with 3 vectors each are 100 distinct records, which one
		// document per vector would not give. A single nested vector costs no more
		// than a plain one.
		"vectors": object{"type": "nested", "properties": object{
			"vector": object{
				"type": "dense_vector", "dims": space.Dimensions, "similarity": "cosine",
				"index_options": object{"type": "hnsw"}, // not quantized: relevance floors need exact cosines
			},
		}},
	}
}
