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
	var occurrences []occurrence
	for range 2000 {
		v := math.Round(math.Pow(10, random.Float64()*8)*100) / 100
		if random.IntN(2) == 0 {
			v = math.Trunc(v)
		}
		occurrences = append(occurrences, occurrence{value: v, pointer: fmt.Sprint(len(occurrences))})
	}
	x := index(occurrences)
	for _, text := range []string{"%.0f", "%.1f", "%.2f", "%.3f", "%.0fk", "%.1fM", "%.0fGB"} {
		for range 2000 {
			f, _ := figureOf(fmt.Sprintf(text, math.Pow(10, random.Float64()*6)))
			i := slices.IndexFunc(occurrences, func(p occurrence) bool { return f.matches(p.value) })
			if got, ok := x.first(f); ok != (i >= 0) || ok && got != occurrences[i] {
				t.Fatalf("%s: got %+v, %t, want the occurrence %d", f, got, ok, i)
			}
		}
	}
}
