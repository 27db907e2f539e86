package index

import "sync"

// scratch pools the slices that a search needs while it scores. They have one
// element per document or vector and would dominate garbage collection. It may be
// used concurrently.
type scratch[T any] struct{ pool sync.Pool }

var (
	floatPool      scratch[float64]
	occurrencePool scratch[occurrence]
)

// occurrence is the number of matched query words, and the last of them, from 1.
type occurrence struct{ words, last uint32 }

// get returns n zeros, to be returned by put.
func (s *scratch[T]) get(n int) *[]T {
	lent, _ := s.pool.Get().(*[]T)
	if lent == nil || cap(*lent) < n {
		fresh := make([]T, n)
		return &fresh
	}
	*lent = (*lent)[:n]
	clear(*lent)
	return lent
}

func (s *scratch[T]) put(lent *[]T) { s.pool.Put(lent) }
