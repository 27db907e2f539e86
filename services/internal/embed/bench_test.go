package embed_test

import (
	"fmt"
	"testing"

	"cairn/services/internal/embed"
	"cairn/services/internal/model/ollamatest"
)

// BenchmarkCached measures cached texts: a query in memory, and documents in the
// bucket, in calls of 64.
func BenchmarkCached(b *testing.B) {
	info := minilm
	info.Dimensions = 384
	s, js := ollamatest.New(b), stream(b)
	s.SetModels(info)
	e := warmed(b, s, openCache(b, js))
	texts := make([]string, 64)
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d", i)
	}
	for _, row := range []struct {
		name    string
		purpose embed.Purpose
		texts   []string
	}{{"query", embed.Query, texts[:1]}, {"document", embed.Document, texts[:1]},
		{"64 documents", embed.Document, texts}} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Embed(b.Context(), row.purpose, row.texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
