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
	r, err := newRound(ctx, e, q)
	if err != nil {
		return nil, embed.Space{}, err
	}
	err = e.ask(ctx, r)
	return r.found[0], r.space, err
}

func newRound(ctx context.Context, e *elastic, q Query) (*round, error) {
	asked, err := newQuestion(ctx, e.embedder, q)
	return &round{query: q, question: asked, index: e.planFor(e.embedder.Space()).index(q.Kind)}, err
}

// SearchBody is what a search sends to the path of the server.
func SearchBody(ctx context.Context, ix Index, q Query) (path string, body []byte, err error) {
	e := ix.(*elastic)
	r, err := newRound(ctx, e, q)
	if err != nil {
		return "", nil, err
	}
	body, err = encodeLookups(r.lookups())
	return "/" + e.alias(q.Kind) + "/_msearch?filter_path=" + strings.Join(answered, ","), body, err
}

func ids(hits []Hit) (all []string) {
	for _, h := range hits {
		all = append(all, h.ID)
	}
	return all
}
