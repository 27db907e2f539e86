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
	"cairn/services/internal/embed/static"
	"cairn/services/internal/index"
	"cairn/services/internal/model"
	"cairn/services/internal/model/offline"
	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/openai"
)

// openModel opens the model at url: offline:, ollama://… or openai://….
func openModel(ctx context.Context, url string) (model.Model, error) {
	switch {
	case url == "offline:":
		table, err := static.BuiltIn()
		if err != nil {
			return nil, err
		}
		return offline.New(table.EmbedAll), nil
	case strings.HasPrefix(url, "ollama"):
		return ollama.Open(ctx, url)
	case strings.HasPrefix(url, "openai"):
		return openai.Open(ctx, url)
	default:
		return nil, fmt.Errorf("model %q: expected offline:, ollama://host:11434/model or openai://host:8000/model", url)
	}
}

// shared reports whether all workers share the index, which outlives them. Otherwise
// each resolve worker has its own.
func shared(index string) bool { return index != "embedded:" }

// redacted returns the URL of a backend without its password.
func redacted(backend string) string {
	u, err := url.Parse(backend)
	if err != nil {
		return "an invalid URL"
	}
	return u.Redacted()
}

// warmTimeout bounds the wait at startup for the embedding model.
const warmTimeout = 30 * time.Second

// search is the index and the embedder that the roles of a process share.
type search struct {
	index    index.Index
	embedder embed.Embedder
}

// openSearch opens the configured index and embedder. Their servers may be
// unavailable. The embedder is watched until the process stops.
func (w *wiring) openSearch(ctx context.Context) (search, error) {
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.onStop(cancel)
	e, err := embed.Open(lifetime, w.Embed)
	if err != nil {
		return search{}, err
	}
	log, err := w.openCatalog(ctx)
	if err != nil {
		return search{}, err
	}
	if space := e.Space(); !space.Lexical && !space.Static {
		e = embed.Cached(e, w.vectors(ctx))
	}
	ix, err := index.Open(w.Index, e, log.ID())
	if err != nil {
		return search{}, err
	}
	w.onStop(func() { _ = ix.Close() }) // the index is a projection: no data is lost
	var watching sync.WaitGroup
	watching.Go(func() { embed.Watch(lifetime, e) })
	w.onStop(func() { cancel(); watching.Wait() })
	w.warm(ctx, e)
	return search{ix, e}, nil
}

// vectors opens the cache of the embedder, or returns nil and logs the reason.
func (w *wiring) vectors(ctx context.Context) *embed.Cache {
	cache, err := embed.OpenCache(ctx, w.conn.JetStream())
	if err != nil {
		w.Log.Warn("vectors are not cached", "err", err)
		return nil
	}
	return cache
}

// warm waits until the embedding model is loaded, so that the first requests do not wait.
// A failure is logged.
func (w *wiring) warm(ctx context.Context, e embed.Embedder) {
	ctx, cancel := context.WithTimeout(ctx, warmTimeout)
	defer cancel()
	if err := embed.Warm(ctx, e); err != nil {
		w.Log.Warn("the embedding model is not loaded yet", "err", err)
	}
}

// FindModel returns the URL of a model with support for tool calls on the local Ollama
// server (OLLAMA_HOST, or the default port), or false if there is none.
func FindModel(ctx context.Context) (string, bool) {
	return ollama.Find(ctx, os.Getenv("OLLAMA_HOST"))
}
