package index

import (
	"math"

	"cairn/services/internal/embed"
)

// vectors compute the similarity of a pool's rows to a query. A row may have
// several vectors; the nearest counts.
type vectors interface {
	add(row uint32, vector []float32)
	// cosines writes the cosine of each row into zeros and leaves rows without a
	// vector at 0. A query without a vector matches nothing.
	cosines(query []float32, into []float64)
	// renumber moves row r to to[r], or drops it when that is negative.
	renumber(to []int)
	// settle is called after changes and before the next search.
	settle()
}

func newVectors(space embed.Space) vectors {
	if space.Lexical {
		return &sparse{reach: postings[uint32]{}}
	}
	return &dense{}
}

// dense holds unit vectors without sparsity.
type dense struct {
	units  [][]float32
	owners []uint32 // the row of each vector
}

func (d *dense) add(row uint32, vector []float32) {
	length := math.Sqrt(dot(vector, vector))
	if length == 0 {
		return
	}
	unit := make([]float32, len(vector))
	for dim, x := range vector {
		unit[dim] = float32(float64(x) / length)
	}
	d.units = append(d.units, unit)
	d.owners = append(d.owners, row)
}

func (d *dense) cosines(query []float32, into []float64) {
	length := math.Sqrt(dot(query, query))
	if length == 0 {
		return
	}
	for at, unit := range d.units {
		row := d.owners[at]
		into[row] = max(into[row], dot(query, unit)/length)
	}
}

func (d *dense) renumber(to []int) {
	places := relocate(d.owners, to)
	d.units = renumbered(d.units, places)
	d.owners = renumbered(d.owners, places)
}

func (d *dense) settle() {}

// relocate assigns vectors to the new rows of their owners and returns their new
// positions, with those of dropped rows removed.
func relocate(owners []uint32, to []int) (places []int) {
	kept := 0
	for at, row := range owners {
		if to[row] < 0 {
			places = append(places, -1)
			continue
		}
		owners[at] = uint32(to[row])
		places = append(places, kept)
		kept++
	}
	return places
}

// dot returns the scalar product of vectors of equal length, 0 for others. Four
// accumulators avoid a dependency chain.
func dot(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return float64(s0 + s1 + s2 + s3)
}
