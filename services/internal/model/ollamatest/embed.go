package ollamatest

import (
	"hash/fnv"
	"math"
	"strings"

	"cairn/services/internal/model/modeltest"
)

// Embedding is a response to an embedding request. The zero value has the vectors of the
// texts.
type Embedding struct {
	Status  int           // unless 0, the response is Error with this status
	Error   string        //
	End     modeltest.End // Cut and Hang: no response
	Vectors [][]float32   // unless nil, replaces the vectors of the texts
	// Gate, unless nil, is received from before the response.
	Gate <-chan struct{}
}

// Vector returns the server's vector of a text: its words hashed into a vector of length
// 1. A text without words has the zero vector.
func Vector(text string, dimensions int) []float32 {
	vector := make([]float32, dimensions)
	for _, word := range strings.Fields(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word)) // never fails
		vector[h.Sum32()%uint32(dimensions)]++
	}
	sum := 0.0
	for _, x := range vector {
		sum += float64(x * x)
	}
	for i := range vector {
		vector[i] /= float32(max(math.Sqrt(sum), 1e-12))
	}
	return vector
}

func (e Embedding) vectors(info Info, texts []string) [][]float32 {
	if e.Vectors != nil {
		return e.Vectors
	}
	dimensions := info.Dimensions
	if dimensions == 0 {
		dimensions = 64
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = Vector(text, dimensions)
	}
	return vectors
}
