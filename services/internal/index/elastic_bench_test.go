package index_test

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cairn/services/internal/index"
)

// BenchmarkRealSearch asks 4,076 skills in Elasticsearch, each time also
// sending directly what the search sends. Queries are embedded in the search
// alone.
func BenchmarkRealSearch(b *testing.B) {
	folder := evaluation(b, "retrieval")
	ix := openReal(b, lexical(b))
	for batch := range slices.Chunk(read[record](b, filepath.Join(folder, "corpus.jsonl")), 256) {
		apply(b, ix, batch)
	}
	queries := read[judged](b, filepath.Join(folder, "queries-dev.jsonl"))
	var searched, direct []time.Duration
	for i := 0; b.Loop(); i++ {
		q := index.Query{Kind: "skill", Text: queries[i%len(queries)].Query, TopK: 5}
		path, body, err := index.SearchBody(b.Context(), ix, q)
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		post(b, server(b)+path, body)
		direct = append(direct, time.Since(start))
		start = time.Now()
		search(b, ix, q.Text, q.TopK)
		searched = append(searched, time.Since(start))
	}
	report(b, searched, "search-")
	report(b, direct, "direct-")
	http.DefaultClient.CloseIdleConnections()
}

func post(b *testing.B, url string, body []byte) {
	b.Helper()
	res, err := http.Post(url, "application/x-ndjson", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		b.Fatal(err)
	}
}
