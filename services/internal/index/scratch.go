package index

import "sync"

// scratch lends slices that a search needs only while it counts. They are as long
// as there are documents or vectors: made for each search, most garbage would be
// of them. It may be used concurrently.
type scratch[T any] struct{ pool sync.Pool }

var (
	lentFloats scratch[float64]
	lentSights scratch[sight]
)

// sight is how many words of a query a document has, and the last of them, from 1.
type sight struct{ words, last uint32 }

// lend gives n zeros, which nobody uses any more after giveBack.
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
