package index

import (
	"context"
	"strings"

	"cairn/services/internal/embed"
)

// Sides is what a search finds by both sides together and by each alone.
type Sides struct{ Both, Words, Vectors []string }

// FindSides searches global documents in an index of Elasticsearch or in an
// embedded one.
func FindSides(ctx context.Context, ix Index, q Query) (Sides, error) {
	found, space, err := findParts(ctx, ix, q)
	if err != nil {
		return Sides{}, err
	}
	words, vectors := make([]part, len(found)), make([]part, len(found))
	for i, p := range found {
		words[i], vectors[i] = part{text: p.text}, part{vector: p.vector}
	}
	return Sides{
		ids(relevant(found, space, q.TopK)),
		ids(fuse(words)[:min(q.TopK, len(fuse(words)))]),
		ids(fuse(vectors)[:min(q.TopK, len(fuse(vectors)))]),
	}, nil
}

func findParts(ctx context.Context, ix Index, q Query) ([]part, embed.Space, error) {
	asked := parts(q.Text)
	if ix, ok := ix.(*embedded); ok {
		vectors, err := embedTexts(ctx, ix.embedder, embed.Query, asked)
		return ix.pools[place{q.Kind, ""}].search(asked, vectors), ix.embedder.Space(), err
	}
	e := ix.(*elastic)
	vectors, err := embedTexts(ctx, e.embedder, embed.Query, asked)
	if err != nil {
		return nil, embed.Space{}, err
	}
	r := &round{query: q, asked: asked, vectors: vectors, space: e.embedder.Space()}
	r.index = e.planFor(r.space).index(q.Kind)
	err = e.ask(ctx, r)
	return r.found[0], r.space, err
}

func ids(hits []Hit) (all []string) {
	for _, h := range hits {
		all = append(all, h.ID)
	}
	return all
}

// PlainWords is text as it is sent to Elasticsearch.
func PlainWords(text string) string { return strings.Join(plainWords(text), " ") }
