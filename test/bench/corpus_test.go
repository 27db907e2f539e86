package bench

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"cairn/test/cairntest"
)

func registerAll(b *testing.B, address, corpus string) float64 {
	b.Helper()
	began := time.Now()
	if out, err := exec.Command(cairntest.Program(b), "apply", "--url", "http://"+address,
		corpus).CombinedOutput(); err != nil {
		b.Fatalf("cairn apply: %v\n%s", err, out)
	}
	return time.Since(began).Seconds()
}

// BenchmarkSearch measures the latency of the searches of the dev split over the whole
// corpus.
func BenchmarkSearch(b *testing.B) {
	cairn := up(b)
	registerAll(b, cairn.address, evaluation(b, "retrieval", "corpus.jsonl"))
	queries := searches(b, evaluation(b, "retrieval", "queries-dev.jsonl"))
	s := side{path: "/resolve/skill", status: http.StatusOK, body: func(n int) string { return queries[n%len(queries)] }}
	for _, c := range []struct {
		name        string
		connections int
	}{{"connections=1", 1}, {"connections=32", 32}} {
		b.Run(c.name, func(b *testing.B) {
			searching := newSide(b, cairn, c.connections, s)
			searching.round(b, len(queries))
			r := searching.round(b, 4*len(queries))
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(p50(r), "p50-µs")
			b.ReportMetric(p99(r), "p99-µs")
			b.ReportMetric(r.rate(), "req/s")
		})
	}
}

// searches returns the request bodies for the queries in the file.
func searches(b *testing.B, path string) (list []string) {
	b.Helper()
	for _, line := range linesOf(b, path) {
		var q struct {
			Query string `json:"query"`
		}
		must(b, json.Unmarshal(line, &q))
		body, err := json.Marshal(q)
		must(b, err)
		list = append(list, string(body))
	}
	return list
}

func linesOf(b *testing.B, path string) (list [][]byte) {
	b.Helper()
	text, err := os.ReadFile(path)
	must(b, err)
	for line := range bytes.Lines(text) {
		list = append(list, line)
	}
	return list
}
