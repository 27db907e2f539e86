package index

import "cmp"

// candidates is how many vectors a search follows through the graph. With 100,
// it misses 1 % of the nearest 100; with 200 none, in the same time.
const candidates = 2 * depth

// filter lets the documents of one collection pass that may be found.
func filter(tenant string) []object {
	return []object{
		{"term": object{"tenant": cmp.Or(tenant, global)}},
		{"term": object{"status": active}},
	}
}

// search returns the body of a search of which only ids and scores come back.
func search(size int, key string, value any) object {
	return object{
		key: value, "size": size, "track_total_hits": false,
		"_source": false, "stored_fields": "_none_", "docvalue_fields": []string{"id"},
	}
}

func textQuery(tenant, words string) object {
	return search(depth, "query", object{"bool": object{
		"filter": filter(tenant),
		"must":   bothFields("most_fields", words),
	}})
}

// bothFields asks for words in title and body.
func bothFields(how, words string) object {
	return object{"multi_match": object{"query": words, "type": how, "fields": []string{"title", "body"}}}
}

// coverageQuery finds the document that has most of the words; its score is
// how many.
func coverageQuery(tenant string, words []string) object {
	var each []object
	for _, w := range words {
		each = append(each, object{"constant_score": object{"filter": bothFields("best_fields", w)}})
	}
	return search(1, "query", object{"bool": object{
		"filter": filter(tenant), "should": each, "minimum_should_match": 1,
	}})
}

// vectorQuery finds what is near. The filters are part of it: they would
// otherwise leave little of what is nearest of all. The one on the index keeps
// a vector from one of another model, of other dimensions even.
func vectorQuery(tenant, family string, vector []float32) object {
	return search(depth, "knn", object{
		"field": "vectors.vector", "query_vector": vector, "k": depth, "num_candidates": candidates,
		"filter": append(filter(tenant), object{"prefix": object{"_index": family}}),
	})
}
