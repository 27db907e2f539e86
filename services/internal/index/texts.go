package index

import (
	"context"
	"fmt"
	"strings"

	"cairn/schemas"
	"cairn/services/internal/embed"
)

// texts returns the texts to embed: all text, each example by itself, and the
// instructions. Lexical vectors are better with the examples as part of the text.
func (d Document) texts(space embed.Space) []string {
	texts := []string{d.Title + "\n" + d.body()}
	if !space.Lexical {
		texts = append([]string{d.Title + "\n" + d.Body}, d.Examples...)
	}
	if d.Instructions != "" {
		texts = append(texts, d.Title+"\n"+d.Instructions)
	}
	return texts
}

// body returns all text except the title and the instructions.
func (d Document) body() string {
	return strings.Join(append([]string{d.Body}, d.Examples...), "\n")
}

// found reports whether searches match the document.
func (c Change) found() bool {
	return !c.Removed && schemas.Searchable(c.Status)
}

// embedChanges returns the vectors of each change from one call. Documents that
// searches do not match have none.
func embedChanges(ctx context.Context, e embed.Embedder, changes []Change) ([][][]float32, error) {
	space := e.Space()
	var texts []string
	for _, c := range changes {
		if c.found() {
			texts = append(texts, c.texts(space)...)
		}
	}
	made, err := embedTexts(ctx, e, embed.Document, texts)
	if err != nil {
		return nil, err
	}
	vectors := make([][][]float32, len(changes))
	for i, c := range changes {
		if c.found() {
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
