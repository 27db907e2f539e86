package index

import (
	"math"

	"gonum.org/v1/gonum/blas/gonum"

	"cairn/services/internal/embed"
)

// vectors compute the similarity of a pool's rows to a query. A row may have
// several vectors; the nearest counts.
type vectors interface {
	add(row uint32, vector []float32)
	// remove is called when a row is dead. Its cosine is then arbitrary.
	remove(row uint32)
	// cosines writes the cosine of each row into zeros and leaves rows without a
	// vector at 0. A query without a vector matches nothing.
	cosines(query []float32, into []float64)
	// renumber moves row r to to[r], or drops it when that is negative.
	renumber(to []int)
	// refresh is called after changes and before the next search.
	refresh()
}

func newVectors(space embed.Space) vectors {
	if space.Lexical {
		return newSparse()
	}
	return &dense{}
}

// blockSize is the number of vectors that are allocated together: a scan of adjacent
// vectors takes 60 % of the time of one of separate allocations.
const blockSize = 1024

// dense holds unit vectors without sparsity, all of the length of the first.
type dense struct {
	length int         // dimensions
	blocks [][]float32 // of blockSize vectors; the last one may have fewer
	owners []uint32    // the row of each vector
}

func (d *dense) add(row uint32, vector []float32) {
	length := math.Sqrt(dot(vector, vector))
	if length == 0 || d.length != 0 && d.length != len(vector) {
		return
	}
	d.length = len(vector)
	unit := make([]float32, len(vector))
	for dim, x := range vector {
		unit[dim] = float32(float64(x) / length)
	}
	d.append(row, unit)
}

func (d *dense) append(row uint32, unit []float32) {
	if len(d.owners)%blockSize == 0 {
		d.blocks = append(d.blocks, nil)
	}
	last := &d.blocks[len(d.blocks)-1]
	*last = append(*last, unit...)
	d.owners = append(d.owners, row)
}

func (d *dense) cosines(query []float32, into []float64) {
	length := math.Sqrt(dot(query, query))
	if length == 0 || len(query) != d.length {
		return
	}
	for i, block := range d.blocks {
		for place, row := range d.owners[i*blockSize : min((i+1)*blockSize, len(d.owners))] {
			into[row] = max(into[row], dot(query, block[place*d.length:(place+1)*d.length])/length)
		}
	}
}

func (d *dense) renumber(to []int) {
	kept := dense{length: d.length}
	for i, block := range d.blocks {
		for place, row := range d.owners[i*blockSize : min((i+1)*blockSize, len(d.owners))] {
			if to[row] >= 0 {
				kept.append(uint32(to[row]), block[place*d.length:(place+1)*d.length])
			}
		}
	}
	*d = kept
}

func (d *dense) remove(uint32) {}

func (d *dense) refresh() {}

// relocate assigns vectors to the new rows of their owners and returns their new
// positions, without the vectors of dropped rows.
func relocate(owners []uint32, to []int) (places []int) {
	kept := 0
	for place, row := range owners {
		if to[row] < 0 {
			places = append(places, -1)
			continue
		}
		owners[place] = uint32(to[row])
		places = append(places, kept)
		kept++
	}
	return places
}

// dot returns the scalar product of vectors of equal length, 0 for others. It takes
// most of the time of a search among thousands of vectors; gonum computes it with SIMD.
func dot(a, b []float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	return float64(gonum.Implementation{}.Sdot(len(a), a, 1, b, 1))
}
