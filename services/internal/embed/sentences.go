package embed

import (
	"context"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// averagingVersion is the version of averagingEmbedder. It is part of a space's name, because a change
// changes vectors.
const averagingVersion = "sentences-1"

// averagingEmbedder embeds a document as the mean of the unit vectors of its sentences. A vector
// of the whole text is not near any query when the text has several subjects: with
// MiniLM, recall@5 among 199 skills rises from 0.79 to 0.82.
type averagingEmbedder struct{ Embedder }

func (a averagingEmbedder) Space() Space {
	space := a.Embedder.Space()
	if space.Name != "" {
		space.Name += "+" + averagingVersion
	}
	return space
}

func (a averagingEmbedder) Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error) {
	if purpose == Query {
		return a.Embedder.Embed(ctx, purpose, texts)
	}
	var all []string
	counts := make([]int, len(texts))
	for i, text := range texts {
		list := sentences(text)
		counts[i] = len(list)
		all = append(all, list...)
	}
	vectors, err := a.Embedder.Embed(ctx, purpose, all)
	if err != nil {
		return nil, err
	}
	means := make([][]float32, len(texts))
	for i, n := range counts {
		means[i] = mean(vectors[:n])
		vectors = vectors[n:]
	}
	return means, nil
}

// sentences splits text at newlines, and after punctuation followed by white space. A text
// has at least one sentence, possibly empty.
func sentences(text string) []string {
	if all := SplitSentences(text, endsSentence); len(all) > 0 {
		return all
	}
	return []string{""}
}

// endsSentence reports whether a sentence ends after r, which rest follows.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '\n', '。', '！', '？', '；', '：':
		return true
	case '.', '!', '?', ';', ':':
		next, _ := utf8.DecodeRuneInString(rest)
		return unicode.IsSpace(next)
	}
	return false
}

// SplitSentences splits text after each character for which ends is true, given the rest of
// the text, and trims white space. Empty sentences are omitted.
func SplitSentences(text string, ends func(r rune, rest string) bool) (all []string) {
	for start, end := 0, 0; end < len(text); {
		r, size := utf8.DecodeRuneInString(text[end:])
		end += size
		if end < len(text) && !ends(r, text[end:]) {
			continue
		}
		if s := strings.TrimSpace(text[start:end]); s != "" {
			all = append(all, s)
		}
		start = end
	}
	return all
}

// mean returns the sum of the unit vectors, which has the direction of their mean. It returns a single
// vector unchanged.
func mean(vectors [][]float32) []float32 {
	if len(vectors) == 1 {
		return vectors[0]
	}
	sum := make([]float32, len(vectors[0]))
	for _, v := range vectors {
		var squares float64
		for _, x := range v {
			squares += float64(x) * float64(x)
		}
		if squares == 0 {
			continue
		}
		scale := float32(1 / math.Sqrt(squares))
		for i, x := range v {
			sum[i] += scale * x
		}
	}
	return sum
}
