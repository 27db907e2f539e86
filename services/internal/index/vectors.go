package index

import "math"

// refreshShare is how much a pool may grow, in sixteenths, before the lengths
// of its vectors are measured again with the weights of the day.
const refreshShare = 16

// vectors rank rows by cosine. Only what is not zero is kept, which makes the
// wide vectors of a lexical space small.
type vectors struct {
	weighted bool             // dimensions count by their rarity
	reach    postings[uint32] // by dimension; their rows are places in owners
	owners   []uint32         // the row that each vector belongs to
	lengths  []float64
	changes  int // since the lengths were measured
}

func (v *vectors) add(row uint32, vector []float32) {
	at := uint32(len(v.owners))
	v.owners = append(v.owners, row)
	var squares float64
	for dim, x := range vector {
		if x != 0 {
			v.reach.add(uint32(dim), at, x)
			squares += square(v.weight(uint32(dim)) * float64(x))
		}
	}
	v.lengths = append(v.lengths, math.Sqrt(squares))
	v.changes++
}

// settle measures the lengths again when enough has changed for the weights to
// have moved.
func (v *vectors) settle() {
	if !v.weighted || v.changes*refreshShare < len(v.owners) {
		return
	}
	squares := make([]float64, len(v.owners))
	for dim, entries := range v.reach {
		weight := v.weight(dim)
		for _, e := range entries {
			squares[e.row] += square(weight * float64(e.value))
		}
	}
	for at, s := range squares {
		v.lengths[at] = math.Sqrt(s)
	}
	v.changes = 0
}

func (v *vectors) renumber(to []int) {
	places := make([]int, len(v.owners))
	kept := 0
	for at, row := range v.owners {
		places[at] = -1
		if to[row] >= 0 {
			v.owners[at] = uint32(to[row])
			places[at] = kept
			kept++
		}
	}
	v.reach.renumber(places)
	v.owners = renumbered(v.owners, places)
	v.lengths = renumbered(v.lengths, places)
}

// weight is the inverse document frequency of a dimension.
func (v *vectors) weight(dim uint32) float64 {
	if !v.weighted {
		return 1
	}
	return math.Log(1 + float64(len(v.owners))/float64(max(1, len(v.reach[dim]))))
}

// search returns the highest cosine of each of the rows.
func (v *vectors) search(query []float32, rows int) []float64 {
	products := make([]float64, len(v.owners))
	var squares float64
	for dim, x := range query {
		if x == 0 {
			continue
		}
		weight := v.weight(uint32(dim))
		squares += square(weight * float64(x))
		for _, e := range v.reach[uint32(dim)] {
			products[e.row] += weight * weight * float64(x) * float64(e.value)
		}
	}
	cosines := make([]float64, rows)
	for at, row := range v.owners {
		if products[at] > 0 {
			cosines[row] = max(cosines[row], products[at]/(v.lengths[at]*math.Sqrt(squares)))
		}
	}
	return cosines
}

func square(x float64) float64 { return x * x }
