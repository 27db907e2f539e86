// Package static turns texts into vectors with a table of token vectors: a text's
// vector is the weighted sum of the rows of its tokens. It needs no inference, so a
// text takes microseconds.
//
// A table is a directory in the format of Model2Vec (https://github.com/MinishLab/model2vec):
//
//	model.safetensors  embeddings: a matrix of F32, F16 or I8 with a row per token
//	                   weights:    optional, a number per token
//	                   mapping:    optional, the row of each token
//	tokenizer.json     a WordPiece tokenizer with the normalization of BERT
//
// The directory minilm holds the table that is part of the program. Its NOTICE lists
// its sources, and the directory distil has the scripts that generate it.
package static

import (
	"crypto/sha256"
	_ "embed" // model and vocabulary
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
)

//go:embed minilm/model.safetensors
var model []byte

//go:embed minilm/tokenizer.json
var vocabulary []byte

// builtIn is parsed once per process. Its rows stay in the program's read-only data.
var builtIn = sync.OnceValues(func() (*Table, error) { return newTable(vocabulary, model) })

// BuiltIn returns the table that is part of the program.
func BuiltIn() (*Table, error) { return builtIn() }

// Open reads the table of a directory.
func Open(directory string) (*Table, error) {
	vocabulary, err := os.ReadFile(filepath.Join(directory, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	model, err := os.ReadFile(filepath.Join(directory, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	return newTable(vocabulary, model)
}

// Table embeds texts. It may be used concurrently.
type Table struct {
	tokenizer *wordPiece
	rows      matrix
	weights   []float32 // by token; nil: all 1
	mapping   []int64   // the row of each token; nil: the token itself
	digest    string
}

func newTable(vocabulary, model []byte) (t *Table, err error) {
	t = &Table{}
	if t.tokenizer, err = newWordPiece(vocabulary); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if err := t.readModel(model); err != nil {
		return nil, fmt.Errorf("model.safetensors: %w", err)
	}
	sum := sha256.New()
	sum.Write(vocabulary)
	sum.Write(model)
	t.digest = hex.EncodeToString(sum.Sum(nil))
	return t, nil
}

func (t *Table) readModel(data []byte) error {
	tensors, err := readSafetensors(data)
	if err != nil {
		return err
	}
	if t.rows, err = tensors.matrix("embeddings"); err != nil {
		return err
	}
	if t.weights, err = tensors.floats("weights"); err != nil {
		return err
	}
	if t.mapping, err = tensors.integers("mapping"); err != nil {
		return err
	}
	return t.check()
}

// check verifies that every token has a weight and a row.
func (t *Table) check() error {
	tokens, rows := t.tokenizer.size(), t.rows.rows
	if t.weights != nil && len(t.weights) < tokens {
		return fmt.Errorf("%d weights for %d tokens", len(t.weights), tokens)
	}
	if t.mapping == nil {
		if rows < tokens {
			return fmt.Errorf("%d rows for %d tokens", rows, tokens)
		}
		return nil
	}
	if len(t.mapping) < tokens {
		return fmt.Errorf("expected a mapping of at least %d tokens, got %d", tokens, len(t.mapping))
	}
	for token, row := range t.mapping {
		if row < 0 || row >= int64(rows) {
			return fmt.Errorf("token %d: row %d out of range, %d rows", token, row, rows)
		}
	}
	return nil
}

// Digest returns the SHA-256 of the table's files, in hexadecimal.
func (t *Table) Digest() string { return t.digest }

// Rank returns the place of a lower-case word in the vocabulary, where frequent words come first. It reports
// whether the word is a token of its own.
func (t *Table) Rank(word string) (rank int32, ok bool) {
	rank, ok = t.tokenizer.whole[word]
	return rank, ok
}

// Dimensions returns the length of the vectors.
func (t *Table) Dimensions() int { return t.rows.columns }

// Embed returns the unit vector of text, or zeros when the vocabulary has none of its
// tokens.
func (t *Table) Embed(text string) []float32 {
	vector := make([]float32, t.rows.columns)
	for _, token := range t.tokenizer.encode(text) {
		row, weight := int(token), float32(1)
		if t.weights != nil {
			weight = t.weights[token]
		}
		if t.mapping != nil {
			row = int(t.mapping[token])
		}
		t.rows.add(vector, row, weight)
	}
	normalize(vector)
	return vector
}

// EmbedAll returns the vectors of the texts.
func (t *Table) EmbedAll(texts []string) [][]float32 {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = t.Embed(text)
	}
	return vectors
}

// normalize scales a vector to a length of 1. Zeros remain.
func normalize(vector []float32) {
	var squares float64
	for _, x := range vector {
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return
	}
	scale := 1 / math.Sqrt(squares)
	for i, x := range vector {
		vector[i] = float32(float64(x) * scale)
	}
}
