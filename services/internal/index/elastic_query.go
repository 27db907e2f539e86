package index

import (
	"cmp"

	"cairn/schemas"
)

// candidates is the number of vectors that a kNN search examines per shard. With
// 100 it misses 1 % of the nearest 100; with 200 none, at equal latency.
const candidates = 2 * depth

// filter matches the documents of one scope and of f that searches find.
func filter(tenant string, f Filter) []object {
	return append([]object{
		{"term": object{"tenant": cmp.Or(tenant, global)}},
		{"terms": object{"status": []string{schemas.StatusActive, schemas.StatusDeprecated}}},
	}, f.clauses()...)
}

// search returns the body of a search that returns only ids and scores.
func search(size int, key string, value any) object {
	return object{
		key: value, "size": size, "track_total_hits": false,
		"_source": false, "stored_fields": "_none_", "docvalue_fields": []string{"id"},
	}
}

func textQuery(tenant string, f Filter, words string) object {
	return search(depth, "query", object{"bool": object{
		"filter": filter(tenant, f),
		"must":   anyField("most_fields", words),
	}})
}

// anyField matches words in title, body and instructions.
func anyField(how, words string) object {
	return object{"multi_match": object{"query": words, "type": how, "fields": []string{"title", "body", "instructions"}}}
}

// coverageQuery finds the document with the most distinct words; the score is their
// number.
func coverageQuery(tenant string, f Filter, words []string) object {
	var each []object
	for _, w := range words {
		each = append(each, object{"constant_score": object{"filter": anyField("best_fields", w)}})
	}
	return search(1, "query", object{"bool": object{
		"filter": filter(tenant, f), "should": each, "minimum_should_match": 1,
	}})
}

// idQuery finds the document with an id.
func idQuery(tenant string, f Filter, id string) object {
	return search(1, "query", object{"bool": object{
		"filter": append(filter(tenant, f), object{"term": object{"id": id}}),
	}})
}

// vectorQuery finds the nearest vectors. Filters apply during the kNN search;
// applied afterwards they would leave few of the nearest. The filter on the index
// name excludes generations of other models and dimensions.
func vectorQuery(tenant string, f Filter, family string, vector []float32) object {
	return search(depth, "knn", object{
		"field": "vectors.vector", "query_vector": vector, "k": depth, "num_candidates": candidates,
		"filter": append(filter(tenant, f), object{"prefix": object{"_index": family}}),
	})
}
