package embed

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"marks before white space", "One. Two? Three! Four; five: six",
			[]string{"One.", "Two?", "Three!", "Four;", "five:", "six"}},
		{"line ends", "one\ntwo\r\n\n three ", []string{"one", "two", "three"}},
		{"no split within names and numbers", "v1.2 at 10:30, see net.vlan_lookup",
			[]string{"v1.2 at 10:30, see net.vlan_lookup"}},
		{"marks of other scripts", "一。二！三", []string{"一。", "二！", "三"}},
		{"a mark at the end", "One.", []string{"One."}},
		{"invalid encoding", "a\xff. b", []string{"a\xff.", "b"}},
		{"no content", " \n ", []string{""}},
	} {
		if diff := cmp.Diff(row.want, sentences(row.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// letters embeds a text as the vector of its first letter, of any length.
type letters struct{ Embedder }

func (letters) Space() Space { return Space{Name: "letters", Dimensions: 2} }

func (letters) Embed(_ context.Context, _ Purpose, texts []string) ([][]float32, error) {
	table := map[byte][]float32{'x': {5, 0}, 'y': {0, 0.5}, '0': {0, 0}}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{0, 0}
		if text != "" {
			vectors[i] = table[text[0]]
		}
	}
	return vectors, nil
}

func TestAveragingEmbedder(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		purpose Purpose
		want    [][]float32
	}{
		{"documents are the sum of their sentences' unit vectors", Document, [][]float32{{2, 1}, {5, 0}, {0, 0}, {1, 0}}},
		{"queries are whole", Query, [][]float32{{5, 0}, {5, 0}, {0, 0}, {0, 0}}},
	} {
		got, err := averagingEmbedder{letters{}}.Embed(t.Context(), row.purpose, []string{"x. y. x.", "x", "", "0. x."})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	if got, want := (averagingEmbedder{letters{}}).Space().Name, "letters+sentences-1"; got != want {
		t.Errorf("name of the space: got %q, want %q", got, want)
	}
}
