package index

import (
	"math"
	"slices"

	"cairn/services/internal/embed"
)

// relevant returns the best documents for a query, or none when the best match is
// below the relevance floor. The whole query is the first part. A space without a
// name means that no vectors were compared; for one that is not lexical the cosine
// alone decides.
func relevant(q question, r results, limit int) (hits []Hit) {
	if sure := confidence(r.parts, q.space); sure > 0 {
		hits = fuse(r.parts)
		for i := range hits {
			hits[i].Score *= sure
		}
	}
	if r.exact {
		hits = exactFirst(hits, q.id)
	}
	return hits[:min(max(0, limit), len(hits))]
}

// exactFirst makes the document with the id the first hit, with a score of 1.
func exactFirst(hits []Hit, id string) []Hit {
	best := Hit{ID: id}
	if i := slices.IndexFunc(hits, func(h Hit) bool { return h.ID == id }); i >= 0 {
		best = hits[i]
		hits = slices.Delete(hits, i, i+1)
	}
	best.Score = 1
	return slices.Insert(hits, 0, best)
}

// confidence returns how well the best part matches, from 0 to 1. It makes fused
// scores, which are relative to the best match, comparable between queries.
func confidence(parts []part, space embed.Space) float64 {
	best := 0.0
	for _, p := range parts {
		best = max(best, partConfidence(p, space))
	}
	return min(1, best)
}

// partConfidence is the best cosine for a model's vectors, or 0 below the relevance floor. For
// lexical ones it is the geometric mean of the cosine and the share of matched words, which is 0
// without a common word.
func partConfidence(p part, space embed.Space) float64 {
	switch {
	case space.Name == "":
		return p.coverage
	case len(p.vector) == 0 || p.vector[0].score < space.Floor:
		return 0
	case space.Lexical:
		return math.Sqrt(p.vector[0].score * p.coverage)
	}
	return p.vector[0].score
}
