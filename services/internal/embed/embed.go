// Package embed turns texts into vectors whose cosine reflects similarity of
// meaning. A URL selects the model.
package embed

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Purpose is the use of a text: some models embed queries and documents differently.
type Purpose int

// The purposes.
const (
	Document Purpose = iota
	Query
)

// Embedder computes the vectors of texts. It may be used concurrently.
type Embedder interface {
	// Embed returns one vector per text, in order; callers must not modify them. An
	// error wraps [ErrUnavailable], [ErrRejected] or ctx.Err() where one of them is
	// the cause, and comes without vectors. A text without content has a zero
	// vector. A text longer than the model's window is truncated, which is logged.
	Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error)
	// Space describes the vectors of Embed.
	Space() Space
	// Check returns the error with which Embed would fail now, or nil.
	Check(ctx context.Context) error
}

// Space describes a vector space. Only vectors of equal spaces are comparable. Name
// and Dimensions are zero until the server has reported its model, then constant.
type Space struct {
	Name       string // the model and its settings
	Dimensions int
	// Lexical vectors count words and n-grams: weight dimensions by IDF; a cosine
	// alone is a weak measure of relevance.
	Lexical bool
	// Static vectors are sums of token vectors: compare character n-grams, see
	// [Hashed], in addition to them, for names that no token represents.
	Static bool
	// Floor is the lowest cosine of a relevant best match.
	Floor float64
}

// Open returns the embedder at url:
//
//	static:                                a table of token vectors, part of the program
//	static:DIRECTORY                       the table of a directory, see package static
//	lexical:                               hashed words and n-grams
//	ollama://host[:11434]/name[:tag][?…]   a model of an Ollama server
//
// ollama+https uses TLS; without a host it is 127.0.0.1. The settings of static: and
// ollama: are
//
//	floor=0.2            lowest cosine of a relevant best match, from 0 to 1
//
// and the further settings of ollama: are
//
//	query_prefix=…       prefix of queries (default: the model family's)
//	document_prefix=…    prefix of documents
//	num_ctx=512          context window in tokens (default: the server's)
//	dimensions=512       length of the vectors, if the model supports others
//	batch=16             maximum batch size; a query waits for the batch before it
//	timeout=60s          timeout of a request for documents
//	query_timeout=2s     timeout of a query
//	keep_alive=1h        how long the model stays loaded after a request; negative: forever
//
// Except for lexical:, the vector of a document is the mean of its sentences' unit
// vectors. The server is not contacted: Check, Warm and Embed report one that is unavailable.
// Idle connections are closed when ctx ends.
func Open(ctx context.Context, url string) (Embedder, error) {
	scheme, _, _ := strings.Cut(url, ":")
	open, err := schemes[scheme], errScheme
	var e Embedder
	if open != nil {
		e, err = open(ctx, url)
	}
	if err != nil {
		return nil, fmt.Errorf("embedder %q: %w", url, err)
	}
	return e, nil
}

var schemes = map[string]func(ctx context.Context, url string) (Embedder, error){
	"lexical": openLexical, "static": openStatic, "ollama": openOllama, "ollama+https": openOllama,
}

var errScheme = errors.New("expected static:, lexical: or ollama://host:11434/model")

// modelOf returns the model of e that runs on a server, or nil.
func modelOf(e Embedder) *model {
	switch e := e.(type) {
	case *model:
		return e
	case averagingEmbedder:
		return modelOf(e.Embedder)
	case *cached:
		return modelOf(e.Embedder)
	default:
		return nil
	}
}

// embedEach returns the vectors of embed for each text.
func embedEach(ctx context.Context, texts []string, embed func(text string) []float32) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = embed(text)
	}
	return vectors, nil
}

// Warm loads the model of e, so that the first texts do not wait for it. It returns
// when the model has embedded a text, or an error that wraps [ErrUnavailable] or
// ctx.Err(). Loading a large model may take minutes.
func Warm(ctx context.Context, e Embedder) error {
	if m := modelOf(e); m != nil {
		return m.warm(ctx)
	}
	return nil
}

// Monitor probes the server of e until ctx ends. After failures the circuit breaker is
// open: calls fail immediately until a probe of Monitor succeeds.
func Monitor(ctx context.Context, e Embedder) {
	if m := modelOf(e); m != nil {
		m.monitor(ctx)
		return
	}
	<-ctx.Done()
}
