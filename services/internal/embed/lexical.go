package embed

import (
	"context"
	"hash/fnv"
	"math"
)

const (
	// With fewer dimensions unrelated words share too many.
	dimensions = 4096
	// One length of n-gram finds what lengths 3 to 5 together find, in a third
	// of the space.
	gramLength = 3
	// Of 2,616 requests with an answer, among 199 and among 4,076 skills, 0.9 %
	// stay below, and recall@5 falls by 0.001. Of 60 greetings, sayings and
	// noises it refuses 63 % and 25 %. A floor of 0.15 costs recall@5 0.015.
	floor = 0.12
)

// lexical hashes words and their character n-grams into a vector, so that
// texts are near that share words or parts of words. It needs no model.
type lexical struct{}

func (lexical) Space() Space {
	return Space{Name: "lexical-1", Dimensions: dimensions, Lexical: true, Floor: floor}
}

func (lexical) Check(context.Context) error { return nil }

func (lexical) Embed(ctx context.Context, _ Purpose, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = hashed(text)
	}
	return vectors, nil
}

// hashed counts the features of text per dimension. The root keeps a word that
// is repeated from hiding the others.
func hashed(text string) []float32 {
	vector := make([]float32, dimensions)
	for _, word := range Words(text) {
		vector[dimension(word)]++
		for _, gram := range grams(word) {
			vector[dimension(gram)]++
		}
	}
	for i, n := range vector {
		vector[i] = float32(math.Sqrt(float64(n)))
	}
	return vector
}

// grams returns the n-grams of word, its beginning and its end marked.
func grams(word string) []string {
	letters := []rune("^" + word + "$")
	var all []string
	for i := range len(letters) - gramLength + 1 {
		all = append(all, string(letters[i:i+gramLength]))
	}
	return all
}

func dimension(feature string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(feature)) // a hash takes everything
	return h.Sum32() % dimensions
}
