package index_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFloor measures the trade-off of the relevance floor on the public data sets in
// the directory CAIRN_EVAL: the share of answerable queries and of off-topic texts that
// find nothing.
func TestFloor(t *testing.T) {
	t.Parallel()
	for _, set := range []struct{ name, directory string }{{"Seal-Tools", "retrieval"}, {"ToolE", "retrieval/toole"}} {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			directory := evaluation(t, set.directory)
			records := read[record](t, filepath.Join(directory, "corpus.jsonl"))
			queries := read[judged](t, filepath.Join(directory, "queries-dev.jsonl"))
			for _, floor := range []string{"0.15", "0.2", "0.25", "0.3", "0.35", "0.4"} {
				ix := filled(t, embedder(t, "static:?floor="+floor), records)
				var lost, rejected, recall float64
				for _, q := range queries {
					found := search(t, ix, q.Query, 5)
					recall += q.recall(found, 5) / float64(len(queries))
					if len(found) == 0 {
						lost += 1 / float64(len(queries))
					}
				}
				for _, text := range offTopic() {
					if len(search(t, ix, text, 5)) == 0 {
						rejected += 1 / float64(len(offTopic()))
					}
				}
				t.Logf("floor %s: %5.1f %% of queries lost, recall@5 %.3f, %3.0f %% of off-topic texts rejected",
					floor, 100*lost, recall, 100*rejected)
			}
		})
	}
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
