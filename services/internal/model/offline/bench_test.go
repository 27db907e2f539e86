package offline_test

import (
	"os"
	"testing"

	"cairn/services/internal/estate"
)

// BenchmarkAnswer measures an answer about the largest estate, including tool calls, on
// the first question ("cold") and on later ones ("warm").
func BenchmarkAnswer(b *testing.B) {
	dir := os.Getenv("CAIRN_EVAL")
	if dir == "" {
		b.Skip("CAIRN_EVAL does not name the directory of the evaluation data")
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
				ask(b, e, question)
			}
		})
		b.Run(name+" warm", func(b *testing.B) {
			e, err := estate.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			ask(b, e, question)
			for b.Loop() {
				ask(b, e, question)
			}
		})
	}
}
