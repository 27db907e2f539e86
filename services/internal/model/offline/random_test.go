package offline_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomQuestions answers random sequences of the words of all question sets, and of contractions, operators and symbols.
func TestRandomQuestions(t *testing.T) {
	t.Parallel()
	words := strings.Fields("'s n't = < > % -- i.e. May 1 -5 16GB ' ’s é ( ) a A no-show ½ 1,000 between or and than not \x00 日本")
	for _, set := range []string{"dev", "fresh", "domains", "unseen", "heldout"} {
		for _, q := range readSet(t, "testdata/"+set+".jsonl") {
			words = append(words, strings.Fields(q.Question)...)
		}
	}
	estates := []string{"zoo", "courier", "hotel", "clinic", "port"}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, name := range estates {
		e := synthetic(t, "testdata/"+name+".json")
		for range 500 {
			var q []string
			for range 1 + rnd.IntN(14) {
				q = append(q, words[rnd.IntN(len(words))])
			}
			question := strings.Join(q, strings.Repeat(" ", min(1, rnd.IntN(10))))
			if text, _ := ask(t, e, question); text == "" {
				t.Errorf("no answer to %q", question)
			}
		}
	}
}
