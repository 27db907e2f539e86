package offline_test

import (
	"context"
	"os"
	"testing"
	"time"

	"cairn/services/internal/estate"
	"cairn/services/internal/model"
	"cairn/services/internal/model/offline"
)

// BenchmarkFirstPart measures how long the first part takes on the largest
// estate, read for the first time ("cold") and again ("warm").
func BenchmarkFirstPart(b *testing.B) {
	dir := os.Getenv("CAIRN_EVAL")
	if dir == "" {
		b.Skip("CAIRN_EVAL names no folder with evaluation data")
	}
	text := gunzip(b, dir+"/estates/limit.json.gz")
	for name, question := range map[string]string{
		"array named":  "How many recommended Azure regions are in Europe?",
		"value named":  "How many of the Intel ones are NUMA?",
		"nothing said": "How much does an m7i.large cost per hour?",
	} {
		b.Run(name+" cold", func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				e, err := estate.Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				firstPart(b, e, question)
			}
		})
		b.Run(name+" warm", func(b *testing.B) {
			e, err := estate.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			firstPart(b, e, question)
			b.ResetTimer()
			for range b.N {
				firstPart(b, e, question)
			}
		})
	}
}

func firstPart(tb testing.TB, e *estate.Estate, question string) time.Duration {
	tb.Helper()
	begin := time.Now()
	c := model.Conversation{Estate: e, Messages: []model.Message{{Role: model.User, Text: question}}}
	for _, err := range offline.New().Next(context.Background(), c) {
		if err != nil {
			tb.Fatal(err)
		}
		break
	}
	return time.Since(begin)
}
