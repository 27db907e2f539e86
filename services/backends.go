package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"cairn/schemas"
	"cairn/services/internal/embed"
	"cairn/services/internal/expand"
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
		return offline.New(), nil
	case strings.HasPrefix(url, "ollama"):
		return ollama.Open(ctx, url)
	case strings.HasPrefix(url, "openai"):
		return openai.Open(ctx, url)
	default:
		return nil, fmt.Errorf("model %q: expected offline:, ollama://host:11434/model or openai://host:8000/model", url)
	}
}

// Expander writes example queries for skills with a language model.
type Expander struct{ model model.Model }

// OpenExpander opens the model at url, which is not offline:. Canceling ctx closes its idle connections.
func OpenExpander(ctx context.Context, url string) (Expander, error) {
	if url == "" || url == "offline:" {
		return Expander{}, errors.New("--model: expected the URL of a language model, ollama://… or openai://…")
	}
	m, err := openModel(ctx, url)
	return Expander{m}, err
}

// Queries returns example queries for a skill in addition to its own, up to five in all.
func (e Expander) Queries(ctx context.Context, skill schemas.Skill) ([]string, error) {
	return expand.Queries(ctx, e.model, skill)
}

// shared reports whether all workers share the index, which outlives them. Otherwise
// each resolve worker has its own.
func shared(index string) bool { return index != "embedded:" }

// warmTimeout bounds the wait at startup for the embedding model.
const warmTimeout = 30 * time.Second

// search is the embedder that the roles of a process share, and the index if all workers share it.
type search struct {
	index    index.Index // nil: each resolve worker has an embedded index
	embedder embed.Embedder
}

// FindModel returns the URL of a model with support for tool calls on the local Ollama
// server (OLLAMA_HOST, or the default port), or false if there is none.
func FindModel(ctx context.Context) (string, bool) {
	return ollama.Find(ctx, os.Getenv("OLLAMA_HOST"))
}
