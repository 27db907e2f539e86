package services

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/model"
	"cairn/services/internal/model/offline"
	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/openai"
)

// openModel is the model that url names: offline:, ollama://… or openai://….
func openModel(ctx context.Context, url string) (model.Model, error) {
	switch {
	case url == "offline:":
		return offline.New(), nil
	case strings.HasPrefix(url, "ollama"):
		return ollama.Open(ctx, url)
	case strings.HasPrefix(url, "openai"):
		return openai.Open(ctx, url)
	default:
		return nil, fmt.Errorf("model %q: want offline:, ollama://host:11434/model or openai://host:8000/model", url)
	}
}

// shared reports whether the index is one that all workers share, and outlives
// them; else each resolve worker has its own.
func shared(index string) bool { return index != "embedded:" }

// redacted is a backend without its password.
func redacted(backend string) string {
	u, err := url.Parse(backend)
	if err != nil {
		return "a URL that cannot be read"
	}
	return u.Redacted()
}

// warmTime is how long a start waits for the embedding model to be loaded.
const warmTime = 30 * time.Second

// search is the index and the embedder that the roles of a process share.
type search struct {
	index    index.Index
	embedder embed.Embedder
}

// openSearch opens the index and the embedder that the settings name. Their
// servers need not be there. The embedder is looked after until ctx ends.
func (w *wiring) openSearch(ctx context.Context) (search, error) {
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	w.atEnd(end)
	e, err := embed.Open(living, w.Embed)
	if err != nil {
		return search{}, err
	}
	log, err := w.log(ctx)
	if err != nil {
		return search{}, err
	}
	if !e.Space().Lexical {
		e = embed.Cached(e, w.vectors(ctx))
	}
	ix, err := index.Open(w.Index, e, log.ID())
	if err != nil {
		return search{}, err
	}
	w.atEnd(func() { _ = ix.Close() }) // a view: nothing in it can be lost
	var watching sync.WaitGroup
	watching.Go(func() { embed.Watch(living, e) })
	w.atEnd(func() { end(); watching.Wait() })
	w.warm(ctx, e)
	return search{ix, e}, nil
}

// vectors is the cache of the embedder; nil when there is no room for one.
func (w *wiring) vectors(ctx context.Context) *embed.Cache {
	cache, err := embed.OpenCache(ctx, w.conn.JetStream())
	if err != nil {
		w.Log.Warn("vectors are not cached", "err", err)
		return nil
	}
	return cache
}

// warm has the first texts not wait for the model. Without it work begins as
// well.
func (w *wiring) warm(ctx context.Context, e embed.Embedder) {
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	if err := embed.Warm(ctx, e); err != nil {
		w.Log.Warn("the embedding model is not loaded yet", "err", err)
	}
}

// FindModel is the URL of a model that the Ollama of this machine
// (OLLAMA_HOST, or its usual port) has and that can call tools; false when
// there is none.
func FindModel(ctx context.Context) (string, bool) {
	return ollama.Find(ctx, os.Getenv("OLLAMA_HOST"))
}
