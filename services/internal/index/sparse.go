package index

import "math"

// drift is the growth, one vector in this many, after which all lengths are
// recomputed with current rarity weights. Recomputing on every change does not
// improve results.
const drift = 16

// sparse holds wide vectors with few non-zero dimensions and weights a dimension by
// its inverse document frequency.
type sparse struct {
	width    int              // number of dimensions
	reach    postings[uint32] // by dimension; rows are indices of owners
	owners   []uint32         // the row of each vector
	lengths  []float64
	measured int // number of vectors when the lengths were computed
}

func (s *sparse) add(row uint32, vector []float32) {
	at := uint32(len(s.owners))
	s.owners = append(s.owners, row)
	s.width = max(s.width, len(vector))
	var squares float64
	for dim, x := range vector {
		if x != 0 {
			s.reach.add(uint32(dim), at, x)
			squares += square(s.weight(uint32(dim)) * float64(x))
		}
	}
	s.lengths = append(s.lengths, math.Sqrt(squares))
}

func (s *sparse) cosines(query []float32, into []float64) {
	lent := floatPool.get(len(s.owners))
	defer floatPool.put(lent)
	products := *lent
	var squares float64
	for dim, x := range query {
		if x == 0 {
			continue
		}
		weight := s.weight(uint32(dim))
		squares += square(weight * float64(x))
		for _, e := range s.reach[uint32(dim)] {
			products[e.row] += square(weight) * float64(x) * float64(e.value)
		}
	}
	for at, row := range s.owners {
		if products[at] > 0 {
			cosine := products[at] / (s.lengths[at] * math.Sqrt(squares))
			into[row] = max(into[row], cosine)
		}
	}
}

func (s *sparse) renumber(to []int) {
	places := relocate(s.owners, to)
	s.reach.renumber(places)
	s.owners = renumbered(s.owners, places)
	s.lengths = renumbered(s.lengths, places)
	s.measured = 0
}

func (s *sparse) settle() {
	if (len(s.owners)-s.measured)*drift < len(s.owners) {
		return
	}
	squares := make([]float64, len(s.owners))
	for dim := range uint32(s.width) { // in order, so that floating-point sums are reproducible
		weight := s.weight(dim)
		for _, e := range s.reach[dim] {
			squares[e.row] += square(weight * float64(e.value))
		}
	}
	for at, sum := range squares {
		s.lengths[at] = math.Sqrt(sum)
	}
	s.measured = len(s.owners)
}

func (s *sparse) weight(dim uint32) float64 {
	all, having := float64(len(s.owners)), float64(len(s.reach[dim]))
	return math.Log(1 + all/max(1, having))
}

func square(x float64) float64 { return x * x }
