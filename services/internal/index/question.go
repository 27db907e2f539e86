package index

import (
	"context"
	"errors"
	"fmt"

	"cairn/services/internal/embed"
)

// Method is what a search compares.
type Method string

const (
	Hybrid Method = "hybrid" // words and vectors; an empty method is the same
	Text   Method = "text"   // words alone: nothing is embedded
	Vector Method = "vector" // vectors alone: without them there is an error
)

// ErrNoVectors says that a search which is to go by vectors alone cannot, now:
// the embedder is away, or the index is still being filled with its vectors.
var ErrNoVectors = errors.New("vectors unavailable")

// question is what is looked for, by the parts of a query.
type question struct {
	texts    []string    // whose words are compared; an empty one has none
	vectors  [][]float32 // nil where there is none to compare
	space    embed.Space // by which what is found is judged; see relevant
	degraded string
}

// newQuestion embeds what the method of q needs.
func newQuestion(ctx context.Context, e embed.Embedder, q Query) (question, error) {
	words := wordsOf(q)
	if q.By == Text {
		return words, ctx.Err()
	}
	vectors, err := embedTexts(ctx, e, embed.Query, words.texts)
	switch {
	case ctx.Err() != nil:
		return question{}, ctx.Err()
	case err != nil && q.By == Vector:
		return question{}, fmt.Errorf("%w: %w", ErrNoVectors, err)
	case err != nil:
		words.degraded = TextOnly
		return words, nil
	case q.By == Vector:
		alone := question{texts: make([]string, len(vectors)), vectors: vectors, space: e.Space()}
		alone.space.Lexical = false // there are no words beside the cosine to ask
		return alone, nil
	}
	return question{texts: words.texts, vectors: vectors, space: e.Space()}, nil
}

// wordsOf is the question for the words of q alone.
func wordsOf(q Query) question {
	texts := parts(q.Text)
	return question{texts: texts, vectors: make([][]float32, len(texts))}
}
