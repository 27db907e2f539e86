package index

import (
	"context"
	"errors"
	"fmt"

	"cairn/services/internal/embed"
)

// Method selects whether a search compares words, vectors or both.
type Method string

// The methods.
const (
	Hybrid Method = "hybrid" // words and vectors; the default
	Text   Method = "text"   // words only, nothing is embedded
	Vector Method = "vector" // vectors only; an error without them
)

// ErrNoVectors is returned by a search by Vector while the embedder is unavailable
// or the index lacks the model's vectors.
var ErrNoVectors = errors.New("vectors unavailable")

// maxID is the length of the longest id that a query can name, in bytes: 256 characters. Elasticsearch rejects terms
// that are much longer.
const maxID = 256 * 4

// question is a query, split into parts and embedded.
type question struct {
	id       string      // of the document that the query names, if there is one
	texts    []string    // to compare by words; empty: words are not compared
	vectors  [][]float32 // nil: not compared by vector
	space    embed.Space // of the vectors; see relevant
	degraded string
}

// newQuestion embeds the texts that the method of q needs.
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
		alone := question{id: words.id, texts: make([]string, len(vectors)), vectors: vectors, space: e.Space()}
		alone.space.Lexical = false // words are not compared
		return alone, nil
	}
	return question{words.id, words.texts, vectors, e.Space(), ""}, nil
}

// wordsOf returns the question for a text-only search.
func wordsOf(q Query) question {
	texts, id := parts(q.Text), trimPunctuation(q.Text)
	if len(id) > maxID {
		id = ""
	}
	return question{id: id, texts: texts, vectors: make([][]float32, len(texts))}
}
