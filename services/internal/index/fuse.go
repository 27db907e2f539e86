package index

import (
	"math"
	"slices"
	"strings"
)

const (
	// depth is the number of matches of each result list that are fused, per part.
	depth = 100
	// textShare is the weight of BM25 in the score of a part; the rest is vectors.
	// Measured with MiniLM: lowering it by 0.05 raises recall@5 among 199 skills by
	// 0.005 and lowers it among 4,076 by 0.01.
	textShare = 0.45
	// plainTextShare is the weight of BM25 when it is combined with lexical vectors
	// without IDF weights. Measured: 199 skills are found as well as by BM25 alone, 4,076
	// better; at half the weight recall@5 of the 199 drops by 0.02.
	plainTextShare = 0.8
	// staticTextShare is the weight of BM25 when it is combined with static vectors, half
	// of it for n-grams where they are compared. A lower weight finds more of the 199 skills, a
	// higher one more of the 4,076.
	staticTextShare = 0.36
	// wholeShare is the weight of the query as a whole; the rest is the best
	// matching sentence.
	wholeShare = 0.2
	// relativePower is the exponent of a sentence's weight, its score relative to the best
	// sentence, so that phrases without content ("I need your help with a few things.")
	// do not outrank the others.
	relativePower = 0.4
)

// match is a document with its score in one result list.
type match struct {
	id    string
	score float64
}

// part is the result for one part of a query: lists in descending order of score.
type part struct {
	text, vector []match
	grams        []match // by n-grams, combined with static vectors
	coverage     float64 // highest share of the part's words found in one document
	plain        bool    // lexical vectors without IDF weights
	static       bool    // static vectors
}

// weighted is one of the lists of a part with its weight; the weights of a part add up to 1.
type weighted struct {
	matches []match
	share   float64
}

func (p part) lists() [3]weighted {
	text, grams := textShare, 0.0
	switch {
	case p.plain:
		text = plainTextShare
	case p.static:
		text = staticTextShare
	}
	if len(p.grams) > 0 {
		text, grams = text/2, text/2
	}
	return [3]weighted{{p.text, text}, {p.vector, 1 - text - grams}, {p.grams, grams}}
}

// fuse ranks the results of the parts of a query, the whole query first. Scores
// are relative to the best match; relevant decides whether that is good enough.
func fuse(parts []part) []Hit {
	r := ranked(parts)
	if len(r.hits) == 0 {
		return nil
	}
	whole := r.fused(parts[0])
	best := whole
	if len(parts) > 1 {
		best = r.bestOf(parts[1:])
	}
	for i := range r.hits {
		r.hits[i].Score = wholeShare*whole[i] + (1-wholeShare)*best[i]
	}
	hits := slices.DeleteFunc(r.hits, func(h Hit) bool { return h.Score <= 0 })
	slices.SortFunc(hits, func(a, b Hit) int { return byScore(a.Score, b.Score, a.ID, b.ID) })
	return hits
}

// ranking is the set of matched documents; scores are parallel to its hits.
type ranking struct {
	hits      []Hit
	positions map[string]int // index in hits, by id
}

// ranked returns each document with its best rank in either result list, without scores.
func ranked(parts []part) *ranking {
	most := len(parts[0].text) + len(parts[0].vector) + len(parts[0].grams)
	r := &ranking{hits: make([]Hit, 0, most), positions: make(map[string]int, most)}
	for _, p := range parts {
		for i, m := range p.text {
			h := r.hit(m.id)
			h.TextRank = better(h.TextRank, i+1)
		}
		for i, m := range p.vector {
			h := r.hit(m.id)
			h.VectorRank = better(h.VectorRank, i+1)
		}
		for _, m := range p.grams {
			r.hit(m.id)
		}
	}
	return r
}

// hit returns the document's hit, valid until the next call.
func (r *ranking) hit(id string) *Hit {
	position, ok := r.positions[id]
	if !ok {
		position = len(r.hits)
		r.positions[id] = position
		r.hits = append(r.hits, Hit{ID: id})
	}
	return &r.hits[position]
}

func better(rank, other int) int {
	if rank == 0 {
		return other
	}
	return min(rank, other)
}

// byScore orders by descending score, then by id. Ids are compared only on equal
// scores because string comparison dominates the cost of sorting.
func byScore(score, other float64, id, otherID string) int {
	switch {
	case score > other:
		return -1
	case score < other:
		return 1
	}
	return strings.Compare(id, otherID)
}

// bestOf returns each document's score for the sentence that it matches best.
func (r *ranking) bestOf(sentences []part) []float64 {
	relative := relativeScores(sentences)
	top := slices.Max(relative)
	best := make([]float64, len(r.hits))
	for i, p := range sentences {
		weight := math.Pow(ratio(relative[i], top), relativePower)
		for position, score := range r.fused(p) {
			best[position] = max(best[position], weight*score)
		}
	}
	return best
}

// relativeScores returns the score of each part relative to the best one, combined over
// the result lists.
func relativeScores(parts []part) []float64 {
	var best [3]float64
	for _, p := range parts {
		for position, s := range p.lists() {
			best[position] = max(best[position], highest(s.matches))
		}
	}
	all := make([]float64, len(parts))
	for i, p := range parts {
		for position, s := range p.lists() {
			all[i] += s.share * ratio(highest(s.matches), best[position])
		}
	}
	return all
}

// highest returns the score of the best match.
func highest(matches []match) float64 {
	if len(matches) == 0 {
		return 0
	}
	return matches[0].score
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// fused returns the weighted sum of the result lists of a part, divided by the highest
// sum, so that every part contributes documents even if its lists have none in common.
func (r *ranking) fused(p part) []float64 {
	scores := make([]float64, len(r.hits))
	for _, s := range p.lists() {
		r.addNormalized(scores, s.matches, s.share)
	}
	if highest := slices.Max(scores); highest > 0 {
		for position := range scores {
			scores[position] /= highest
		}
	}
	return scores
}

// addNormalized adds share times the min-max normalized score of each match. In a list
// shorter than depth the minimum is 0, the score of an absent document.
func (r *ranking) addNormalized(scores []float64, matches []match, share float64) {
	if len(matches) == 0 {
		return
	}
	best, last := matches[0].score, 0.0
	if len(matches) == depth {
		last = matches[depth-1].score
	}
	for _, m := range matches {
		place := 1.0
		if best > last {
			place = (m.score - last) / (best - last)
		}
		scores[r.positions[m.id]] += share * place
	}
}
