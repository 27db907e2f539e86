package index

import "testing"

func TestPooledSlicesAreZeroed(t *testing.T) {
	t.Parallel()
	var s scratch[float64]
	for _, n := range []int{8, 4, 8, 16, 3, 0, 16} {
		lent := s.get(n)
		if len(*lent) != n {
			t.Fatalf("%d lent, want %d", len(*lent), n)
		}
		for i, x := range *lent {
			if x != 0 {
				t.Fatalf("%g at %d of %d", x, i, n)
			}
			(*lent)[i] = 1
		}
		s.put(lent)
	}
}
