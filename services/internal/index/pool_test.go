package index

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cairn/services/internal/embed"
)

// TestChangedIndex checks that an index after many changes answers like one that
// was filled with the final documents.
func TestChangedIndex(t *testing.T) {
	t.Parallel()
	e, err := embed.Open(t.Context(), "lexical:")
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
	var rest []Change
	for _, c := range last {
		rest = append(rest, c)
	}
	fresh := newEmbedded(e)
	if err := fresh.Apply(t.Context(), rest); err != nil {
		t.Fatal(err)
	}
	was, is := fresh.pools[place{kind: "skill"}], changed.pools[place{kind: "skill"}]
	if len(is.ids) > len(was.ids)*5/4 {
		t.Errorf("%d rows for %d documents: the dead are not swept", len(is.ids), len(was.ids))
	}
	for range 50 {
		words := embed.Words(sentence(random, 4))
		want, _ := was.searchText(words)
		got, _ := is.searchText(words)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(match{}), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%q, by its words (-fresh +changed):\n%s", words, diff)
		}
	}
	for _, p := range []*pool{was, is} {
		p.sweep()
		p.settle()
	}
	for range 50 {
		query := Query{Kind: "skill", Text: sentence(random, 4), TopK: 10}
		want, _ := fresh.Search(t.Context(), query)
		got, _ := changed.Search(t.Context(), query)
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" || len(got.Hits) == 0 {
			t.Errorf("%q, after a sweep (-fresh +changed):\n%s", query.Text, diff)
		}
	}
}

func randomChange(random *rand.Rand, revision uint64) Change {
	return Change{
		Document: Document{
			Kind: "skill", ID: fmt.Sprint("id", random.IntN(200)),
			Title: sentence(random, 3), Body: sentence(random, 12),
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
