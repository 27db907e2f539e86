package index

import "slices"

// entry is a row with the weight of a term: the count of a word, or the value of a
// vector's dimension.
type entry struct {
	row   uint32
	value float32
}

// postings map a term to its rows, in ascending order.
type postings[K comparable] map[K][]entry

func (p postings[K]) add(term K, row uint32, value float32) {
	p[term] = append(p[term], entry{row, value})
}

// addDistinct adds a row, higher than the ones before it, with each of the terms.
func (p postings[K]) addDistinct(row uint32, terms []K) {
	for _, term := range terms {
		if entries := p[term]; len(entries) == 0 || entries[len(entries)-1].row != row {
			p[term] = append(entries, entry{row: row})
		}
	}
}

// renumber moves row r to to[r], or drops it when that is negative. It reuses the lists that keep
// their length, since most terms of a large pool occur in one row.
func (p postings[K]) renumber(to []int) {
	for term, entries := range p {
		kept := entries[:0]
		for _, e := range entries {
			if row := to[e.row]; row >= 0 {
				kept = append(kept, entry{uint32(row), e.value})
			}
		}
		switch len(kept) {
		case 0:
			delete(p, term)
		case len(entries):
		default:
			p[term] = slices.Clone(kept)
		}
	}
}

// live returns the number of entries with live rows.
func live(entries []entry, dead []bool) float64 {
	n := 0
	for _, e := range entries {
		if !dead[e.row] {
			n++
		}
	}
	return float64(n)
}

// renumbered returns the values of the remaining rows.
func renumbered[V any](values []V, to []int) []V {
	kept := make([]V, 0, len(values))
	for row, v := range values {
		if to[row] >= 0 {
			kept = append(kept, v)
		}
	}
	return kept
}
