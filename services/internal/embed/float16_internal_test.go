package embed

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestHalfPrecisionIsEnough(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	worst, most := 1.0, 0.0
	for range 2000 {
		a, b := randomUnit(random), randomUnit(random)
		worst = min(worst, product(a, stored(t, a)))
		most = max(most, math.Abs(product(a, b)-product(stored(t, a), stored(t, b))))
	}
	t.Logf("least cosine to itself 1-%.1e, largest error of a cosine %.1e", 1-worst, most)
	if worst < 0.9999999 || most > 1e-4 {
		t.Error("want 0.9999999 at least and 0.0001 at most")
	}
}

// stored returns a vector as the cache does, scaled to unit length.
func stored(t *testing.T, vector []float32) []float32 {
	t.Helper()
	data, ok := encode(vector)
	back, read := decode(data, len(vector))
	if !ok || !read {
		t.Fatal("a vector that cannot be stored")
	}
	return unit(back)
}

func randomUnit(random *rand.Rand) []float32 {
	vector := make([]float32, 384)
	for i := range vector {
		vector[i] = float32(random.NormFloat64())
	}
	return unit(vector)
}

func unit(vector []float32) []float32 {
	length := math.Sqrt(product(vector, vector))
	for i := range vector {
		vector[i] = float32(float64(vector[i]) / length)
	}
	return vector
}

func product(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestHalfPrecisionRange(t *testing.T) {
	t.Parallel()
	for _, x := range []float32{70000, float32(math.Inf(1)), float32(math.NaN())} {
		if _, ok := encode([]float32{x}); ok {
			t.Errorf("%v was stored", x)
		}
	}
}
