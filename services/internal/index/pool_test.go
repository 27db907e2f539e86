package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/embed"
)

// TestChangedIndex checks that an index after many changes returns the same scores, to
// the last bit, as one that was filled with the final documents in another order.
func TestChangedIndex(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"lexical:", "static:?floor=0"} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			e, err := embed.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(3, 4))
			changed, last := newEmbedded(e), map[string]Change{}
			for revision := range uint64(3000) {
				c := randomChange(random, revision)
				last[c.ID] = c
				if err := changed.Apply(t.Context(), []Change{c}); err != nil {
					t.Fatal(err)
				}
			}
			fresh := newEmbedded(e)
			if err := fresh.Apply(t.Context(), slices.Collect(maps.Values(last))); err != nil {
				t.Fatal(err)
			}
			freshPool, changedPool := fresh.pools[poolKey{kind: "skill"}], changed.pools[poolKey{kind: "skill"}]
			if len(changedPool.ids) > len(freshPool.ids)*5/4 {
				t.Errorf("%d rows for %d documents: dead rows were not swept", len(changedPool.ids), len(freshPool.ids))
			}
			for i := range 50 {
				query := Query{Kind: "skill", Text: sentence(random, 4), TopK: 10}
				if i%2 == 0 {
					query.Any.Labels = [][]string{{"team=1", "team=2"}}
				}
				want, _ := fresh.Search(t.Context(), query)
				got, _ := changed.Search(t.Context(), query)
				if diff := cmp.Diff(want, got); diff != "" || len(got.Hits) == 0 {
					t.Errorf("%q (-fresh +changed):\n%s", query.Text, diff)
				}
			}
		})
	}
}

func randomChange(random *rand.Rand, revision uint64) Change {
	return Change{
		Document: Document{
			Kind: "skill", ID: fmt.Sprint("id", random.IntN(200)),
			Title: sentence(random, 3), Body: sentence(random, 12),
			Labels: []string{fmt.Sprint("team=", random.IntN(3))},
		},
		Revision: revision,
		Removed:  random.IntN(4) == 0,
	}
}

func sentence(random *rand.Rand, words int) (text string) {
	for range words {
		text += fmt.Sprintf("w%dx ", random.IntN(150))
	}
	return text
}
