package bench

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// searched is the number of queries in each round.
const searched = 100

// BenchmarkSearchElasticsearch compares a search through the edge with the query that
// Cairn sends to Elasticsearch for it, sent directly. It also reports by how many
// microseconds the edge exceeds 1.3 times the direct latency.
func BenchmarkSearchElasticsearch(b *testing.B) {
	b.Run("embed=lexical", func(b *testing.B) {
		searchElasticsearch(b, "lexical:", evaluation(b, "retrieval", "corpus.jsonl"))
	})
	// Embedding with a model is slow: this case has fewer skills and cached query vectors.
	b.Run("embed=minilm", func(b *testing.B) {
		server := os.Getenv("CAIRN_TEST_OLLAMA")
		if server == "" {
			b.Skip("CAIRN_TEST_OLLAMA names no Ollama that has the model minilm")
		}
		skills := linesOf(b, evaluation(b, "retrieval", "corpus.jsonl"))[:500]
		corpus := filepath.Join(b.TempDir(), "corpus.jsonl")
		must(b, os.WriteFile(corpus, bytes.Join(skills, nil), 0o600))
		searchElasticsearch(b, "ollama://"+strings.TrimPrefix(server, "http://")+"/minilm", corpus)
	})
}

func searchElasticsearch(b *testing.B, embed, corpus string) {
	b.Helper()
	elastic, prefix := elasticServer(b)
	data := filepath.Join(b.TempDir(), "data")
	flags := func(index string) []string {
		return []string{"--data", data, "--embed", embed, "--index", index + prefix}
	}
	pairs := recorded(b, gateTo(b, elastic), flags, corpus)
	at := up(b, flags(elastic)...)
	waitIndexed(b, at, len(linesOf(b, corpus)))
	for _, connections := range []int{1, 4} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			cairn := newSide(b, at, connections, side{path: "/resolve/skill", status: http.StatusOK,
				body: func(n int) []byte { return pairs[n%len(pairs)].query }})
			direct := newSide(b, server{at: strings.TrimPrefix(elastic, "http://")}, connections,
				side{path: pairs[0].path, status: http.StatusOK,
					body: func(n int) []byte { return pairs[n%len(pairs)].body }})
			c, r := compare(b, searched, cairn, direct)
			report(b, "p50-µs", each(c, p50), each(r, p50))
			beyond := make([]float64, len(c))
			for i := range c {
				beyond[i] = p50(c[i]) - 1.3*p50(r[i])
			}
			b.ReportMetric(median(beyond), "beyond-µs")
			b.ReportMetric(median(each(c, work)), "cairn-cpu-µs")
		})
	}
}

// recordedQuery is a query with the request that Cairn sends to Elasticsearch for it.
type recordedQuery struct {
	query []byte
	search
}

// recorded registers the corpus with a temporary Cairn and records its Elasticsearch
// requests for the first queries of the dev split. It repeats each query until the
// response is not degraded, because a model may time out before the vector is cached.
// Queries without a result are left out.
func recorded(b *testing.B, g *gate, flags func(index string) []string, corpus string) (all []recordedQuery) {
	b.Helper()
	at := up(b, flags("http://"+g.at)...)
	defer func() { _ = at.process.Stop() }()
	registerAll(b, at.at, corpus)
	waitIndexed(b, at, len(linesOf(b, corpus)))
	for _, query := range searches(b, evaluation(b, "retrieval", "queries-dev.jsonl"))[:searched] {
		for end := time.Now().Add(time.Minute); ; {
			g.taken()
			res, err := http.Post("http://"+at.at+"/resolve/skill", "application/json", bytes.NewReader(query))
			must(b, err)
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			must(b, err)
			sent := g.taken()
			if found := res.StatusCode == http.StatusOK; found && !bytes.Contains(body, []byte(`"degraded"`)) && len(sent) == 1 {
				all = append(all, recordedQuery{query, sent[0]})
			} else if res.StatusCode != http.StatusNotFound && time.Now().Before(end) {
				continue
			}
			break
		}
	}
	if len(all) == 0 {
		b.Fatal("no query finds anything")
	}
	return all
}

// waitIndexed waits until the shared index has the given number of skills and is caught up.
func waitIndexed(b *testing.B, at server, skills int) {
	b.Helper()
	var text []byte
	for end := time.Now().Add(20 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		res, err := http.Get("http://" + at.at + "/health")
		must(b, err)
		text, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		must(b, err)
		var health struct {
			Services []struct {
				Index struct {
					Documents map[string]int
					Lag       *int
				}
			}
		}
		must(b, json.Unmarshal(text, &health))
		if i := health.Services[1].Index; i.Documents["skill"] == skills && i.Lag != nil && *i.Lag == 0 {
			return
		}
	}
	b.Fatalf("the index has not all: %s", text)
}

// elasticServer returns the address of the server, and the query string of an index URL
// with a unique prefix, whose indices are deleted at the end.
func elasticServer(b *testing.B) (at, prefix string) {
	b.Helper()
	at = strings.TrimRight(os.Getenv("CAIRN_TEST_ELASTICSEARCH"), "/")
	if at == "" {
		b.Skip("CAIRN_TEST_ELASTICSEARCH names no Elasticsearch")
	}
	name := "cairn-bench-" + strings.ToLower(rand.Text()[:10])
	b.Cleanup(func() {
		res, err := http.Get(at + "/_cat/indices/" + name + "-*?h=index")
		must(b, err)
		list, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		must(b, err)
		gone, err := http.NewRequest(http.MethodDelete, at+"/"+strings.Join(strings.Fields(string(list)), ","), nil)
		must(b, err)
		res, err = http.DefaultClient.Do(gone)
		must(b, err)
		_ = res.Body.Close()
	})
	return at, "?prefix=" + name
}
