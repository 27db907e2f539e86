package index

import (
	"context"
	"fmt"

	"cairn/services/internal/embed"
)

// embedChanges returns the vectors of each change from one call. Documents that
// searches do not match have none.
func embedChanges(ctx context.Context, e embed.Embedder, changes []Change) ([][][]float32, error) {
	space := e.Space()
	var texts []string
	for _, c := range changes {
		if c.searchable() {
			texts = append(texts, c.texts(space)...)
		}
	}
	made, err := embedTexts(ctx, e, embed.Document, texts)
	if err != nil {
		return nil, err
	}
	vectors := make([][][]float32, len(changes))
	for i, c := range changes {
		if c.searchable() {
			n := len(c.texts(space))
			vectors[i], made = made[:n], made[n:]
		}
	}
	return vectors, nil
}

// embedTexts returns one vector per text, or an error.
func embedTexts(ctx context.Context, e embed.Embedder, purpose embed.Purpose, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := e.Embed(ctx, purpose, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("embed %d texts: got %d vectors", len(texts), len(vectors))
	}
	return vectors, err
}

// bisect bisects a batch to isolate a rejected change or to reduce its size.
func bisect[T any](all []T, do func([]T) error) error {
	half := len(all) / 2
	if err := do(all[:half]); err != nil {
		return err
	}
	return do(all[half:])
}
