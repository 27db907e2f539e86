package index_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"cairn/services/internal/embed"
)

// TestRealFloor measures the trade-off of the relevance floor of each embedder on the public
// data sets in the directory CAIRN_EVAL: the share of answerable queries and of off-topic
// texts that find nothing. The bounds hold for the default floor.
func TestRealFloor(t *testing.T) {
	t.Parallel()
	for _, model := range []struct {
		embed          string
		floors         []float64 // the default first
		lost, rejected float64   // of the smaller set, at the default floor: upper and lower bound
	}{
		{"static:", []float64{0.2, 0.15, 0.25, 0.3, 0.35, 0.4}, 0.02, 0.38},
		{"lexical:", []float64{0.12, 0.08, 0.15, 0.18, 0.22, 0.26}, 0.02, 0.30},
		{miniLM, []float64{0.2, 0.15, 0.25, 0.3, 0.35, 0.4}, 0.02, 0.30},
	} {
		for _, set := range []struct{ name, directory string }{{"ToolE", "retrieval/toole"}, {"Seal-Tools", "retrieval"}} {
			t.Run(model.embed+" "+set.name, func(t *testing.T) {
				t.Parallel()
				directory := evaluation(t, set.directory)
				queries := read[judged](t, filepath.Join(directory, "queries-dev.jsonl"))
				e := &adjustable{Embedder: embedder(t, model.embed), vectors: map[string][]float32{}}
				if got := e.Embedder.Space().Floor; got != model.floors[0] {
					t.Errorf("default floor: got %v, want %v", got, model.floors[0])
				}
				ix := filled(t, e, read[record](t, filepath.Join(directory, "corpus.jsonl")))
				for i, floor := range model.floors {
					e.floor = floor
					var lost, rejected, recall float64
					for _, q := range queries {
						result := search(t, ix, q.Query, 5)
						recall += q.recall(result, 5) / float64(len(queries))
						if len(result) == 0 {
							lost += 1 / float64(len(queries))
						}
					}
					for _, text := range offTopic() {
						if len(search(t, ix, text, 5)) == 0 {
							rejected += 1 / float64(len(offTopic()))
						}
					}
					t.Logf("floor %.2f: %5.1f %% of queries lost, recall@5 %.3f, %3.0f %% of off-topic texts rejected",
						floor, 100*lost, recall, 100*rejected)
					if i == 0 && set.name == "ToolE" && (lost > model.lost || rejected < model.rejected) {
						t.Errorf("at the default floor, want at most %.2f of the queries lost, and %.2f of the off-topic texts rejected",
							model.lost, model.rejected)
					}
				}
			})
		}
	}
}

// adjustable is an embedder with a variable relevance floor, which embeds each query once. It is
// not safe for concurrent use.
type adjustable struct {
	embed.Embedder
	floor   float64
	vectors map[string][]float32
}

func (a *adjustable) Space() embed.Space {
	space := a.Embedder.Space()
	space.Floor = a.floor
	return space
}

func (a *adjustable) Embed(ctx context.Context, purpose embed.Purpose, texts []string) ([][]float32, error) {
	if purpose == embed.Document {
		return a.Embedder.Embed(ctx, purpose, texts)
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if a.vectors[text] == nil {
			embedded, err := a.Embedder.Embed(ctx, purpose, texts[i:i+1])
			if err != nil {
				return nil, err
			}
			a.vectors[text] = embedded[0]
		}
		vectors[i] = a.vectors[text]
	}
	return vectors, nil
}

// offTopic returns greetings, sayings, small talk and noise, which no skill answers.
func offTopic() []string {
	return strings.Split(strings.TrimSpace(`
Hello there
Good morning, how are you?
Thanks, that was very kind of you
Who are you?
What is your name?
See you tomorrow
Nice to meet you
I am feeling a bit sad today
Tell me a joke about chickens
Sing a lullaby for my baby
What is the meaning of life?
A rolling stone gathers no moss
The early bird catches the worm
Actions speak louder than words
Every cloud has a silver lining
Don't count your chickens before they hatch
When in Rome, do as the Romans do
A penny saved is a penny earned
My grandmother used to knit scarves
The cat sat on the mat
He whistled while he walked home
The old oak fell in last night's storm
She painted the fence blue
We danced until the sun came up
My shoes are too tight
The soup was cold and salty
Do you believe in ghosts?
Is there life on Mars?
Why is the sky blue?
How tall is a giraffe?
Who was the first king of Norway?
Which came first, the chicken or the egg?
How do magnets work?
Why do cats purr?
Do fish sleep?
What rhymes with orange?
Let's play hide and seek
Congratulations on your wedding!
Happy birthday to you
I love you
I miss my dog
My neighbour snores
It tastes like cinnamon
The moon is made of cheese
Colorless green ideas sleep furiously
The quick brown fox jumps over the lazy dog
Lorem ipsum dolor sit amet, consectetur adipiscing elit
To be, or not to be, that is the question
Once upon a time there was a princess
It was a dark and stormy night
asdf qwer zxcv
blah blah blah
hmm, well, okay
ha ha ha
xyzzy plugh
foo bar baz
12345
!!! ???
lalala
Abracadabra, simsalabim
`), "\n")
}
