package index

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cairn/services/internal/embed"
)

func TestFuse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		parts []part
		want  []Hit
	}{
		{"nothing found", []part{{}}, nil},
		{
			"both sides count, relative to the best of each",
			[]part{{text: list("a", 10.0, "b", 5.0), vector: list("a", 0.8, "c", 0.2)}},
			[]Hit{{"a", 1, 1, 1}, {"b", textShare / 2, 2, 0}, {"c", (1 - textShare) / 4, 0, 2}},
		},
		{
			"vectors without IDF weights count less",
			[]part{{text: list("a", 10.0, "b", 5.0), vector: list("a", 0.8, "c", 0.2), plain: true}},
			[]Hit{{"a", 1, 1, 1}, {"b", plainTextShare / 2, 2, 0}, {"c", (1 - plainTextShare) / 4, 0, 2}},
		},
		{
			"disjoint sides contribute their best documents",
			[]part{{text: list("a", 10.0), vector: list("b", 0.8)}},
			[]Hit{{"b", 1, 0, 1}, {"a", textShare / (1 - textShare), 1, 0}},
		},
		{
			"n-grams have half of the share of words beside static vectors",
			[]part{{
				text: list("a", 10.0, "b", 5.0), vector: list("a", 0.8, "c", 0.2), grams: list("a", 0.4, "d", 0.1), static: true,
			}},
			[]Hit{
				{"a", 1, 1, 1}, {"c", (1 - staticTextShare) / 4, 0, 2}, {"b", staticTextShare / 4, 2, 0},
				{"d", staticTextShare / 8, 0, 0},
			},
		},
		{
			"without vectors the words decide",
			[]part{{text: list("a", 4.0, "b", 1.0)}},
			[]Hit{{"a", 1, 1, 0}, {"b", 0.25, 2, 0}},
		},
		{
			"the best document of each sentence precedes others",
			[]part{
				{text: list("a", 10.0, "c", 8.0, "b", 7.0)},
				{text: list("a", 10.0, "c", 8.0)},
				{text: list("b", 7.0)},
			},
			[]Hit{{"a", 1, 1, 0}, {"b", wholeShare*0.7 + (1-wholeShare)*math.Pow(0.7, relativePower), 1, 0}, {"c", 0.8, 2, 0}},
		},
		{
			"a sentence with poor matches has less weight",
			[]part{
				{text: list("a", 10.0, "c", 8.0, "b", 1.0)},
				{text: list("a", 10.0, "c", 8.0)},
				{text: list("b", 1.0)},
			},
			[]Hit{{"a", 1, 1, 0}, {"c", 0.8, 2, 0}, {"b", wholeShare*0.1 + (1-wholeShare)*math.Pow(0.1, relativePower), 1, 0}},
		},
		{
			"a sentence without matches",
			[]part{{text: list("a", 10.0)}, {}, {text: list("a", 10.0)}},
			[]Hit{{"a", 1, 1, 0}},
		},
	} {
		got := fuse(row.parts)
		if diff := cmp.Diff(row.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestFuseFullList(t *testing.T) {
	t.Parallel()
	var full []match
	for i := range depth {
		full = append(full, match{fmt.Sprintf("doc%03d", i), 200 - float64(i)})
	}
	got := fuse([]part{{text: full}})
	if len(got) != depth-1 {
		t.Errorf("got %d hits, want all but the last, which scores like absent ones", len(got))
	}
	if want := 1 - 50.0/99; math.Abs(got[50].Score-want) > 1e-9 {
		t.Errorf("the 51st scores %g, want %g", got[50].Score, want)
	}
}

func TestRelevant(t *testing.T) {
	t.Parallel()
	words := part{text: list("a", 9.0), coverage: 0.25}
	near := part{text: list("a", 9.0), vector: list("a", 0.36), coverage: 0.25}
	for _, row := range []struct {
		name  string
		parts []part
		space embed.Space
		want  float64 // the best score; 0: nothing is relevant
	}{
		{"the confidence of a model is its cosine", []part{near}, embed.Space{Name: "m", Floor: 0.3}, 0.36},
		{"a model below its floor", []part{near}, embed.Space{Name: "m", Floor: 0.4}, 0},
		{"a model without near vectors", []part{words}, embed.Space{Name: "m"}, 0},
		{"a lexical space also compares words", []part{near}, embed.Space{Name: "l", Lexical: true}, 0.3},
		{"a lexical space below its floor", []part{near}, embed.Space{Name: "l", Lexical: true, Floor: 0.4}, 0},
		{"no word in common", []part{{vector: list("a", 0.9)}}, embed.Space{Name: "l", Lexical: true}, 0},
		{"no vectors: the share of the words", []part{words}, embed.Space{}, 0.25},
		{"the confidence is that of the best part", []part{words, {text: list("a", 2.0), coverage: 0.5}}, embed.Space{}, 0.5},
		{"nothing found", []part{{}}, embed.Space{}, 0},
		{"an empty query", nil, embed.Space{}, 0},
	} {
		got := 0.0
		if hits := relevant(question{space: row.space}, results{parts: row.parts}, 5); len(hits) > 0 {
			got = hits[0].Score
		}
		if diff := cmp.Diff(row.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// list returns matches from alternating ids and scores.
func list(pairs ...any) (matches []match) {
	for i := 0; i < len(pairs); i += 2 {
		matches = append(matches, match{pairs[i].(string), pairs[i+1].(float64)})
	}
	return matches
}
