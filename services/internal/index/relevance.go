package index

import (
	"math"

	"cairn/services/internal/embed"
)

// relevant returns the best documents for a query, or none when nothing has to
// do with it. The parts are those of the query, the whole of it first. A space
// without a name means that no vectors were compared; one that is not lexical,
// that a cosine says all.
func relevant(found []part, space embed.Space, limit int) []Hit {
	sure := confidence(found, space)
	if sure == 0 {
		return nil
	}
	hits := fuse(found)
	hits = hits[:min(max(0, limit), len(hits))]
	for i := range hits {
		hits[i].Score *= sure
	}
	return hits
}

// confidence tells how well the part that is answered best is answered, from 0,
// not at all, to 1. Fused scores are relative to the best; confidence makes
// them comparable between queries.
func confidence(found []part, space embed.Space) float64 {
	best := 0.0
	for _, p := range found {
		best = max(best, p.confidence(space))
	}
	return min(1, best)
}

// confidence is the best cosine, when a model stands behind it. A lexical one
// is only half of the truth, the share of the words that are found the other;
// no words in common is no answer.
func (p part) confidence(space embed.Space) float64 {
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
