package index_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSearch searches 4,076 skills with one-sentence queries.
func BenchmarkSearch(b *testing.B) {
	directory := evaluation(b, "retrieval")
	ix := filled(b, embedder(b, "static:"), read[record](b, filepath.Join(directory, "corpus.jsonl")))
	var sentences []string
	for _, q := range read[judged](b, filepath.Join(directory, "queries-dev.jsonl")) {
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

// largeCorpus is the number of skills of BenchmarkLargeSearch.
const largeCorpus = 30_000

// BenchmarkLargeSearch searches the skills of the corpus, repeated, by name and purpose.
// CPU time, unlike latency, is comparable on a busy machine.
func BenchmarkLargeSearch(b *testing.B) {
	corpus := read[record](b, filepath.Join(evaluation(b, "retrieval"), "corpus.jsonl"))
	var skills []record
	for i := range largeCorpus {
		r := corpus[i%len(corpus)]
		r.ID = fmt.Sprintf("%s_%d", r.ID, i)
		skills = append(skills, r)
	}
	for _, url := range []string{"lexical:", "static:"} {
		b.Run(url, func(b *testing.B) {
			before := heap()
			ix := filled(b, embedder(b, url), skills)
			size := heap() - before
			used := cpuTime(b)
			for i := 0; b.Loop(); i++ {
				r := skills[7*i%largeCorpus]
				search(b, ix, r.Name+" "+r.Purpose, 5)
			}
			b.ReportMetric(float64((cpuTime(b)-used).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(size)/largeCorpus, "bytes/document")
		})
	}
}

// cpuTime returns the CPU time of the process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkApply fills an index with 4,076 skills.
func BenchmarkApply(b *testing.B) {
	records := read[record](b, filepath.Join(evaluation(b, "retrieval"), "corpus.jsonl"))
	for _, size := range []int{1, 50} {
		b.Run(fmt.Sprintf("batches of %d", size), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				ix := open(b, embedder(b, "static:"))
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
