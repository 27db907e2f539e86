package index

import "sync"

// scratch lends slices that one search needs and no other keeps. They are as long
// as there are documents: made for each search, most garbage would be of them. It
// may be used concurrently.
type scratch[T any] struct{ pool sync.Pool }

var (
	sums    scratch[float64]
	seen    scratch[sight]
	matches scratch[match]
)

// sight is how many words of a query a document has, and the last of them, from 1.
type sight struct{ words, last uint32 }

// lend is n zeros, for as long as giveBack is not called.
func (s *scratch[T]) lend(n int) *[]T {
	lent, _ := s.pool.Get().(*[]T)
	if lent == nil || cap(*lent) < n {
		fresh := make([]T, n)
		return &fresh
	}
	*lent = (*lent)[:n]
	clear(*lent)
	return lent
}

func (s *scratch[T]) giveBack(lent *[]T) { s.pool.Put(lent) }
