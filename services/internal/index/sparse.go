package index

import "math"

// drift is how much more vectors there may be, one in so many, before the
// lengths of all are measured again with the weights of the day. Measuring at
// every change finds nothing better.
const drift = 16

// sparse keeps wide vectors of few dimensions each, and weights a dimension by
// its rarity: the inverse of the share of the vectors that reach into it.
type sparse struct {
	width    int              // how many dimensions there are
	reach    postings[uint32] // by dimension; its rows are places in owners
	owners   []uint32         // the row that each vector belongs to
	lengths  []float64
	measured int // how many vectors there were when the lengths were measured
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
	lent := lentFloats.lend(len(s.owners))
	defer lentFloats.giveBack(lent)
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
	for dim := range uint32(s.width) { // in order, for equal sums every time
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
