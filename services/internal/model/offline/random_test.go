package offline_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// TestRandomQuestions answers random sequences of words, and questions of the sets in which up to three words are replaced or added. The
// words are those of all questions and of the lexicon, contractions, operators and symbols.
func TestRandomQuestions(t *testing.T) {
	t.Parallel()
	lexicon, err := os.ReadFile("lexicon.txt")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields("'s n't = < > % -- i.e. May 1 -5 16GB ' ’s é ( ) a A no-show ½ 1,000 between or and than not \x00 日本")
	words = append(words, regexp.MustCompile(`[a-z]+`).FindAllString(string(lexicon), -1)...)
	questions := map[string][]string{} // by estate
	for _, set := range []string{"dev", "fresh", "domains", "unseen", "heldout"} {
		for _, q := range readSet(t, "testdata/"+set+".jsonl") {
			words = append(words, strings.Fields(q.Question)...)
			questions[q.Estate] = append(questions[q.Estate], q.Question)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func() string { return words[rnd.IntN(len(words))] }
	estates := map[string]*estate.Estate{}
	for _, name := range []string{"zoo", "courier", "hotel", "campus", "port"} {
		estates[name] = synthetic(t, "testdata/"+name+".json")
	}
	odd := fmt.Sprintf(`{"":[{"":1,"_":"a","a.%%":2,"été":true}],"%s":[{"name":"a","price":{"_":3},"discount":0}]}`, strings.Repeat("a_b", 40))
	if estates["odd"], err = estate.Parse([]byte(odd)); err != nil {
		t.Fatal(err)
	}
	questions["odd"] = []string{"What is the total price of the items with no discount?", "Who has the most été?", "How many _ per name?"}
	for _, name := range slices.Sorted(maps.Keys(estates)) {
		e := estates[name]
		for range 250 {
			var q []string
			for range 1 + rnd.IntN(14) {
				q = append(q, word())
			}
			changed := strings.Fields(questions[name][rnd.IntN(len(questions[name]))])
			for range 1 + rnd.IntN(3) {
				at := rnd.IntN(len(changed))
				changed = slices.Replace(changed, at, min(len(changed), at+rnd.IntN(2)), word())
			}
			for _, question := range []string{strings.Join(q, strings.Repeat(" ", min(1, rnd.IntN(10)))), strings.Join(changed, " ")} {
				if text, _ := ask(t, e, question); text == "" {
					t.Errorf("no answer to %q", question)
				}
			}
		}
	}
}
