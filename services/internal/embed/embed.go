// Package embed turns texts into vectors, near to each other when the texts
// mean the same. Which model makes them is decided by a URL.
package embed

import (
	"context"
	"fmt"
)

// Purpose is what a text is embedded for: some models want to know.
type Purpose int

// A Document is what is looked for, a Query is what looks for it.
const (
	Document Purpose = iota
	Query
)

// Embedder makes vectors. It may be used concurrently.
type Embedder interface {
	// Embed returns one vector of each text, in the order of the texts. On an
	// error there are none. A text without content has a vector of zeros.
	Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error)
	// Space describes the vectors that Embed makes.
	Space() Space
	// Check reports why Embed would fail now, or nil.
	Check(ctx context.Context) error
}

// Space tells what vectors are worth. Only vectors of equal spaces can be
// compared.
type Space struct {
	Name       string // the model that makes the vectors
	Dimensions int    // 0 while a server that was never reached has not told
	// Lexical vectors count words and parts of words: dimensions are to be
	// weighted by their rarity, and a cosine says little about relevance.
	Lexical bool
	// Floor is the best cosine that a query must reach to have an answer.
	Floor float64
}

// Open returns the embedder that url names: "lexical:", which needs no server.
func Open(_ context.Context, url string) (Embedder, error) {
	if url != "lexical:" {
		return nil, fmt.Errorf("embedder %q: want lexical:", url)
	}
	return lexical{}, nil
}
