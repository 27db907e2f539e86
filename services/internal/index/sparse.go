package index

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
	"math/bits"
	"slices"
)

// sparse holds wide vectors with few non-zero dimensions and weights a dimension by
// its inverse document frequency.
//
// Cosines depend only on the vectors that are live, not on the order of the changes that
// led to them, so that all workers return the same scores. Frequencies are rounded, so
// that a change affects few lengths, and squared lengths are integers, whose sums do not
// depend on the order of their terms.
type sparse struct {
	byDimension postings[uint32] // by dimension; rows are indices of owners
	terms       map[uint32]term  // by dimension
	owners      []uint32         // the row of each vector, ascending
	present     [][]byte         // the non-zero dimensions of each vector: uvarints of their differences
	squares     []uint64         // the squared length of each vector
	live        int              // number of vectors that are not removed
	rated       int              // rounded(live) at the last refresh
	changed     map[uint32]bool  // dimensions with another frequency than at the last refresh
}

// term is the weight of a dimension.
type term struct {
	live   int    // number of live vectors that have the dimension
	square uint64 // squared weight that the lengths include, in 1/weightUnit
}

const (
	weightUnit = 1 << 16 // of squared weights
	valueUnit  = 1 << 8  // of squared values
)

func newSparse() *sparse {
	return &sparse{byDimension: postings[uint32]{}, terms: map[uint32]term{}, changed: map[uint32]bool{}}
}

func (s *sparse) add(row uint32, vector []float32) {
	place := uint32(len(s.owners))
	var present []byte
	var last int
	var sum uint64
	for dim, x := range vector {
		if x == 0 {
			continue
		}
		s.byDimension.add(uint32(dim), place, x)
		sum += s.terms[uint32(dim)].square * squared(x)
		present = binary.AppendUvarint(present, uint64(dim-last))
		last = dim
	}
	s.owners = append(s.owners, row)
	s.present = append(s.present, bytes.Clone(present))
	s.squares = append(s.squares, sum)
	s.count(present, 1)
}

func (s *sparse) remove(row uint32) {
	for place, _ := slices.BinarySearch(s.owners, row); place < len(s.owners) && s.owners[place] == row; place++ {
		s.count(s.present[place], -1)
	}
}

// count adds n live vectors with these dimensions.
func (s *sparse) count(present []byte, n int) {
	s.live += n
	var dim uint32
	for len(present) > 0 {
		difference, size := binary.Uvarint(present)
		present = present[size:]
		dim += uint32(difference)
		t := s.terms[dim]
		t.live += n
		s.terms[dim] = t
		s.changed[dim] = true
	}
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
		square := float64(s.weighted(s.terms[uint32(dim)].live)) / weightUnit
		squares += square * float64(x) * float64(x)
		for _, e := range s.byDimension[uint32(dim)] {
			products[e.row] += square * float64(x) * float64(e.value)
		}
	}
	for place, row := range s.owners {
		if products[place] > 0 {
			length := math.Sqrt(float64(s.squares[place]) / (weightUnit * valueUnit))
			into[row] = max(into[row], products[place]/(length*math.Sqrt(squares)))
		}
	}
}

func (s *sparse) renumber(to []int) {
	places := relocate(s.owners, to)
	s.byDimension.renumber(places)
	s.owners = renumbered(s.owners, places)
	s.present = renumbered(s.present, places)
	s.squares = renumbered(s.squares, places)
	maps.DeleteFunc(s.terms, func(_ uint32, t term) bool { return t.live == 0 })
}

func (s *sparse) refresh() {
	if now := rounded(s.live); now != s.rated {
		s.rated = now
		for dim := range s.terms {
			s.rate(dim)
		}
	} else {
		for dim := range s.changed {
			s.rate(dim)
		}
	}
	clear(s.changed)
}

// rate includes the current weight of a dimension in the lengths.
func (s *sparse) rate(dim uint32) {
	t := s.terms[dim]
	now := s.weighted(t.live)
	if now == t.square {
		return
	}
	for _, e := range s.byDimension[dim] {
		s.squares[e.row] += (now - t.square) * squared(e.value) // the sum is exact, also of differences that wrap around
	}
	t.square = now
	s.terms[dim] = t
}

// weighted returns the squared weight of a dimension that n live vectors have.
func (s *sparse) weighted(n int) uint64 {
	weight := math.Log(1 + float64(s.rated)/float64(max(1, rounded(n))))
	return uint64(math.Round(weight * weight * weightUnit))
}

// rounded returns n with its four leading bits, which change eight times while n doubles.
func rounded(n int) int {
	low := max(0, bits.Len(uint(n))-4)
	return n >> low << low
}

func squared(x float32) uint64 { return uint64(math.Round(float64(x) * float64(x) * valueUnit)) }
