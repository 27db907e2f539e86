package index_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/index/indextest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEmbedded(t *testing.T) {
	t.Parallel()
	// With the default floor, static: finds documents of similar meaning that the suite calls
	// off-topic.
	for _, url := range []string{"static:?floor=0.35", "lexical:"} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			indextest.Run(t, func(t testing.TB) index.Index { return open(t, embedder(t, url)) })
		})
	}
}

func TestOpenRejectsUnknownURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "embedded", "embedded:dir", "ftp://host"} {
		if _, err := index.Open(url, nil, ""); err == nil || !strings.Contains(err.Error(), "embedded:") {
			t.Errorf("open %q: got %v, want an error that names the valid URLs", url, err)
		}
	}
}

func open(t testing.TB, e embed.Embedder) index.Index {
	t.Helper()
	return openURL(t, "embedded:", e)
}

func openURL(t testing.TB, url string, e embed.Embedder) index.Index {
	t.Helper()
	ix, err := index.Open(url, e, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ix.Close)
	return ix
}

// model is a fake model with two dimensions: drinks and networks.
type model struct{ away *bool }

var errUnavailable = errors.New("the model is unavailable")

func (m model) Space() embed.Space {
	return embed.Space{Name: "model", Dimensions: 3, Floor: 0.5}
}

func (m model) Check(context.Context) error {
	if *m.away {
		return errUnavailable
	}
	return nil
}

func (m model) Embed(ctx context.Context, _ embed.Purpose, texts []string) ([][]float32, error) {
	if err := errors.Join(ctx.Err(), m.Check(ctx)); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{0.1, 0.1, 0.1}
		for dim, words := range []string{"tea coffee espresso beverage", "vlan network switch lan", "pizza"} {
			for _, w := range strings.Fields(strings.ToLower(text)) {
				if strings.Contains(words, strings.Trim(w, ".")) {
					vectors[i][dim]++
				}
			}
		}
	}
	return vectors, nil
}

func TestModel(t *testing.T) {
	t.Parallel()
	testModel(t, open)
}

// testModel checks an initially empty index with a model.
func testModel(t *testing.T, open func(testing.TB, embed.Embedder) index.Index) {
	away := false
	ix := open(t, model{&away})
	changes := []index.Change{
		{Document: index.Document{Kind: "skill", ID: "kitchen.coffee", Title: "Coffee"}, Revision: 1},
		{Document: index.Document{Kind: "skill", ID: "network.vlan", Title: "VLAN"}, Revision: 2},
	}
	if err := ix.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, query, want, degraded string
		method                      index.Method
		away                        bool
		err                         error
	}{
		{"a model finds documents without common words", "beverage", "kitchen.coffee", "", index.Hybrid, false, nil},
		{"nothing is found below the model's floor", "pizza", "", "", index.Hybrid, false, nil},
		{"vectors alone find documents without common words", "beverage", "kitchen.coffee", "", index.Vector, false, nil},
		{"vectors alone find nothing below the floor", "pizza", "", "", index.Vector, false, nil},
		{"words alone do not use vectors", "beverage", "", "", index.Text, false, nil},
		{"without the model, words alone decide", "coffee", "kitchen.coffee", index.TextOnly, index.Hybrid, true, nil},
		{"without the model the result is text-only", "beverage", "", index.TextOnly, index.Hybrid, true, nil},
		{"words alone need no model", "coffee", "kitchen.coffee", "", index.Text, true, nil},
		{"vectors alone need the model", "coffee", "", "", index.Vector, true, index.ErrNoVectors},
	} {
		away = row.away
		got, err := ix.Search(t.Context(), index.Query{Kind: "skill", Text: row.query, TopK: 1, By: row.method})
		if !errors.Is(err, row.err) {
			t.Fatalf("%s: got %v, want %v", row.name, err, row.err)
		}
		id := ""
		if len(got.Hits) > 0 {
			id = got.Hits[0].ID
		}
		if id != row.want || got.Degraded != row.degraded {
			t.Errorf("%s: got %+v, want %q, degraded %q", row.name, got, row.want, row.degraded)
		}
	}
	changes[1].Revision = 3
	if err := ix.Apply(t.Context(), changes[1:]); !errors.Is(err, errUnavailable) {
		t.Errorf("apply without the model: got %v, want %v", err, errUnavailable)
	}
}

func TestModelComparesEachExample(t *testing.T) {
	t.Parallel()
	testExamples(t, open)
}

func testExamples(t *testing.T, open func(testing.TB, embed.Embedder) index.Index) {
	away := false
	ix := open(t, model{&away})
	c := index.Change{Revision: 1, Document: index.Document{
		Kind: "skill", ID: "network.vlan",
		Title: "VLAN", Body: "network switch network switch",
		Examples: []string{"lan", "tea"},
	}}
	if err := ix.Apply(t.Context(), []index.Change{c}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"switch": 1, "beverage": 1, "pizza": 0} {
		got, err := ix.Search(t.Context(), index.Query{Kind: "skill", Text: query, TopK: 5})
		if err != nil || len(got.Hits) != want {
			t.Errorf("%q: got %+v, %v, want %d hits", query, got, err, want)
		}
	}
}

// mute returns fewer vectors than texts.
type mute struct{ model }

func (mute) Embed(context.Context, embed.Purpose, []string) ([][]float32, error) { return nil, nil }

func TestVectorsAreCounted(t *testing.T) {
	t.Parallel()
	err := open(t, mute{}).Apply(t.Context(), []index.Change{{Document: index.Document{ID: "a.b"}, Revision: 1}})
	if err == nil || !strings.Contains(err.Error(), "0 vectors") {
		t.Errorf("apply with a missing vector: got %v, want an error with the numbers", err)
	}
}

// TestEmbeddedIndexesRejectedTextsByWords: a text that the embedder rejects does not stop the
// others.
func TestEmbeddedIndexesRejectedTextsByWords(t *testing.T) {
	t.Parallel()
	var away bool
	ix := open(t, picky{model{&away}})
	if err := ix.Apply(t.Context(), some(7)); err != nil {
		t.Fatal(err)
	}
	for method, want := range map[index.Method]int{index.Text: 7, index.Vector: 6} {
		got, err := ix.Search(t.Context(), index.Query{Kind: "skill", Text: "Document", TopK: 10, By: method})
		if err != nil || len(got.Hits) != want {
			t.Errorf("%v: got %d hits, %v, want %d", method, len(got.Hits), err, want)
		}
	}
}
