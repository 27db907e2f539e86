package index

import (
	"context"
	"fmt"
	"strings"

	"cairn/services/internal/embed"
)

// texts returns what a document has vectors of: all its text, and each example
// by itself. Lexical vectors do better with the examples among the text.
func (d Document) texts(space embed.Space) []string {
	if space.Lexical {
		return []string{d.Title + "\n" + d.body()}
	}
	return append([]string{d.Title + "\n" + d.Body}, d.Examples...)
}

// body returns all text but the title.
func (d Document) body() string {
	return strings.Join(append([]string{d.Body}, d.Examples...), "\n")
}

// found reports whether searches are to find the document.
func (c Change) found() bool {
	return !c.Removed && (c.Status == "" || c.Status == active)
}

// active is the status of the documents that are found.
const active = "active"

// embedChanges returns the vectors of each change, made in one call. What is
// not to be found has none.
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

// embedTexts returns as many vectors as there are texts, or an error.
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
