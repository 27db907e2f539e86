package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFirstOccurrence compares the indexed search for the source of a figure with a search of all values.
func TestFirstOccurrence(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var all []occurrence
	for range 2000 {
		v := math.Round(math.Pow(10, random.Float64()*8)*100) / 100
		if random.IntN(2) == 0 {
			v = math.Trunc(v)
		}
		all = append(all, occurrence{value: v, pointer: fmt.Sprint(len(all))})
	}
	x := index(all)
	for _, text := range []string{"%.0f", "%.1f", "%.2f", "%.3f", "%.0fk", "%.1fM", "%.0fGB"} {
		for range 2000 {
			f, _ := figureOf(fmt.Sprintf(text, math.Pow(10, random.Float64()*6)))
			at := slices.IndexFunc(all, func(p occurrence) bool { return f.matches(p.value) })
			if got, ok := x.first(f); ok != (at >= 0) || ok && got != all[at] {
				t.Fatalf("%s: got %+v, %t, want the occurrence %d", f, got, ok, at)
			}
		}
	}
}
