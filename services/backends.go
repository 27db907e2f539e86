package services

import (
	"context"
	"fmt"
	"os"
	"strings"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/model"
	"cairn/services/internal/model/offline"
	"cairn/services/internal/model/ollama"
)

// openModel is the model that url names: offline: or ollama://….
func openModel(ctx context.Context, url string) (model.Model, error) {
	switch {
	case url == "offline:":
		return offline.New(), nil
	case strings.HasPrefix(url, "ollama"):
		return ollama.Open(ctx, url)
	default:
		return nil, fmt.Errorf("model %q: want offline: or ollama://host:11434/model", url)
	}
}

// openIndex is the index that the settings name, with its embedder.
func openIndex(ctx context.Context, c Config) (index.Index, error) {
	e, err := embed.Open(ctx, c.Embed)
	if err != nil {
		return nil, err
	}
	return index.Open(c.Index, e)
}

// FindModel is the URL of a model that the Ollama of this machine
// (OLLAMA_HOST, or its usual port) has and that can call tools; false when
// there is none.
func FindModel(ctx context.Context) (string, bool) {
	return ollama.Find(ctx, os.Getenv("OLLAMA_HOST"))
}
