package index_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkSearch searches 4,076 skills with one-sentence queries.
func BenchmarkSearch(b *testing.B) {
	folder := evaluation(b, "retrieval")
	ix := filled(b, read[record](b, filepath.Join(folder, "corpus.jsonl")))
	var sentences []string
	for _, q := range read[judged](b, filepath.Join(folder, "queries-dev.jsonl")) {
		sentence, _, _ := strings.Cut(q.Query, ". ")
		sentences = append(sentences, sentence)
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		search(b, ix, sentences[i%len(sentences)], 5)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkApply fills an index with 4,076 skills.
func BenchmarkApply(b *testing.B) {
	records := read[record](b, filepath.Join(evaluation(b, "retrieval"), "corpus.jsonl"))
	for _, size := range []int{1, 50} {
		b.Run(fmt.Sprintf("batches of %d", size), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				ix := open(b, lexical(b))
				for batch := range slices.Chunk(records, size) {
					apply(b, ix, batch)
				}
				b.ReportMetric(float64(heap()-before)/float64(len(records)), "bytes/document")
				runtime.KeepAlive(ix)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
