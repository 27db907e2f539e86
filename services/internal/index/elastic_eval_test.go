package index_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cairn/services/internal/index"
)

// TestRealQuality measures in Elasticsearch what TestRealEmbeddedQuality measures in memory,
// and with -v each result list separately.
func TestRealQuality(t *testing.T) {
	server(t)
	for _, set := range []struct {
		embed, name, directory string
		recall, ndcg           float64 // at 5 and at 10, lower bounds
	}{
		{"lexical:", "Seal-Tools", "retrieval", 0.94, 0.94},
		{"lexical:", "ToolE", "retrieval/toole", 0.64, 0.57},
		{"static:", "ToolE", "retrieval/toole", 0.70, 0.60},
		{miniLM, "ToolE", "retrieval/toole", 0.795, 0.71},
		{miniLM, "Seal-Tools", "retrieval", 0.945, 0.945},
	} {
		t.Run(set.embed+" "+set.name, func(t *testing.T) {
			directory := evaluation(t, set.directory)
			ix := openReal(t, embedder(t, set.embed))
			start := time.Now()
			for batch := range slices.Chunk(read[record](t, filepath.Join(directory, "corpus.jsonl")), 256) {
				apply(t, ix, batch)
			}
			t.Logf("filled in %s", time.Since(start).Round(time.Second/10))
			got := measure(t, ix, read[judged](t, filepath.Join(directory, "queries-dev.jsonl")))
			if got.recall < set.recall || got.ndcg < set.ndcg {
				t.Errorf("want recall@5 of %.2f and nDCG@10 of %.2f", set.recall, set.ndcg)
			}
		})
	}
}

// quality is the mean over all queries.
type quality struct{ first, recall, ndcg float64 }

func (all *quality) add(q judged, ids []string, n int) {
	all.first += q.recall(ids, 1) / float64(n)
	all.recall += q.recall(ids, 5) / float64(n)
	all.ndcg += q.ndcg(ids, 10) / float64(n)
}

// measure returns the quality of hybrid search. With -v it also searches by words and by
// vectors alone, which takes three times as long.
func measure(t *testing.T, ix index.Index, queries []judged) (both quality) {
	t.Logf("%-6s %9s %9s %9s %12s %12s", "", "recall@1", "recall@5", "nDCG@10", "p50", "p99")
	methods := []index.Method{index.Text, index.Vector, index.Hybrid}
	if !testing.Verbose() {
		methods = methods[2:]
	}
	for _, method := range methods {
		both = quality{}
		var took []time.Duration
		for _, q := range queries {
			start := time.Now()
			got, err := ix.Search(t.Context(), index.Query{Kind: "skill", Text: q.Query, TopK: 10, By: method})
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start))
			both.add(q, ids(got.Hits), len(queries))
		}
		slices.Sort(took)
		t.Logf("%-6s %9.4f %9.4f %9.4f %12s %12s", method, both.first, both.recall, both.ndcg, took[len(took)/2],
			took[len(took)*99/100])
	}
	return both
}
