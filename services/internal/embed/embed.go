// Package embed turns texts into vectors, near to each other when the texts
// mean the same. Which model makes them is decided by a URL.
package embed

import (
	"context"
	"fmt"
	"strings"
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
	// Embed returns one vector of each text, in the order of the texts; they
	// are not to be modified. On an error there are none: it wraps
	// [ErrUnavailable], [ErrRefused] or ctx.Err() where one of them is the
	// reason. A text without content has a vector of zeros. A text that is too
	// long for the model is cut, and that is logged.
	Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error)
	// Space describes the vectors that Embed makes.
	Space() Space
	// Check reports why Embed would fail now, or nil.
	Check(ctx context.Context) error
}

// Space tells what vectors are worth. Only vectors of equal spaces can be
// compared. While a server that was never reached has not told which model it
// has, there is no name and there are no dimensions; once known, they stay.
type Space struct {
	Name       string // the model that makes the vectors, and how it is asked
	Dimensions int
	// Lexical vectors count words and parts of words: dimensions are to be
	// weighted by their rarity, and a cosine says little about relevance.
	Lexical bool
	// Floor is the best cosine that a query must reach to have an answer.
	Floor float64
}

// Open returns the embedder that url names:
//
//	lexical:                               needs no server
//	ollama://host[:11434]/name[:tag][?…]   a model of an Ollama server
//
// ollama+https speaks TLS; without a host it is 127.0.0.1. The settings are
//
//	floor=0.2            the best cosine that a query must reach, from 0 to 1
//	query_prefix=…       what is put before a query (default: as the model's family wants it)
//	document_prefix=…    what is put before a document
//	num_ctx=512          the model's window in tokens (default: the server's own)
//	dimensions=512       shorter vectors, of models that allow it
//	batch=16             texts a request, at most; a query waits until the batch before it is done
//	timeout=60s          how long a request for documents may take
//	query_timeout=2s     how long the vectors of a query may take
//	keep_alive=1h        how long the model stays loaded after a request; below zero is for ever
//
// A server is not contacted: one that is away is reported by Check, Warm and
// Embed. Idle connections are closed when ctx ends.
func Open(ctx context.Context, url string) (Embedder, error) {
	switch {
	case url == "lexical:":
		return lexical{}, nil
	case strings.HasPrefix(url, "ollama:"), strings.HasPrefix(url, "ollama+https:"):
		return openOllama(ctx, url)
	}
	return nil, fmt.Errorf("embedder %q: want lexical: or ollama://host:11434/model", url)
}

// served is an embedder whose model a server runs.
type served interface {
	warm(ctx context.Context) error
	watch(ctx context.Context)
}

// Warm loads the model of e, so that the first texts do not wait for it. It
// returns when the model has made a vector, or with the reason why it cannot,
// which wraps [ErrUnavailable] or ctx.Err(). Loading a large model may take
// minutes.
func Warm(ctx context.Context, e Embedder) error {
	if s, ok := e.(served); ok {
		return s.warm(ctx)
	}
	return nil
}

// Watch looks after the server of e until ctx ends. After failures it is Watch
// that tries whether the server is back, and waits while a model is loaded;
// meanwhile texts are refused at once. Without it they try by themselves.
func Watch(ctx context.Context, e Embedder) {
	if s, ok := e.(served); ok {
		s.watch(ctx)
		return
	}
	<-ctx.Done()
}
